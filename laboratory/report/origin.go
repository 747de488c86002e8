package report

// Origin is what a comparison was made from, so that somebody else can make it again.
type Origin struct {
	// Command is the command line, without the flags that say where results go.
	Command string
	// Version is that of the program.
	Version string
	// Workload is the path of the workload's file. Checksum is its SHA-256; "": unknown.
	Workload, Checksum string
	// Cluster is the cluster as a file of YAML. Assumed is its size in words, and why it has that;
	// "": the command names it.
	Cluster, Assumed string
	// Policies are in the order of the comparison's.
	Policies []OriginPolicy
}

// OriginPolicy is the origin of a policy.
type OriginPolicy struct {
	Name string
	// Program is the path of the program, and Checksum its SHA-256.
	Program, Checksum string
	// Settings are the policy's, in YAML; "": its defaults.
	Settings string
}

// jsonOrigin is an Origin's form in JSON.
type jsonOrigin struct {
	Command  string             `json:"command"`
	Version  string             `json:"version"`
	Workload string             `json:"workload"`
	Checksum string             `json:"workloadSHA256"`
	Cluster  string             `json:"cluster"`
	Assumed  string             `json:"clusterAssumed,omitempty"`
	Policies []jsonOriginPolicy `json:"policies"`
}

type jsonOriginPolicy struct {
	Name     string `json:"name"`
	Program  string `json:"program"`
	Checksum string `json:"programSHA256"`
	Settings string `json:"settings"`
}

func newJSONOrigin(o *Origin) *jsonOrigin {
	if o == nil {
		return nil
	}
	out := &jsonOrigin{Command: o.Command, Version: o.Version, Workload: o.Workload, Checksum: o.Checksum, Cluster: o.Cluster, Assumed: o.Assumed, Policies: []jsonOriginPolicy{}}
	for _, p := range o.Policies {
		out.Policies = append(out.Policies, jsonOriginPolicy(p))
	}
	return out
}

// htmlFact is a line of the page about the origin.
type htmlFact struct{ Name, Text string }

// facts are an origin's, for the page.
func (o *Origin) facts() (list []htmlFact) {
	if o == nil {
		return nil
	}
	add := func(name, text string) {
		if text != "" {
			list = append(list, htmlFact{printable(name), printableLines(text)})
		}
	}
	add("command", o.Command)
	add("version", o.Version)
	add("workload", o.Workload)
	add("SHA-256 of the workload", o.Checksum)
	add("assumed cluster", o.Assumed)
	add("cluster", o.Cluster)
	for _, p := range o.Policies {
		add("program of "+p.Name, p.Program)
		add("SHA-256 of the program of "+p.Name, p.Checksum)
		add("settings of "+p.Name, p.Settings)
	}
	return list
}

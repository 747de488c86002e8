package fair

import (
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Locality modes.
const (
	localityDelay = "delay"
	localityFlow  = "min-cost-flow"
	localityNone  = "none"
)

// Preemption modes.
const (
	preemptOff     = "off"
	preemptKill    = "kill"
	preemptSoft    = "soft"
	preemptSuspend = "suspend"
)

// What happens to jobs whose pool is not declared.
const (
	undeclaredCreate = "create"
	undeclaredRefuse = "refuse"
)

// loadOfMachines is the load manager that has to be told how busy machines are.
const loadOfMachines = "load"

// automatic is a locality delay that follows from the heartbeat.
const automatic time.Duration = -1

// options are the policy's settings; doc.go has them with their meaning.
type options struct {
	allocationFile string
	alloc          *allocations
	updateEvery    time.Duration
	collectAfter   time.Duration

	locality             string
	nodeDelay, rackDelay time.Duration
	localityCap          string
	neighbourBytes       int64

	rules            []string
	property         string
	propertyDefaults map[string]string
	groupProperty    string
	undeclared       string

	preemption   string
	preemptEvery time.Duration
	threshold    float64
	grace        time.Duration
	protect      time.Duration
	preemptTimes int
	dryRun       bool

	sizeBasedWeight bool
	adjuster        string
	boostFactor     float64
	boostFor        time.Duration
	selector        string
	loadManager     string
	loadDifference  float64
	cpuMax          float64
	memoryMax       float64

	trace     bool
	dumpEvery time.Duration
	traceMax  int // bytes of a trace file before it is put aside
}

func defaults() options {
	return options{
		alloc: newAllocations(), updateEvery: 500 * time.Millisecond, collectAfter: 30 * time.Second,
		locality: localityDelay, nodeDelay: automatic, rackDelay: automatic, localityCap: "remote",
		rules: []string{"explicit", "user", "default"}, propertyDefaults: map[string]string{}, groupProperty: "group.name",
		undeclared: undeclaredCreate,
		preemption: preemptKill, preemptEvery: 5 * time.Second, threshold: 0.5, grace: 10 * time.Second,
		protect: time.Minute, preemptTimes: 3,
		adjuster: "none", boostFactor: 3, boostFor: 5 * time.Minute, selector: "default", loadManager: "slots",
		cpuMax: 0.9, memoryMax: 0.9,
		dumpEvery: time.Minute, traceMax: 1 << 30,
	}
}

// parse reads settings and the allocation file they name.
func parse(c scheduler.Config) (options, error) {
	o := defaults()
	r := &reader{file: c.File, first: c.Line}
	inline, fileAt := false, (*yaml.Node)(nil)
	r.fields(r.root(c.Text), "the fair policy", map[string]func(*yaml.Node){
		"allocation-file": func(n *yaml.Node) { fileAt = n; r.text(&o.allocationFile)(n) },
		"allocations":     func(n *yaml.Node) { inline = true; r.allocations(n, o.alloc) },
		"update-interval": r.duration(&o.updateEvery, time.Millisecond),
		"collect-after":   r.duration(&o.collectAfter, 0),
		"locality":        func(n *yaml.Node) { r.locality(n, &o) },
		"placement":       func(n *yaml.Node) { r.placement(n, &o) },
		"preemption":      func(n *yaml.Node) { r.preemption(n, &o) },
		"weights":         func(n *yaml.Node) { r.weights(n, &o) },
		"load":            func(n *yaml.Node) { r.load(n, &o) },
		"trace":           func(n *yaml.Node) { r.trace(n, &o) },
	})
	if inline && fileAt != nil {
		r.at(fileAt, "there are allocations in the settings and in a file: keep one of them")
	}
	o.alloc.finish(r)
	if err := r.err(); err != nil {
		return o, err
	}
	return o, o.readFile(c, r, fileAt)
}

// readFile reads the allocation file among the files that the manager handed over.
func (o *options) readFile(c scheduler.Config, r *reader, at *yaml.Node) error {
	if at == nil {
		return nil
	}
	i := slices.IndexFunc(c.Files, func(f scheduler.ConfigFile) bool { return f.Name == o.allocationFile })
	if i < 0 {
		r.at(at, "allocation-file: %q is not handed over: list it in policy.files, by the same name", o.allocationFile)
		return r.err()
	}
	var err error
	o.alloc, err = readAllocations(c.Files[i])
	return err
}

func (r *reader) locality(n *yaml.Node, o *options) {
	delay := func(into *time.Duration) func(*yaml.Node) {
		return func(n *yaml.Node) {
			if n.Value == "auto" {
				*into = automatic
				return
			}
			r.duration(into, 0)(n)
		}
	}
	r.fields(n, "locality", map[string]func(*yaml.Node){
		"mode":       r.oneOf(&o.locality, localityDelay, localityFlow, localityNone),
		"node-delay": delay(&o.nodeDelay),
		"rack-delay": delay(&o.rackDelay),
		"selector":   r.oneOf(&o.selector, names(selectors)...),
		"cap":        r.oneOf(&o.localityCap, capNames...),
		"neighbour-bytes": func(n *yaml.Node) {
			var count int
			r.count(&count, 0)(n)
			o.neighbourBytes = int64(count)
		},
	})
}

func (r *reader) placement(n *yaml.Node, o *options) {
	r.fields(n, "placement", map[string]func(*yaml.Node){
		"rules":    r.list(&o.rules, ruleNames...),
		"property": r.text(&o.property),
		"property-defaults": func(n *yaml.Node) {
			r.each(n, "the defaults of properties", func(key, value *yaml.Node) { o.propertyDefaults[key.Value] = value.Value })
			r.references(n, o.propertyDefaults)
		},
		"group-property": r.text(&o.groupProperty),
		"undeclared":     r.oneOf(&o.undeclared, undeclaredCreate, undeclaredRefuse),
	})
	if slices.Contains(o.rules, "property") && o.property == "" {
		r.at(n, "the rule \"property\" needs the name of one: set property")
	}
}

// references refuses defaults that refer to themselves.
func (r *reader) references(n *yaml.Node, d map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(d)) {
		seen := map[string]bool{}
		for at := name; ; {
			if seen[at] {
				r.at(n, "the default of property %q refers to itself: mend one of the defaults", name)
				return
			}
			seen[at] = true
			next, ok := strings.CutPrefix(d[at], "${")
			if !ok {
				break
			}
			at = strings.TrimSuffix(next, "}")
		}
	}
}

func (r *reader) preemption(n *yaml.Node, o *options) {
	r.fields(n, "preemption", map[string]func(*yaml.Node){
		"mode":                 r.oneOf(&o.preemption, preemptOff, preemptKill, preemptSoft, preemptSuspend),
		"interval":             r.duration(&o.preemptEvery, time.Millisecond),
		"fair-share-threshold": r.number(&o.threshold, 0, 1),
		"grace":                r.duration(&o.grace, 0),
		"protect":              r.duration(&o.protect, 0),
		"times-max":            r.count(&o.preemptTimes, 1),
		"dry-run":              r.flag(&o.dryRun),
	})
}

func (r *reader) weights(n *yaml.Node, o *options) {
	r.fields(n, "weights", map[string]func(*yaml.Node){
		"size-based":     r.flag(&o.sizeBasedWeight),
		"adjuster":       r.oneOf(&o.adjuster, names(adjusters)...),
		"boost-factor":   r.number(&o.boostFactor, 0, weightMax),
		"boost-duration": r.duration(&o.boostFor, 0),
	})
}

func (r *reader) load(n *yaml.Node, o *options) {
	var limits []*yaml.Node
	limit := func(into *float64) func(*yaml.Node) {
		return func(n *yaml.Node) {
			limits = append(limits, n)
			r.number(into, 0, 1)(n)
		}
	}
	r.fields(n, "load", map[string]func(*yaml.Node){
		"manager":        r.oneOf(&o.loadManager, names(loadManagers)...),
		"max-difference": r.number(&o.loadDifference, -1e-9, 1),
		"cpu-max":        limit(&o.cpuMax),
		"memory-max":     limit(&o.memoryMax),
	})
	for _, n := range limits {
		if o.loadManager != loadOfMachines {
			r.at(n, "cpu-max and memory-max are limits of the manager %q, and here it is %q: set manager: %[1]s, or remove them", loadOfMachines, o.loadManager)
		}
	}
}

func (r *reader) trace(n *yaml.Node, o *options) {
	r.fields(n, "trace", map[string]func(*yaml.Node){
		"enabled":       r.flag(&o.trace),
		"dump-interval": r.duration(&o.dumpEvery, time.Second),
		"size-max":      r.count(&o.traceMax, 1<<12),
	})
}

func names[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

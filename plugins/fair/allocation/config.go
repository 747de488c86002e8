package allocation

import (
	"maps"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
)

// Preemption modes.
const (
	PreemptOff     = "off"
	PreemptKill    = "kill"
	PreemptSoft    = "soft"
	PreemptSuspend = "suspend"
)

// What happens to jobs whose pool is not declared. The default is UndeclaredOwn; with Hadoop's
// XML it is UndeclaredCreate, as mapred.fairscheduler.allow.undeclared.pools is true there.
const (
	UndeclaredCreate = "create"
	UndeclaredRefuse = "refuse"
	// UndeclaredOwn refuses a written pool that is not declared, as a mistake. The default pool is
	// excepted, and a pool called after the job's user.
	UndeclaredOwn = "own"
)

// Names of the policy's built-in parts, by which settings choose them.
const (
	SelectorDefault = "default"
	AdjusterNone    = "none"
	NewJobBoost     = "new-job-boost"
	LoadSlots       = "slots"
	LoadLevelSlots  = "level-slots"
	LoadMemory      = "memory"
	LoadOfMachines  = "load" // by the load of machines
)

// Parts are the names that the settings may give to parts of the policy: the names registered in
// packages placing and sharing.
type Parts struct{ Selectors, LoadManagers, Adjusters []string }

// The values that settings accept, in the order in which a problem lists them.
var (
	localityCaps = []string{scheduler.NodeLocal.String(), scheduler.RackLocal.String(), scheduler.Remote.String()}
	localities   = []scheduler.Locality{scheduler.NodeLocal, scheduler.RackLocal, scheduler.Remote} // which these are
)

// setsMax bounds the sets of victims in one pass of preemption, so that an answer stays small.
// It is also the default of sets-max.
const setsMax = 1000

// Config is the policy's settings; package fair documents them. Unexported settings are read
// through methods.
type Config struct {
	allocationFile string
	Table          *Table
	UpdateEvery    time.Duration
	CollectAfter   time.Duration

	Locality    locality.Settings
	LocalityCap scheduler.Locality // located work never goes further

	rules            []string
	property         string
	propertyDefaults map[string]string
	groupProperty    string
	Undeclared       string

	Preemption   string
	PreemptEvery time.Duration
	Threshold    float64
	Grace        time.Duration
	Protect      time.Duration
	TimesMax     int // 0: no bound
	SetsMax      int // sets of victims that one pass names
	DryRun       bool

	SizeBasedWeight bool
	Adjuster        string
	BoostFactor     float64
	BoostFor        time.Duration
	Selector        string
	LoadManager     string
	LoadDifference  float64
	CPUMax          float64
	MemoryMax       float64

	Trace     bool
	DumpEvery time.Duration
	TraceMax  int // bytes of a trace file before it is put aside
}

func defaults() Config {
	return Config{
		Table: newTable(), UpdateEvery: 500 * time.Millisecond, CollectAfter: 30 * time.Second,
		Locality:    locality.New(locality.ModeDelay, locality.ModeDelay, locality.ModeFlow, locality.ModeNearest, locality.ModeNone),
		LocalityCap: scheduler.Remote,
		rules:       []string{"explicit", "user", "default"}, propertyDefaults: map[string]string{}, groupProperty: "group.name",
		Preemption: PreemptKill, PreemptEvery: 5 * time.Second, Threshold: 0.5, Grace: 10 * time.Second,
		Protect: time.Minute, TimesMax: 3, SetsMax: setsMax,
		Adjuster: AdjusterNone, BoostFactor: 3, BoostFor: 5 * time.Minute, Selector: SelectorDefault, LoadManager: LoadSlots,
		CPUMax: 0.9, MemoryMax: 0.9,
		DumpEvery: time.Minute, TraceMax: 1 << 30,
	}
}

// Parse reads settings and the allocation file they name.
func Parse(c scheduler.Config, parts Parts) (Config, error) {
	o := defaults()
	r := &reader{file: c.File, first: c.Line, parts: parts}
	inline, fileAt := false, (*yaml.Node)(nil)
	r.fields(r.root(c.Text), "the fair policy", map[string]func(*yaml.Node){
		"allocation-file": func(n *yaml.Node) { fileAt = n; r.text(&o.allocationFile)(n) },
		"allocations":     func(n *yaml.Node) { inline = true; r.allocations(n, o.Table) },
		"update-interval": r.duration(&o.UpdateEvery, time.Millisecond),
		"collect-after":   r.duration(&o.CollectAfter, 0),
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
	o.Table.finish(r)
	if err := r.err(); err != nil {
		return o, err
	}
	if err := o.readFile(c, r, fileAt); err != nil {
		return o, err
	}
	if o.Undeclared == "" {
		o.Undeclared = UndeclaredOwn
		if o.Table.hadoop {
			o.Undeclared = UndeclaredCreate
		}
	}
	return o, nil
}

// readFile reads the allocation file from the files that the manager passed.
func (o *Config) readFile(c scheduler.Config, r *reader, at *yaml.Node) error {
	if at == nil {
		return nil
	}
	i := slices.IndexFunc(c.Files, func(f scheduler.ConfigFile) bool { return f.Name == o.allocationFile })
	if i < 0 {
		r.at(at, "allocation-file: %q is not handed over: list it in policy.files, by the same name", o.allocationFile)
		return r.err()
	}
	var err error
	o.Table, err = Read(c.Files[i])
	return err
}

func (r *reader) locality(n *yaml.Node, o *Config) {
	wrong := o.Locality.Read(n, map[string]func(*yaml.Node){
		"selector": r.oneOf(&o.Selector, r.parts.Selectors...),
		"cap": func(n *yaml.Node) {
			word := o.LocalityCap.String()
			r.oneOf(&word, localityCaps...)(n)
			o.LocalityCap = localities[slices.Index(localityCaps, word)]
		},
	})
	for _, p := range wrong {
		r.at(&yaml.Node{Line: p.Line}, "%s", p.Message)
	}
}

func (r *reader) placement(n *yaml.Node, o *Config) {
	r.fields(n, "placement", map[string]func(*yaml.Node){
		"rules":    r.list(&o.rules, ruleNames...),
		"property": r.text(&o.property),
		"property-defaults": func(n *yaml.Node) {
			r.each(n, "the defaults of properties", func(key, value *yaml.Node) { o.propertyDefaults[key.Value] = value.Value })
			r.references(n, o.propertyDefaults)
		},
		"group-property": r.text(&o.groupProperty),
		"undeclared":     r.oneOf(&o.Undeclared, UndeclaredCreate, UndeclaredOwn, UndeclaredRefuse),
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

func (r *reader) preemption(n *yaml.Node, o *Config) {
	r.fields(n, "preemption", map[string]func(*yaml.Node){
		"mode":                 r.oneOf(&o.Preemption, PreemptOff, PreemptKill, PreemptSoft, PreemptSuspend),
		"interval":             r.duration(&o.PreemptEvery, time.Millisecond),
		"fair-share-threshold": r.number(&o.Threshold, 0, 1),
		"grace":                r.duration(&o.Grace, 0),
		"protect":              r.duration(&o.Protect, 0),
		"times-max":            r.count(&o.TimesMax, 0),
		"sets-max":             r.countTo(&o.SetsMax, 1, setsMax),
		"dry-run":              r.flag(&o.DryRun),
	})
}

func (r *reader) weights(n *yaml.Node, o *Config) {
	r.fields(n, "weights", map[string]func(*yaml.Node){
		"size-based":     r.flag(&o.SizeBasedWeight),
		"adjuster":       r.oneOf(&o.Adjuster, r.parts.Adjusters...),
		"boost-factor":   r.number(&o.BoostFactor, 0, weightMax),
		"boost-duration": r.duration(&o.BoostFor, 0),
	})
}

func (r *reader) load(n *yaml.Node, o *Config) {
	var limits []*yaml.Node
	limit := func(into *float64) func(*yaml.Node) {
		return func(n *yaml.Node) {
			limits = append(limits, n)
			r.number(into, 0, 1)(n)
		}
	}
	r.fields(n, "load", map[string]func(*yaml.Node){
		"manager":        r.oneOf(&o.LoadManager, r.parts.LoadManagers...),
		"max-difference": r.number(&o.LoadDifference, -1e-9, 1),
		"cpu-max":        limit(&o.CPUMax),
		"memory-max":     limit(&o.MemoryMax),
	})
	for _, n := range limits {
		if o.LoadManager != LoadOfMachines {
			r.at(n, "cpu-max and memory-max are limits of the manager %q, and here it is %q: set manager: %[1]s, or remove them", LoadOfMachines, o.LoadManager)
		}
	}
}

func (r *reader) trace(n *yaml.Node, o *Config) {
	r.fields(n, "trace", map[string]func(*yaml.Node){
		"enabled":       r.flag(&o.Trace),
		"dump-interval": r.duration(&o.DumpEvery, time.Second),
		"size-max":      r.count(&o.TraceMax, 1<<12),
	})
}

package synthetic

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/internal/document"
	"github.com/hamadryad/hamadryad/laboratory/workload"
)

// Spec specifies a workload. Begin with Default, or with Parse, which fills in the defaults.
type Spec struct {
	Name string `yaml:"name"` // of the workload, default "synthetic"
	Jobs int    `yaml:"jobs"` // default 100
	Seed uint64 `yaml:"seed"` // default 1
	// Arrivals are the jobs' arrivals.
	Arrivals Arrivals `yaml:"arrivals"`
	// Users and Pools are the jobs' users and pools.
	Users People `yaml:"users"`
	Pools People `yaml:"pools"`
	// Block is how many bytes of stored input each map reads, default 128 MiB.
	Block int64 `yaml:"block"`
	// Classes are kinds of jobs; at least one.
	Classes []Class `yaml:"classes"`
}

// Arrivals is a process of arrivals.
type Arrivals struct {
	// Kind is poisson (the default), even, or bursty: bursts come by a Poisson process, and a
	// burst's jobs close together.
	Kind string `yaml:"kind"`
	// Gap is the mean time between two jobs, default 13 s.
	Gap time.Duration `yaml:"gap"`
	// Burst is the mean number of jobs in a burst, default 10, and Within the mean time between two
	// of them, default 1 s.
	Burst  int           `yaml:"burst"`
	Within time.Duration `yaml:"within"`
}

// People are users or pools, named by number. Of Count, the k-th has jobs in proportion to k to the
// -Skew (Zipf's law); with Skew 0 all have equally many.
type People struct {
	Count int     `yaml:"count"` // default 1
	Skew  float64 `yaml:"skew"`  // default 0
}

// Class is a kind of jobs.
type Class struct {
	Name string `yaml:"name"`
	// Share is how often a job is of this class, in proportion to the others.
	Share float64 `yaml:"share"`
	// Priority is its jobs' priority.
	Priority int32 `yaml:"priority"`
	// Maps and Reduces are numbers of tasks; at least one map.
	Maps    Lot `yaml:"maps"`
	Reduces Lot `yaml:"reduces"`
	// MapSeconds and ReduceSeconds are the mean times of a job's tasks.
	MapSeconds    Lot `yaml:"mapSeconds"`
	ReduceSeconds Lot `yaml:"reduceSeconds"`
	// MapSkew and ReduceSkew are how unevenly a job's work and bytes are spread over its tasks.
	MapSkew    Skew `yaml:"mapSkew"`
	ReduceSkew Skew `yaml:"reduceSkew"`
	// Shuffle and Output are how many bytes are shuffled and written for a byte of input.
	Shuffle float64 `yaml:"shuffle"`
	Output  float64 `yaml:"output"`
	// Memory is each task's memory in bytes; 0: unset.
	Memory int64 `yaml:"memory"`
}

// Lot is how a number is drawn; the zero value is always 0.
type Lot struct {
	// Kind is fixed (Value), even (from Min to Max), lognormal (with Median, and Sigma as the
	// deviation of its logarithm, cut to Min and Max), or zipf (from Min to Max, x being exceeded
	// in proportion to x to the -Exponent).
	Kind     string  `yaml:"kind"`
	Value    float64 `yaml:"value"`
	Min      float64 `yaml:"min"`
	Max      float64 `yaml:"max"`
	Median   float64 `yaml:"median"`
	Sigma    float64 `yaml:"sigma"`
	Exponent float64 `yaml:"exponent"`
}

// Skew is how unevenly something lies on tasks; the zero value is evenly.
type Skew struct {
	// Kind is none, lognormal (Sigma), or zipf: the share of the k-th largest task is in proportion
	// to k to the -Exponent.
	Kind     string  `yaml:"kind"`
	Sigma    float64 `yaml:"sigma"`
	Exponent float64 `yaml:"exponent"`
}

// Bounds of a specification.
const (
	numberMax   = 1e9 // of a lot
	exponentMax = 10
	peopleMax   = 100_000
	classesMax  = 1_000
)

// Default is 100 jobs like those of a production cluster (table 1 of the HFSP paper): many
// small ones of a map or two, some of up to 500, few large ones.
func Default() Spec {
	s := Spec{Classes: []Class{
		{
			Name: "small", Share: 53, Maps: Lot{Kind: "even", Min: 1, Max: 2}, MapSeconds: Lot{Kind: "lognormal", Median: 12, Sigma: 0.5, Min: 5, Max: 60},
			Output: 0.1,
		},
		{
			Name: "medium", Share: 41, Maps: Lot{Kind: "zipf", Min: 3, Max: 500, Exponent: 0.8}, Reduces: Lot{Kind: "zipf", Min: 1, Max: 50, Exponent: 1},
			MapSeconds: Lot{Kind: "lognormal", Median: 25, Sigma: 0.3, Min: 5, Max: 120}, ReduceSeconds: Lot{Kind: "lognormal", Median: 60, Sigma: 0.6, Min: 10, Max: 600},
			MapSkew: Skew{Kind: "lognormal", Sigma: 0.2}, ReduceSkew: Skew{Kind: "lognormal", Sigma: 0.4}, Shuffle: 0.5, Output: 0.2,
		},
		{
			Name: "large", Share: 6, Maps: Lot{Kind: "zipf", Min: 500, Max: 3000, Exponent: 1.2}, Reduces: Lot{Kind: "even", Min: 100, Max: 500},
			MapSeconds: Lot{Kind: "lognormal", Median: 28, Sigma: 0.2, Min: 5, Max: 120}, ReduceSeconds: Lot{Kind: "lognormal", Median: 90, Sigma: 0.6, Min: 10, Max: 600},
			MapSkew: Skew{Kind: "lognormal", Sigma: 0.2}, ReduceSkew: Skew{Kind: "zipf", Exponent: 0.3}, Shuffle: 1, Output: 0.5,
		},
	}}
	s.setDefaults()
	return s
}

// setDefaults fills in the fields that were left out.
func (s *Spec) setDefaults() {
	fill(&s.Name, "synthetic")
	fill(&s.Jobs, 100)
	fill(&s.Seed, 1)
	fill(&s.Block, 128<<20)
	fill(&s.Users.Count, 1)
	fill(&s.Pools.Count, 1)
	fill(&s.Arrivals.Kind, "poisson")
	fill(&s.Arrivals.Gap, 13*time.Second)
	fill(&s.Arrivals.Burst, 10)
	fill(&s.Arrivals.Within, time.Second)
}

func fill[T comparable](to *T, value T) {
	var zero T
	if *to == zero {
		*to = value
	}
}

// Parse reads a specification from YAML; errors name file. The error is a scheduler.Problems with
// all problems by file and line.
func Parse(file string, text []byte) (*Spec, error) {
	s := &Spec{}
	d, err := document.Decode(file, text, s)
	if err != nil {
		return nil, err
	}
	if err := d.Error(s.Complete()); err != nil {
		return nil, err
	}
	return s, nil
}

// Complete fills in the defaults of a decoded specification, and returns the problems. below are
// the specification's keys in its document.
func (s *Spec) Complete(below ...any) []document.Problem {
	s.setDefaults()
	return document.Below(s.check(), below...)
}

// checks collects problems.
type checks []document.Problem

func (c *checks) that(ok bool, message string, path ...any) {
	if !ok {
		*c = append(*c, document.Problem{Path: path, Message: message})
	}
}

func (s *Spec) check() []document.Problem {
	var c checks
	c.that(s.Jobs >= 1 && s.Jobs <= workload.JobsMax, fmt.Sprintf("it is %d: from 1 to %d is right", s.Jobs, workload.JobsMax), "jobs")
	c.that(s.Block >= 1 && s.Block <= 1<<40, fmt.Sprintf("it is %d: from 1 to %d bytes is right", s.Block, int64(1)<<40), "block")
	a := s.Arrivals
	c.that(a.Kind == "poisson" || a.Kind == "even" || a.Kind == "bursty", fmt.Sprintf("it is %q: it is poisson, even or bursty", a.Kind), "arrivals", "kind")
	c.that(a.Gap > 0 && a.Gap <= 24*time.Hour, fmt.Sprintf("it is %v: above 0 and at most 24h is right", a.Gap), "arrivals", "gap")
	c.that(a.Within > 0 && a.Within <= 24*time.Hour, fmt.Sprintf("it is %v: above 0 and at most 24h is right", a.Within), "arrivals", "within")
	c.that(a.Burst >= 1 && a.Burst <= workload.JobsMax, fmt.Sprintf("it is %d: from 1 to %d is right", a.Burst, workload.JobsMax), "arrivals", "burst")
	c.people(s.Users, "users")
	c.people(s.Pools, "pools")
	c.that(len(s.Classes) >= 1 && len(s.Classes) <= classesMax, fmt.Sprintf("there are %d: from 1 to %d is right", len(s.Classes), classesMax), "classes")
	shares := 0.0
	for i := range s.Classes {
		c.class(&s.Classes[i], "classes", i)
		shares += max(s.Classes[i].Share, 0)
	}
	c.that(len(s.Classes) == 0 || shares > 0, "no class has a share above 0", "classes")
	return c
}

func (c *checks) people(p People, key string) {
	c.that(p.Count >= 1 && p.Count <= peopleMax, fmt.Sprintf("it is %d: from 1 to %d is right", p.Count, peopleMax), key, "count")
	c.that(p.Skew >= 0 && p.Skew <= exponentMax, fmt.Sprintf("it is %v: from 0 to %d is right", p.Skew, exponentMax), key, "skew")
}

func (c *checks) class(k *Class, path ...any) {
	at := func(keys ...any) []any { return append(append([]any{}, path...), keys...) }
	c.that(k.Share >= 0 && k.Share <= numberMax, fmt.Sprintf("it is %v: from 0 to 1e9 is right", k.Share), at("share")...)
	c.that(k.Priority >= -workload.PriorityMax && k.Priority <= workload.PriorityMax, fmt.Sprintf("it is %d: from %d to %d is right", k.Priority, -workload.PriorityMax, workload.PriorityMax), at("priority")...)
	c.that(k.Memory >= 0, fmt.Sprintf("it is %d: sizes are not negative", k.Memory), at("memory")...)
	c.that(k.Shuffle >= 0 && k.Shuffle <= 1000, fmt.Sprintf("it is %v: from 0 to 1000 is right", k.Shuffle), at("shuffle")...)
	c.that(k.Output >= 0 && k.Output <= 1000, fmt.Sprintf("it is %v: from 0 to 1000 is right", k.Output), at("output")...)
	c.that(k.Maps.Kind != "", "a class needs maps", at("maps")...)
	for _, l := range []struct {
		key string
		lot Lot
		max float64
	}{
		{"maps", k.Maps, workload.TasksMax},
		{"reduces", k.Reduces, workload.TasksMax},
		{"mapSeconds", k.MapSeconds, workload.WorkMax.Seconds()},
		{"reduceSeconds", k.ReduceSeconds, workload.WorkMax.Seconds()},
	} {
		c.lot(l.lot, l.max, at(l.key)...)
	}
	c.skew(k.MapSkew, at("mapSkew")...)
	c.skew(k.ReduceSkew, at("reduceSkew")...)
}

func (c *checks) lot(l Lot, most float64, path ...any) {
	at := func(key string) []any { return append(append([]any{}, path...), key) }
	between := func(v, low, high float64) bool { return v >= low && v <= high } // NaN is not
	switch l.Kind {
	case "":
		c.that(l == Lot{}, "it needs a kind: fixed, even, lognormal or zipf", path...)
	case "fixed":
		c.that(between(l.Value, 0, most), fmt.Sprintf("it is %v: from 0 to %v is right", l.Value, most), at("value")...)
	case "even", "lognormal", "zipf":
		c.that(between(l.Min, 0, most), fmt.Sprintf("it is %v: from 0 to %v is right", l.Min, most), at("min")...)
		c.that(between(l.Max, max(l.Min, 0), most), fmt.Sprintf("it is %v: from min to %v is right", l.Max, most), at("max")...)
		if l.Kind == "lognormal" {
			c.that(l.Median > 0 && l.Median <= most, fmt.Sprintf("it is %v: above 0 and at most %v is right", l.Median, most), at("median")...)
			c.that(between(l.Sigma, 0, exponentMax), fmt.Sprintf("it is %v: from 0 to %d is right", l.Sigma, exponentMax), at("sigma")...)
		}
		if l.Kind == "zipf" {
			c.that(l.Min > 0, "it is 0: above 0 is right", at("min")...)
			c.that(l.Exponent > 0 && l.Exponent <= exponentMax, fmt.Sprintf("it is %v: above 0 and at most %d is right", l.Exponent, exponentMax), at("exponent")...)
		}
	default:
		c.that(false, fmt.Sprintf("it is %q: it is fixed, even, lognormal or zipf", l.Kind), at("kind")...)
	}
}

func (c *checks) skew(k Skew, path ...any) {
	at := func(key string) []any { return append(append([]any{}, path...), key) }
	switch k.Kind {
	case "", "none":
		c.that(k.Sigma == 0 && k.Exponent == 0, "it needs a kind: lognormal or zipf", path...)
	case "lognormal":
		c.that(k.Sigma >= 0 && k.Sigma <= exponentMax, fmt.Sprintf("it is %v: from 0 to %d is right", k.Sigma, exponentMax), at("sigma")...)
	case "zipf":
		c.that(k.Exponent >= 0 && k.Exponent <= exponentMax, fmt.Sprintf("it is %v: from 0 to %d is right", k.Exponent, exponentMax), at("exponent")...)
	default:
		c.that(false, fmt.Sprintf("it is %q: it is none, lognormal or zipf", k.Kind), at("kind")...)
	}
}

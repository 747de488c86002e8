package locality

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality/placement"
)

// The modes of locality. A policy has some of them.
const (
	// With ModeDelay a job that finds no slot near its input lets other jobs use slots for a time.
	ModeDelay = "delay"
	// ModeAttempts is the same, but counts the offers that the job declines.
	ModeAttempts = "attempts"
	// ModeFlow places all launches of a round together, at the least cost. In a policy that has
	// ModeDelay, jobs also wait as in that mode.
	ModeFlow = "min-cost-flow"
	// ModeNearest takes the nearest launcher with room for each bundle in turn.
	ModeNearest = "nearest"
	// ModeNone ignores input.
	ModeNone = "none"
)

// Settings are what a site says of locality, below the key locality of any policy. They are read
// as YAML into a value that New made:
//
//	locality:
//	  mode: min-cost-flow    # one of the policy's modes
//	  node-delay: auto       # delay, min-cost-flow: wait for a node-local slot; auto: 1.5 heartbeats
//	  rack-delay: auto       # then for a rack-local one
//	  node-skips: auto       # attempts: offers passed up for a node-local slot; auto: as many as there are launchers
//	  rack-skips: auto       # then for a rack-local one
//	  costs: {node-local: 0, rack-local: 1, remote: 2}  # min-cost-flow: of a byte; all 0: input counts for nothing
//	  neighbour-bytes: 0     # min-cost-flow: what groups joined by tcp are taken to exchange; 0: they need not be near
//	  bundles-max: 10000     # min-cost-flow: bundles in one network; where there are more, launches go to the nearest
//	  launchers-max: 10000   # the same for launchers
//	  steps-max: 5000000     # the same for edges that a round looks at; some ten million take a second
type Settings struct {
	Mode                 string
	NodeDelay, RackDelay time.Duration // Automatically: see Limits
	NodeSkips, RackSkips int           // negative: as many as there are launchers
	Costs                placement.Costs
	NeighbourBytes       int64
	BundlesMax           int
	LaunchersMax         int
	StepsMax             int

	modes []string // the policy's modes
}

// Automatically stands for a delay that follows from the period of heartbeats.
const Automatically time.Duration = -1

// New returns the default settings of a policy with some modes, in one of them.
func New(mode string, modes ...string) Settings {
	return Settings{
		Mode: mode, NodeDelay: Automatically, RackDelay: Automatically, NodeSkips: -1, RackSkips: -1, Costs: placement.DefaultCosts(),
		BundlesMax: placement.BundlesMax, LaunchersMax: placement.LaunchersMax, StepsMax: placement.StepsMax,
		modes: modes,
	}
}

// Blind says that input has no effect: with ModeNone, and with a flow whose costs are all 0.
func (s *Settings) Blind() bool {
	return s.Mode == ModeNone || s.Mode == ModeFlow && s.Costs == placement.Costs{}
}

// Flow says that the launches of a round are placed together.
func (s *Settings) Flow() bool { return s.Mode == ModeFlow && !s.Blind() }

// Waits says that jobs wait for a time.
func (s *Settings) Waits() bool {
	return s.Mode == ModeDelay || s.Flow() && slices.Contains(s.modes, ModeDelay)
}

// Limits returns how long jobs wait, for launchers with a heartbeat period. It returns no limits if
// jobs do not wait for a time.
func (s *Settings) Limits(heartbeat time.Duration) Limits {
	if !s.Waits() {
		return Limits{}
	}
	l := Automatic(heartbeat)
	if s.NodeDelay != Automatically {
		l.Node = s.NodeDelay
	}
	if s.RackDelay != Automatically {
		l.Rack = s.RackDelay
	}
	return l
}

// Problem is a mistake in the settings, on a line of their text.
type Problem struct {
	Line    int // from 1 on
	Message string
}

// UnmarshalYAML implements yaml.Unmarshaler. Its error is a *yaml.TypeError.
func (s *Settings) UnmarshalYAML(n *yaml.Node) error {
	problems := s.Read(n, nil)
	if len(problems) == 0 {
		return nil
	}
	var e yaml.TypeError
	for _, p := range problems {
		e.Errors = append(e.Errors, fmt.Sprintf("line %d: %s", p.Line, p.Message))
	}
	return &e
}

// Read reads the settings, and passes the values of the policy's own keys to the functions in own.
// It lists all mistakes. After a mistake the settings may be incomplete.
func (s *Settings) Read(n *yaml.Node, own map[string]func(*yaml.Node)) []Problem {
	r := reader{given: map[string]int{}}
	known := maps.Clone(own)
	if known == nil {
		known = map[string]func(*yaml.Node){}
	}
	maps.Copy(known, map[string]func(*yaml.Node){
		"mode":            func(n *yaml.Node) { s.mode(&r, n) },
		"node-delay":      r.delay("node-delay", &s.NodeDelay),
		"rack-delay":      r.delay("rack-delay", &s.RackDelay),
		"node-skips":      r.skips("node-skips", &s.NodeSkips),
		"rack-skips":      r.skips("rack-skips", &s.RackSkips),
		"costs":           func(n *yaml.Node) { r.costs(n, &s.Costs) },
		"neighbour-bytes": func(n *yaml.Node) { r.number("neighbour-bytes", n, 0, &s.NeighbourBytes) },
		"bundles-max":     r.count("bundles-max", &s.BundlesMax),
		"launchers-max":   r.count("launchers-max", &s.LaunchersMax),
		"steps-max":       r.count("steps-max", &s.StepsMax),
	})
	r.fields(n, "locality", known)
	s.idle(&r)
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return a.Line - b.Line })
	return r.problems
}

func (s *Settings) mode(r *reader, n *yaml.Node) {
	if !slices.Contains(s.modes, n.Value) {
		r.problem(n.Line, "locality: mode: %q is unknown here: use one of %s", n.Value, strings.Join(s.modes, ", "))
		return
	}
	s.Mode = n.Value
}

// usedBy lists the modes that use a key.
var usedBy = map[string][]string{
	"node-delay": {ModeDelay, ModeFlow}, "rack-delay": {ModeDelay, ModeFlow},
	"node-skips": {ModeAttempts}, "rack-skips": {ModeAttempts},
	"costs": {ModeFlow}, "neighbour-bytes": {ModeFlow}, "bundles-max": {ModeFlow}, "launchers-max": {ModeFlow}, "steps-max": {ModeFlow},
}

// idle refuses keys that the mode ignores, and delays if the policy has none.
func (s *Settings) idle(r *reader) {
	for _, key := range slices.Sorted(maps.Keys(r.given)) {
		uses, known := usedBy[key]
		if !known {
			continue
		}
		var have []string
		for _, mode := range uses {
			if slices.Contains(s.modes, mode) && (uses[0] != ModeDelay || slices.Contains(s.modes, ModeDelay)) {
				have = append(have, mode)
			}
		}
		switch {
		case len(have) == 0:
			r.problem(r.given[key], "locality: %s counts for nothing: no mode of this policy waits so; remove it", key)
		case !slices.Contains(have, s.Mode):
			r.problem(r.given[key], "locality: %s counts for nothing in mode %s: remove it, or use mode %s", key, s.Mode, strings.Join(have, " or "))
		}
	}
}

// reader reads a mapping key by key, so that every problem has its line.
type reader struct {
	problems []Problem
	given    map[string]int // the line of each key
}

func (r *reader) problem(line int, format string, args ...any) {
	r.problems = append(r.problems, Problem{line, fmt.Sprintf(format, args...)})
}

// fields passes each value of a mapping to the function for its key.
func (r *reader) fields(n *yaml.Node, of string, known map[string]func(*yaml.Node)) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Tag == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.problem(n.Line, "%s: must be settings by name, like \"mode: %s\"", of, ModeFlow)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read, ok := known[key.Value]
		switch {
		case !ok:
			r.problem(key.Line, "unknown setting %q of %s: correct its name or remove it; there are %s", key.Value, of, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		case seen[key.Value]:
			r.problem(key.Line, "%q stands twice in %s: remove one", key.Value, of)
		default:
			seen[key.Value] = true
			if of == "locality" {
				r.given[key.Value] = key.Line
			}
			read(value)
		}
	}
}

// delay reads a duration, or the word auto.
func (r *reader) delay(key string, into *time.Duration) func(*yaml.Node) {
	return func(n *yaml.Node) {
		d, err := time.ParseDuration(n.Value)
		switch {
		case n.Value == "auto":
			*into = Automatically
		case err != nil || d < 0:
			r.problem(n.Line, "locality: %s: must be auto, or a duration such as 5s, at least 0s", key)
		default:
			*into = d
		}
	}
}

// skips reads a number of offers, or the word auto.
func (r *reader) skips(key string, into *int) func(*yaml.Node) {
	return func(n *yaml.Node) {
		i, err := strconv.Atoi(n.Value)
		switch {
		case n.Value == "auto":
			*into = -1
		case err != nil || i < 0:
			r.problem(n.Line, "locality: %s: must be auto, or how many offers are passed up, at least 0", key)
		default:
			*into = i
		}
	}
}

// count reads a bound.
func (r *reader) count(key string, into *int) func(*yaml.Node) {
	return func(n *yaml.Node) {
		i := int64(*into)
		r.number(key, n, 1, &i)
		*into = int(i)
	}
}

// number reads a whole number.
func (r *reader) number(key string, n *yaml.Node, least int64, into *int64) {
	i, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil || i < least {
		r.problem(n.Line, "locality: %s: %q must be a whole number, at least %d", key, n.Value, least)
		return
	}
	*into = i
}

// costs reads what a byte costs by level.
func (r *reader) costs(n *yaml.Node, into *placement.Costs) {
	costs := *into
	known := map[string]func(*yaml.Node){}
	for i := range costs {
		level := scheduler.Locality(i).String() //nolint:gosec // there are three
		known[level] = func(n *yaml.Node) { r.number("costs: "+level, n, 0, &costs[i]) }
	}
	before := len(r.problems)
	r.fields(n, "costs", known)
	if len(r.problems) > before {
		return
	}
	if err := costs.Check(); err != nil {
		r.problem(n.Line, "locality: %s", err)
		return
	}
	*into = costs
}

package simulate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/report"
	"github.com/hamadryad/hamadryad/laboratory/report/drawing"
)

// sweepMax bounds the runs of a sweep.
const sweepMax = 10_000

// Targets of --set that are the cluster's.
const (
	setLaunchers = "launchers"
	setSlowStart = "slow-start"
)

// dimension is a --set: a setting of a policy or of the cluster, with the values that it takes.
type dimension struct {
	policy string // "": the cluster's
	key    string
	values []string
}

// point is a contender with one value of each dimension.
type point struct {
	contender
	base    string                       // the contender's name without the values
	values  []string                     // by dimension; "": the dimension is another policy's
	cluster func(*cluster.Cluster) error // sets the cluster's values
}

// parseSets reads the values of --set.
func parseSets(texts []string, list []contender) (dims []dimension, err error) {
	for _, text := range texts {
		target, values, ok := strings.Cut(text, "=")
		d := dimension{key: target, values: strings.Split(values, ",")}
		if policy, key, of := strings.Cut(target, ":"); of {
			d.policy, d.key = policy, key
		}
		switch {
		case !ok || d.key == "" || slices.Contains(d.values, ""):
			return nil, client.Misuse("--set %q: write POLICY:KEY=VALUE,... or launchers=10,100", text)
		case d.policy == "" && d.key != setLaunchers && d.key != setSlowStart:
			return nil, client.Misuse("--set %q: %s is neither %s nor %s; a policy's setting is POLICY:KEY", text, d.key, setLaunchers, setSlowStart)
		case d.policy != "" && !slices.ContainsFunc(list, func(p contender) bool { return p.name == d.policy }):
			return nil, client.Misuse("--set %q: no --policy is called %s", text, d.policy)
		case slices.ContainsFunc(dims, func(o dimension) bool { return o.policy == d.policy && o.key == d.key }):
			return nil, client.Misuse("--set sets %s twice: write its values joined by commas", target)
		}
		dims = append(dims, d)
	}
	return dims, nil
}

// points are all combinations of contenders and values, in order.
func points(list []contender, dims []dimension) (all []point, err error) {
	for _, c := range list {
		made := []point{{contender: c, base: c.name, values: make([]string, len(dims)), cluster: func(*cluster.Cluster) error { return nil }}}
		for i := range dims {
			if d := &dims[i]; d.policy == "" || d.policy == c.name {
				if made, err = spread(made, d, i); err != nil {
					return nil, err
				}
			}
		}
		all = append(all, made...)
	}
	return all, nil
}

// spread makes a point for each value of a dimension from each point.
func spread(from []point, d *dimension, place int) (all []point, err error) {
	if len(from)*len(d.values) > sweepMax {
		return nil, client.Misuse("--set: the values come to more than %d runs", sweepMax)
	}
	for _, p := range from {
		for _, v := range d.values {
			next := p
			next.values = slices.Clone(p.values)
			next.values[place] = v
			next.name = fmt.Sprintf("%s %s=%s", p.name, d.key, v)
			if d.policy == "" {
				next.cluster = func(on *cluster.Cluster) error {
					if err := p.cluster(on); err != nil {
						return err
					}
					return d.apply(on, v)
				}
			} else if next.config.Text, err = withSetting(p.config.Text, d.key, v); err != nil {
				return nil, client.Misuse("--set %s:%s=%s: %w", d.policy, d.key, v, err)
			}
			all = append(all, next)
		}
	}
	return all, nil
}

// apply sets a value of the cluster.
func (d *dimension) apply(on *cluster.Cluster, value string) (err error) {
	switch d.key {
	case setLaunchers:
		if len(on.Groups) != 1 {
			return client.Misuse("--set launchers: the cluster has %d groups, and not one", len(on.Groups))
		}
		on.Groups = slices.Clone(on.Groups)
		on.Groups[0].Count, err = strconv.Atoi(value)
	default:
		on.Model.SlowStart, err = strconv.ParseFloat(value, 64)
	}
	if err != nil {
		return client.Misuse("--set %s=%s: it is no number", d.key, value)
	}
	return on.Check()
}

// withSetting is the text of settings with one of them set. Its key is joined by dots.
func withSetting(text []byte, key, value string) ([]byte, error) {
	var root, v yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal([]byte(value), &v); err != nil || len(v.Content) != 1 {
		return nil, fmt.Errorf("%q is no value in YAML", value)
	}
	if len(root.Content) == 0 {
		root = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode, Tag: "!!map"}}}
	}
	at := root.Content[0]
	keys := strings.Split(key, ".")
	for i, k := range keys {
		if at.Kind != yaml.MappingNode || k == "" {
			return nil, fmt.Errorf("%s is no setting with keys below it", strings.Join(keys[:i], "."))
		}
		next := below(at, k)
		if next == nil {
			next = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
			at.Content = append(at.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: k}, next)
		}
		at = next
	}
	*at = *v.Content[0]
	return yaml.Marshal(&root)
}

// below is the value of a key; nil: the mapping does not have it.
func below(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// curves draw the mean sojourn time over each dimension of numbers or times, with a line for each
// combination of the other values.
func curves(all *report.Comparison, list []point, dims []dimension) (drawings []report.Drawing) {
	for i := range dims {
		lines := drawing.Lines{Title: "Mean sojourn time by " + dims[i].key, X: dims[i].key, Y: "mean sojourn time (s)"}
		at := map[string]int{}
		for k, p := range list {
			x, ok := quantity(p.values[i])
			if !ok {
				continue
			}
			name := p.base
			for n, v := range p.values {
				if n != i && v != "" {
					name += fmt.Sprintf(" %s=%s", dims[n].key, v)
				}
			}
			place, had := at[name]
			if !had {
				place = len(lines.Lines)
				at[name] = place
				lines.Lines = append(lines.Lines, drawing.Points{Name: name})
			}
			to := &lines.Lines[place]
			to.At = append(to.At, drawing.Point{X: x, Y: all.Policies[k].SojournMean()})
		}
		if len(lines.Lines) > 0 {
			drawings = append(drawings, report.Drawing{Name: "sweep of " + dims[i].key, SVG: lines.SVG()})
		}
	}
	return drawings
}

// quantity is a number, or a time in seconds.
func quantity(text string) (float64, bool) {
	if x, err := strconv.ParseFloat(text, 64); err == nil {
		return x, true
	}
	d, err := time.ParseDuration(text)
	return d.Seconds(), err == nil
}

package policytest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hamadryad/hamadryad/policytest/cluster"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Bounds of values drawn from a policy's settings.
const (
	changesMax  = 3   // changes of the settings in one game
	variantsMax = 30  // of them in all
	wordsMax    = 200 // names
	wordMax     = 64  // bytes of a word
)

// changes are the possible settings for a running policy: its first settings, none, and each with
// one of their keys left out, if Check accepts them.
func (k *kit) changes() []scheduler.Config {
	c := k.options.Config
	var valid []scheduler.Config
	for _, v := range variants(c) {
		if k.driver.Check(k.ctx, v) == nil {
			valid = append(valid, v)
		}
	}
	return valid
}

// variants returns the settings, without any, and without each of the top-level keys. It keeps line
// numbers.
func variants(c scheduler.Config) []scheduler.Config {
	all := []scheduler.Config{c}
	if len(c.Text) == 0 {
		return all
	}
	none := c
	none.Text = nil
	all = append(all, none)
	var doc yaml.Node
	if yaml.Unmarshal(c.Text, &doc) != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode || doc.Content[0].Style&yaml.FlowStyle != 0 {
		return all
	}
	lines, keys := strings.SplitAfter(string(c.Text), "\n"), doc.Content[0].Content
	for i := 0; i < len(keys) && len(all) < variantsMax; i += 2 {
		from, to := keys[i].Line-1, len(lines)
		if i+2 < len(keys) {
			to = keys[i+2].Line - 1
		}
		v := c
		v.Text = []byte(strings.Join(lines[:from], "") + strings.Repeat("\n", to-from) + strings.Join(lines[to:], ""))
		all = append(all, v)
	}
	return all
}

// words are the names in settings: keys, and texts that are no numbers.
func words(c scheduler.Config) (list []string) {
	var doc yaml.Node
	if yaml.Unmarshal(c.Text, &doc) != nil {
		return nil
	}
	var walk func(*yaml.Node)
	walk = func(n *yaml.Node) {
		if w := n.Value; n.Kind == yaml.ScalarNode && n.Tag == "!!str" && w != "" && len(w) <= wordMax && len(list) < wordsMax &&
			scheduler.Printable(w) == w && !slices.Contains(list, w) {
			list = append(list, w)
		}
		for _, x := range n.Content {
			walk(x)
		}
	}
	walk(&doc)
	return list
}

// oddValues are values of properties that a policy may misinterpret.
var oddValues = []string{
	"", "0", "1", "-1", "nan", "inf", "1e308", "9223372036854775808", "true", "false", "yes", "a=b", "a.b/../c", "${user.name}",
	"käse 🧀", "user-1", "pool-1", "10s", strings.Repeat("x", 1000),
}

// named gives a job properties, and now and then a pool and a user from the settings.
func (p *planner) named(s *cluster.Spec) {
	known := p.o.words
	one := func() string { return known[p.of.IntN(len(known))] }
	if len(known) > 0 && p.of.IntN(2) == 0 {
		s.Pool = one()
	}
	if len(known) > 0 && p.of.IntN(4) == 0 {
		s.User = one()
	}
	for range p.of.IntN(4) {
		x := scheduler.Property{Name: fmt.Sprint("property-", p.of.IntN(3)), Value: oddValues[p.of.IntN(len(oddValues))]}
		switch n := p.of.IntN(4); {
		case n < 2 && len(p.o.Properties) > 0:
			x = p.o.Properties[p.of.IntN(len(p.o.Properties))]
		case n == 2 && len(known) > 0:
			x.Name = one()
		case n == 3 && len(known) > 0:
			x.Name, x.Value = one(), one()
		}
		i, found := slices.BinarySearchFunc(s.Properties, x, func(a, b scheduler.Property) int { return cmp.Compare(a.Name, b.Name) })
		if !found {
			s.Properties = slices.Insert(s.Properties, i, x)
		}
	}
}

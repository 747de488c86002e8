package job

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// CheckUTF8 returns an error for a name that is not UTF-8: the engine's messages carry only UTF-8
// text. what says which thing is named.
func CheckUTF8(what, name string) error {
	if utf8.ValidString(name) {
		return nil
	}
	return Permanent(fmt.Errorf("%s %q is not UTF-8, and nothing else can be sent to the cluster: give it another name, or convert it", what, name))
}

// checkText finds names of the graph that are not UTF-8.
func (g *Graph) checkText() {
	check := func(what, name string) {
		if err := CheckUTF8(what, name); err != nil {
			g.errs = append(g.errs, err)
		}
	}
	for _, o := range g.outputs {
		check("the output folder", o)
	}
	for _, name := range slices.Sorted(maps.Keys(g.properties)) {
		check("the property", name+"="+g.properties[name])
	}
	for _, s := range g.stages {
		check("the stage", s.name)
		check("the kind of slots of stage "+s.name, s.kind)
		for _, port := range slices.Concat(s.ins, s.outs) {
			check("the port of stage "+s.name, port)
		}
		for _, f := range s.files {
			check("the file that travels with stage "+s.name, f)
		}
		if s.command != nil {
			for _, word := range slices.Concat(s.command.Args, s.command.Env) {
				check("the command's word in stage "+s.name, word)
			}
		}
	}
	for _, c := range g.connections {
		check("the folder of a channel", c.Channel.Store)
	}
}

package cpuset

import (
	"fmt"
	"io/fs"
)

// Cores groups the processors of a set by core, as the machine's files say. Processors of one core
// slow each other down. The files are those of /sys/devices/system/cpu. A processor that they do
// not list is a core by itself.
func Cores(system fs.FS, all Set) []Set {
	var cores []Set
	listed := map[int]bool{}
	for _, n := range all {
		if listed[n] {
			continue
		}
		core := Set{n}
		if text, err := fs.ReadFile(system, fmt.Sprintf("cpu%d/topology/thread_siblings_list", n)); err == nil {
			siblings, _ := Parse(string(text)) // none, if it makes no sense
			for _, s := range siblings {
				if s != n && all.Has(s) && !listed[s] {
					core = append(core, s)
				}
			}
		}
		core = ordered(core)
		for _, s := range core {
			listed[s] = true
		}
		cores = append(cores, core)
	}
	return cores
}

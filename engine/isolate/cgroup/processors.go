package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The files of a group that say on which processors it runs.
const (
	processorsFile = "cpuset.cpus"
	effectiveFile  = "cpuset.cpus.effective"
)

// Processors lists, in Linux's form, the processors that groups can be bound to. "": none, since
// cpuset is not available or the groups have no limits.
func (p *Parent) Processors() (string, error) {
	if !p.divides {
		return "", nil
	}
	text, err := os.ReadFile(filepath.Join(p.folder, effectiveFile))
	return strings.TrimSpace(string(text)), err
}

// Use binds all processes of the group to a list of processors from now on. Call it only where
// Processors lists some.
func (g *Group) Use(list string) error {
	if err := g.unlessGone(writeControl(g.folder, processorsFile, list)); err != nil {
		return fmt.Errorf("processors of a worker: %w", err)
	}
	return nil
}

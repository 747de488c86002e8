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

// Processors is the list, as Linux writes it, of those that groups can be kept to; "": to none,
// since cpuset does not reach them, or they have no limits.
func (p *Parent) Processors() (string, error) {
	if !p.divides {
		return "", nil
	}
	text, err := os.ReadFile(filepath.Join(p.folder, effectiveFile))
	return strings.TrimSpace(string(text)), err
}

// Use keeps all processes of the group to the processors of a list, from now on. It is for those
// that Processors has.
func (g *Group) Use(list string) error {
	if err := g.unlessGone(writeControl(g.folder, processorsFile, list)); err != nil {
		return fmt.Errorf("processors of a worker: %w", err)
	}
	return nil
}

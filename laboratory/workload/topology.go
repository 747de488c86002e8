package workload

import (
	"errors"
	"fmt"
	"io"
)

// HostsMax is the number of hosts of a topology.
const HostsMax = 1_000_000

// ReadTopology reads the hosts of a cluster and their racks, in the order of the text. The text is
// the tree that Rumen makes of job histories, in which a rack is the parent of hosts, or the racks
// of YARN's Scheduler Load Simulator (nodes.json). The text may be compressed with gzip or zstd.
// Its memory is bounded by HostsMax, DepthMax and ValueBytesMax. The error names file and line; no
// hosts are returned with it.
func ReadTopology(r io.Reader, file string) ([]Place, error) {
	if file == "" {
		file = "topology"
	}
	text, err := expand(r)
	if err != nil {
		return nil, at(file, 1, err)
	}
	t := topology{t: newTokens(text, 1), seen: map[string]bool{}}
	for {
		leaf, _, err := t.node()
		switch {
		case errors.Is(err, io.EOF) && len(t.hosts) > 0:
			return t.hosts, nil
		case errors.Is(err, io.EOF):
			return nil, at(file, t.t.line(), errors.New("there is no host"))
		case err == nil && leaf:
			err = errors.New("there is a host that stands in no rack")
		}
		if err != nil {
			return nil, at(file, t.t.line(), err)
		}
	}
}

// topology is a topology in the course of reading.
type topology struct {
	t     *tokens
	hosts []Place
	seen  map[string]bool
}

// node reads a host, or a group of nodes with all its descendants. Groups set the rack of the hosts
// directly below them at their end, since their own name may come last. An empty object is neither:
// Hadoop's own nodes.json ends with one.
func (t *topology) node() (leaf bool, name string, err error) {
	var below []int // hosts directly below it
	empty, group := true, false
	err = t.t.object(func(key string) error {
		empty = false
		switch key {
		case "name", "rack", "node":
			return t.t.text(&name)
		case "children", "nodes":
			return t.t.list(func() error {
				group = true
				host, called, err := t.node()
				if err != nil || !host {
					return noEnd(err)
				}
				below = append(below, len(t.hosts))
				return t.host(called)
			})
		}
		return errUnknown
	})
	if err != nil {
		return false, "", err
	}
	if name = unescape(name); len(below) > 0 {
		if err = checkName("a rack", "name", name); err == nil && name == "" {
			err = errors.New("a rack has no name")
		}
	}
	for _, i := range below {
		t.hosts[i].Rack = name
	}
	return !empty && !group, name, err
}

// host adds a host, whose rack is set later.
func (t *topology) host(name string) error {
	switch err := checkName("a host", "name", name); {
	case err != nil:
		return err
	case name == "":
		return errors.New("a host has no name")
	case t.seen[name]:
		return fmt.Errorf("the host %q stands there twice", name)
	case len(t.hosts) == HostsMax:
		return fmt.Errorf("there are more than %d hosts", HostsMax)
	}
	t.seen[name] = true
	t.hosts = append(t.hosts, Place{Host: name})
	return nil
}

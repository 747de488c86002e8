package core

import (
	"github.com/hamadryad/hamadryad/engine/core/inputs"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// hosts tells where things are.
type hosts struct{ *Core }

// HostOf returns the host that a launcher gave a name or address for; a name that
// none gave stands for itself. Where two gave the same, the first one's holds.
func (c hosts) HostOf(name string) string {
	if c.aliases == nil {
		c.aliases = map[string]string{}
		for _, id := range c.launchers.IDs() {
			l := c.launchers.Get(id)
			for _, n := range l.names {
				if _, taken := c.aliases[n]; !taken {
					c.aliases[n] = l.Host
				}
			}
		}
		for _, id := range c.launchers.IDs() { // a host's own name is nobody else's
			delete(c.aliases, c.launchers.Get(id).Host)
		}
	}
	if host, ok := c.aliases[name]; ok {
		return host
	}
	return name
}

// WhereIs tells of a launcher where it is; false when it is not up.
func (c hosts) WhereIs(id scheduler.LauncherID) (host, rack string, up bool) {
	if l := c.launchers.Get(id); l != nil && l.Up {
		return l.Host, l.Rack, true
	}
	return "", "", false
}

// Moves returns how often a launcher came or went.
func (c hosts) Moves() uint64 { return c.capacity.Moves() }

// Made tells where an output was made, and whether its launcher keeps it.
func (j *job) Made(k inputs.Key) (host, rack string, keeps bool) {
	if m := j.commitOf(j.inputs.Writer(k)); m != nil {
		return m.host, m.rack, m.stored
	}
	return "", "", false
}

// source describes where an output of a job is that is there.
func (c *Core) source(j *job) inputs.Source {
	return func(k inputs.Key) *wire.Source {
		m := j.commitOf(j.inputs.Writer(k))
		s := &wire.Source{
			Connection: uint32(k.Conn), From: uint32(k.From), Attempt: uint64(m.attempt),
			Host: m.host, Rack: m.rack, Token: m.token, Launcher: uint64(m.launcher),
		}
		if l := c.launchers.Get(m.launcher); l != nil && l.Up {
			s.Address = l.dataAddress
		}
		return s
	}
}

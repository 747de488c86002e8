package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"

	"github.com/hamadryad/hamadryad/engine/core/internal/step"

	"github.com/hamadryad/hamadryad/engine/core/internal/dataflow"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Hosts looks up where launchers are.
type Hosts struct{ *Cluster }

// HostOf returns the host with a name or address; an unknown name stands for itself. If two
// launchers gave the same name, the first launcher's counts.
func (c Hosts) HostOf(name string) string {
	if c.aliases == nil {
		c.aliases = map[string]string{}
		for _, id := range c.Launchers.IDs() {
			l := c.Launchers.Get(id)
			for _, n := range l.names {
				if _, taken := c.aliases[n]; !taken {
					c.aliases[n] = l.Host
				}
			}
		}
		for _, id := range c.Launchers.IDs() { // a host's own name takes precedence
			delete(c.aliases, c.Launchers.Get(id).Host)
		}
	}
	if host, ok := c.aliases[name]; ok {
		return host
	}
	return name
}

// WhereIs returns the host and the rack of a launcher; false when it is not up.
func (c Hosts) WhereIs(id scheduler.LauncherID) (host, rack string, up bool) {
	if l := c.Launchers.Get(id); l != nil && l.Up {
		return l.Host, l.Rack, true
	}
	return "", "", false
}

// Moves returns how often launchers came or went.
func (c Hosts) Moves() uint64 { return c.resources.Launchers.Moves() }

// Made returns where an output was made, and whether its launcher still has it.
func (j *Job) Made(k dataflow.Key) (host, rack string, keeps bool) {
	if m := j.commitOf(j.Inputs.Files.Writer(k)); m != nil {
		return m.Host, m.Rack, m.Stored
	}
	return "", "", false
}

// MadeBy returns the launcher that made an output; 0: nobody did.
func (j *Job) MadeBy(k dataflow.Key) scheduler.LauncherID {
	if m := j.commitOf(j.Inputs.Files.Writer(k)); m != nil {
		return m.Launcher
	}
	return 0
}

// Source describes where an available output of a job is.
func (st *Cluster) Source(j *Job) dataflow.Source {
	return func(k dataflow.Key) *wire.Source {
		if s := j.Inputs.SourceMessage(k); s != nil && s.Address == st.dataAddress(scheduler.LauncherID(s.Launcher)) {
			return s
		}
		s := st.sourceOf(j, k)
		j.Inputs.SetSourceMessage(k, s)
		return s
	}
}

// sourceOf makes the message that describes where an output is.
func (st *Cluster) sourceOf(j *Job, k dataflow.Key) *wire.Source {
	m := j.commitOf(j.Inputs.Files.Writer(k))
	return &wire.Source{
		Connection: uint32(k.Conn), From: uint32(k.From), Attempt: uint64(m.Attempt),
		Host: m.Host, Rack: m.Rack, Token: st.Tokens.OfNumber(m.BundleAttempt, m.Token), Launcher: uint64(m.Launcher), Address: st.dataAddress(m.Launcher), LauncherName: st.nameOf(m.Launcher),
	}
}

// Tokens gives the secrets of data connections, by bundle attempt.
type Tokens struct {
	step *step.Step
	from func(run uint64) []byte // nil: there are none
}

// From sets how a token follows from a bundle attempt's number. By default there are no tokens.
func (t *Tokens) From(f func(run uint64) []byte) { t.from = f }

// Of returns the secret of a bundle attempt's data connections. Its attempts know it, and all
// readers of what they store. Under the settings of an earlier manager it is that manager's token.
func (t *Tokens) Of(r *BundleAttempt) []byte {
	if seed := t.step.Set.TokenSeed; r.token == nil && seed != "" {
		var room [128]byte
		sum := sha256.Sum256(binary.LittleEndian.AppendUint64(append(room[:0], seed...), r.ID))
		r.token = bytes.Clone(sum[:earlierTokenBytes])
	}
	return t.OfNumber(r.ID, r.token)
}

// earlierTokenBytes is the length of an earlier manager's token.
const earlierTokenBytes = 16

// OfNumber returns the token for a bundle attempt's number, or the one from an earlier manager.
func (t *Tokens) OfNumber(run uint64, earlier []byte) []byte {
	if earlier != nil || t.from == nil {
		return earlier
	}
	return t.from(run)
}

// nameOf returns a launcher's name, valid while its id is known.
func (st *Cluster) nameOf(id scheduler.LauncherID) string {
	if l := st.Launchers.Get(id); l != nil {
		return l.Name
	}
	return ""
}

// dataAddress returns where others read a launcher's stored outputs; "" while it is not up.
func (st *Cluster) dataAddress(id scheduler.LauncherID) string {
	if l := st.Launchers.Get(id); l != nil && l.Up {
		return l.dataAddress
	}
	return ""
}

package fair

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/hamadryad/hamadryad/plugins/fair/allocation"
	"github.com/hamadryad/hamadryad/plugins/fair/placement"
	"github.com/hamadryad/hamadryad/plugins/fair/preemption"
	"github.com/hamadryad/hamadryad/plugins/fair/shares"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/shares/pooltree"
)

// record is one line of a trace: a JSON object. Times are nanoseconds since the
// Unix epoch; fields that say nothing are left out.
type record struct {
	At    scheduler.Time `json:"at"`
	Event string         `json:"event"` // see doc.go

	Round    uint64             `json:"round,omitempty"`
	Events   int                `json:"events,omitempty"`
	Launches int                `json:"launches,omitempty"`
	Job      string             `json:"job,omitempty"`
	User     string             `json:"user,omitempty"`
	Pool     string             `json:"pool,omitempty"`
	Priority string             `json:"priority,omitempty"`
	Runnable *bool              `json:"runnable,omitempty"`
	Kind     scheduler.SlotKind `json:"kind,omitempty"`
	Weight   float64            `json:"weight,omitempty"`
	Min      int                `json:"min,omitempty"`
	Max      int                `json:"max,omitempty"`
	Running  int                `json:"running,omitempty"`
	Demand   int                `json:"demand,omitempty"`
	Share    float64            `json:"share,omitempty"`
	Jobs     int                `json:"jobs,omitempty"`
	MinSince scheduler.Time     `json:"belowMinSince,omitempty"`
	ShareOf  scheduler.Time     `json:"belowShareSince,omitempty"`
	Due      int                `json:"due,omitempty"`

	Bundle    scheduler.BundleID     `json:"bundle,omitempty"`
	Launchers []scheduler.LauncherID `json:"launchers,omitempty"`
	Locality  string                 `json:"locality,omitempty"`
	Waited    string                 `json:"waited,omitempty"`
	Victims   []scheduler.AttemptID  `json:"victims,omitempty"`
	Mode      string                 `json:"mode,omitempty"`
	DryRun    bool                   `json:"dryRun,omitempty"`
}

// Trace takes the lines of a trace. The plug-in's shell provides it (package tracefile): a
// policy does no file I/O while it decides.
type Trace interface {
	// Bound sets the size in bytes at which a file is rotated.
	Bound(bytes int)
	// Write passes whole lines, which the trace then owns. The error is about earlier lines;
	// after an error nothing is written.
	Write(lines []byte) error
	// Close ends the trace with what was handed over.
	Close()
}

// OpenTrace opens the trace file that a site granted. The file is rotated at bytesMax bytes.
type OpenTrace func(path string, bytesMax int) (Trace, error)

// tracer makes records for the trace that the site granted. A nil tracer makes none:
// all methods may be called on it.
type tracer struct {
	to     Trace
	lines  bytes.Buffer // of this round
	dumped scheduler.Time
	err    error // the first; nothing is made after it
	told   bool
}

// openTrace opens the trace when settings and site want one. A simulation has none, and a log that is played.
func (p *Policy) openTrace(c *allocation.Config) error {
	wanted := c.Trace && !p.env.Simulated && !p.env.Replayed
	switch {
	case !wanted:
		p.trace.close()
		p.trace = nil
		return nil
	case p.env.Trace == "" || p.opener == nil:
		return scheduler.Problems{{Message: "trace: no file is granted for it: set policy.trace to one, or disable the trace"}}
	case p.trace != nil:
		p.trace.to.Bound(c.TraceMax)
		return nil
	}
	to, err := p.opener(p.env.Trace, c.TraceMax)
	if err != nil {
		return scheduler.Problems{{File: p.env.Trace, Message: fmt.Sprintf("the trace cannot be opened: %v", err)}}
	}
	p.trace = &tracer{to: to, dumped: p.view.Now()}
	return nil
}

func (t *tracer) on() bool { return t != nil && t.err == nil }

func (t *tracer) write(r *record) {
	if !t.on() {
		return
	}
	line, err := json.Marshal(r)
	if err != nil {
		t.err = err
		return
	}
	t.lines.Write(append(line, '\n'))
}

// flush passes on the lines of a round.
func (t *tracer) flush() {
	if t.err = t.to.Write(bytes.Clone(t.lines.Bytes())); t.err == nil {
		t.lines.Reset()
	}
}

func (t *tracer) close() {
	if t == nil {
		return
	}
	if t.on() && t.lines.Len() > 0 {
		t.flush()
	}
	t.to.Close()
}

func (t *tracer) job(p *Policy, event string, j *shares.Job) {
	if t.on() {
		t.write(&record{
			At: p.view.Now(), Event: event, Job: j.ID().String(), User: j.Info.User, Pool: j.Pool.Spec.Path,
			Priority: j.Info.Priority.String(), Runnable: &j.Runnable,
		})
	}
}

func (t *tracer) placed(p *Policy, all []placement.Placed) {
	for _, g := range all {
		r := record{
			At: p.view.Now(), Event: "assigned", Job: g.Job.ID().String(), Pool: g.Job.Pool.Spec.Path,
			Kind: g.Bundle.Groups[0].Kind, Bundle: g.Bundle.ID, Launchers: g.Where,
		}
		if g.Located {
			r.Locality = g.Level.String()
		}
		t.write(&r)
	}
}

func (t *tracer) ahead(p *Policy, all []scheduler.Launch) {
	for _, l := range all {
		if b := p.view.Bundle(l.Bundle); t.on() {
			t.write(&record{
				At: p.view.Now(), Event: "ahead", Job: b.Job.ID().String(), Pool: shares.Of(b.Job).Pool.Spec.Path,
				Kind: b.Groups[0].Kind, Bundle: l.Bundle, Launchers: l.Launchers,
			})
		}
	}
}

// update writes the values on which preemption decides.
func (t *tracer) update(p *Policy) {
	if !t.on() || p.config.Preemption == allocation.PreemptOff {
		return
	}
	for _, s := range p.preemption.List() {
		x, k := p.shares.Pools[s.Pool], p.shares.World.Kind(s.Kind)
		r := t.pool(p, "starved", x, k)
		r.MinSince, r.ShareOf, r.Due = s.Since.Min, s.Since.Fair, p.preemption.Due(x, k)
		t.write(&r)
	}
}

func (t *tracer) pool(p *Policy, event string, x *shares.Pool, k pooltree.Kind) record {
	s := x.Node.Of(k)
	return record{
		At: p.view.Now(), Event: event, Pool: x.Spec.Path, Kind: p.shares.World.Kinds[k], Weight: s.Weight, Min: s.Min, Max: s.Max,
		Running: s.Running, Demand: s.Demand(), Share: s.Share, Jobs: x.Node.Jobs(),
	}
}

func (t *tracer) preempt(p *Policy, set *preemption.Set) {
	if s := &set.Preempt; t.on() {
		t.write(&record{
			At: p.view.Now(), Event: "preempt", Pool: set.Pool.Spec.Path, Job: s.For.String(), Bundle: s.Bundle, Launchers: s.Placement,
			Victims: s.Victims, Mode: s.Mode.String(), DryRun: p.config.DryRun,
		})
	}
}

// round ends what is written of a round: with the round itself, a dump when one is
// due, and a note when writing failed.
func (t *tracer) round(p *Policy, r scheduler.Round, d *scheduler.Decisions) {
	if t == nil {
		return
	}
	now := p.view.Now()
	t.write(&record{At: now, Event: "round", Round: r.Number, Events: len(r.Events), Launches: len(d.Launch)})
	if crossed(t.dumped, now, p.config.DumpEvery) {
		t.dumped = now
		t.dump(p)
	}
	if t.err == nil {
		t.flush()
	}
	if t.err != nil && !t.told {
		t.told = true
		d.Notes = append(d.Notes, scheduler.Note{Name: "fair/trace", Body: fmt.Appendf(nil, "the trace ends here: %v", t.err)})
	}
}

// dump writes every pool, and every job that has waited for locality.
func (t *tracer) dump(p *Policy) {
	for _, n := range p.shares.Tree.Pools() {
		for _, k := range p.shares.World.Order {
			r := t.pool(p, "pool", p.shares.Pools[n.Path], k)
			t.write(&r)
		}
	}
	for _, id := range p.placement.Waits() {
		j := p.shares.Jobs[id]
		t.write(&record{
			At: p.view.Now(), Event: "waiting", Job: id.String(), Pool: j.Pool.Spec.Path,
			Locality: j.Wait.Allowed(p.view.Now(), p.placement.Limits).String(), Waited: j.Wait.Total(p.view.Now()).String(),
		})
	}
}

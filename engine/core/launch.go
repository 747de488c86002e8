package core

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/capacity"
	"github.com/hamadryad/hamadryad/engine/core/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/sorted"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// launch starts a whole bundle, or refuses to.
func (c *Core) launch(d scheduler.Launch) ([]scheduler.AttemptID, scheduler.RefusalReason, string) {
	b := c.bundles.Get(d.Bundle)
	if b == nil {
		return nil, scheduler.UnknownID, fmt.Sprintf("bundle %d is not there", d.Bundle)
	}
	speculative := b.phase == bundleRunning && b.twice != 0
	if b.phase != bundleReady && !speculative {
		return nil, scheduler.NotReady, fmt.Sprintf("bundle %d of %s is %s", b.id, b.job.id, b.phase)
	}
	if b.job.phase == jobEnding {
		return nil, scheduler.NotReady, fmt.Sprintf("%s of bundle %d ends", b.job.id, b.id)
	}
	if speculative && (b.runs[0].granted || b.runs[0].stopped != 0) {
		return nil, scheduler.NotReady, fmt.Sprintf("bundle %d of %s commits, or is being stopped", b.id, b.job.id)
	}
	if len(d.Launchers) != b.Width() {
		return nil, scheduler.WrongShape, fmt.Sprintf("bundle %d of %s has %d groups and %d launchers were named", b.id, b.job.id, b.Width(), len(d.Launchers))
	}
	where, rooms := c.where[:0], c.rooms[:0]
	for _, id := range d.Launchers {
		l := c.launchers.Get(id)
		if l == nil {
			return nil, scheduler.UnknownID, fmt.Sprintf("launcher %d is not there", id)
		}
		if why := b.unavailable(&l.Launcher); why != "" {
			return nil, scheduler.LauncherUnavailable, fmt.Sprintf("launcher %d (%s) %s", id, l.Name, why)
		}
		where, rooms = append(where, l), append(rooms, &l.Launcher)
	}
	c.where, c.rooms = where, rooms
	if why := c.capacity.Take(b, rooms); why != "" {
		return nil, scheduler.NoCapacity, why
	}
	return c.startRun(b, where, speculative), scheduler.NotRefused, ""
}

// startRun makes the attempts of a bundle whose capacity is taken.
func (c *Core) startRun(b *bundle, where []*launcher, speculative bool) []scheduler.AttemptID {
	r, ids := newRun(b, where)
	r.speculative, r.launched = speculative, c.step.Now
	if speculative {
		b.setTwice(0)
		c.step.Stats.Speculative++
	} else {
		b.job.unlinkReady(b)
		b.enter(bundleRunning)
	}
	if b.preempted {
		c.protect(b)
	}
	b.runs = append(b.runs, r)
	b.job.lastLaunch = c.step.Now
	for i, a := range r.attempts {
		c.ids.Attempt++
		a.id = scheduler.AttemptID(c.ids.Attempt)
		a.Demand = b.Demand(i)
		a.locate()
		ids[i] = a.id
		c.addAttempt(a)
		b.job.ranOn = sorted.Add(b.job.ranOn, a.launcher.ID)
	}
	r.id = uint64(ids[0])
	if b.plain() {
		c.sendLater(r.attempts[0])
	} else {
		for _, a := range r.attempts {
			c.sendStart(a)
		}
	}
	c.watchStragglers()
	c.capacity.ReleaseFor(b, b.job.ready.count)
	c.touch(b.job)
	return ids
}

// newRun makes a bundle attempt and the attempts of its groups, which have no ids
// yet, and room for those. What starts together is one piece of memory: most
// bundles are one group, and thousands start in a second.
func newRun(b *bundle, where []*launcher) (*run, []scheduler.AttemptID) {
	if len(where) == 1 {
		var one struct {
			run      run
			attempt  attempt
			attempts [1]*attempt
			ids      [1]scheduler.AttemptID
		}
		one.attempt = attempt{run: &one.run, launcher: where[0], Holding: capacity.Holding{HasSlots: true}}
		one.attempts[0] = &one.attempt
		one.run = run{bundle: b, live: 1, attempts: one.attempts[:], commits: make([]*commit, 1)}
		return &one.run, one.ids[:]
	}
	n := len(where)
	r := &run{bundle: b, live: n, attempts: make([]*attempt, n), commits: make([]*commit, n)}
	for i, l := range where {
		r.attempts[i] = &attempt{run: r, group: i, launcher: l, Holding: capacity.Holding{HasSlots: true}}
	}
	return r, make([]scheduler.AttemptID, n)
}

// locate notes of an attempt where its group stands in the plan.
func (a *attempt) locate() {
	b := a.run.bundle
	a.stage = int32(b.stageOf(a.group))
	switch {
	case b.single:
		a.index = b.first
	case !b.last():
		a.index = int32(b.job.plan.Node(b.nodes(a.group)[0]).Index)
	}
}

// token makes the secret of a bundle attempt's data connections: all who share
// the bundle attempt, or read what it stored, are told it.
func (c *Core) token(run uint64) []byte {
	var room [128]byte
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64(append(room[:0], c.step.Set.TokenSeed...), run))
	return bytes.Clone(sum[:tokenBytes])
}

// tokenBytes is the length of a token: 128 bits can't be guessed.
const tokenBytes = 16

// sendStart tells a launcher to run an attempt.
func (c *Core) sendStart(a *attempt) {
	c.unconfirmed(a)
	c.command(a.launcher, c.startCommand(a))
}

// plain says whether nothing that may still happen in the step can change what the
// start commands of a bundle say: it is one group and reads no file channel.
func (b *bundle) plain() bool { return b.single && !b.wired && !b.job.inputs.Some() }

// sendLater is sendStart for a plain bundle: the command is written when the step's
// round is on its way to the policy, which need not wait for it.
func (c *Core) sendLater(a *attempt) {
	c.unconfirmed(a)
	c.step.ActLater(step.Todo{Later: a, Incarnation: a.launcher.incarnation})
}

// startCommand is the command to run an attempt.
func (c *Core) startCommand(a *attempt) *wire.Command {
	b, j := a.run.bundle, a.run.bundle.job
	var whole struct { // one piece of memory for all of the message
		command wire.Command
		do      wire.Command_Start
		start   wire.StartAttempt
		ref     wire.NodeRef // of a group of one node, as most are
		refs    [1]*wire.NodeRef
	}
	if a.run.token == nil {
		a.run.token = c.token(a.run.id)
	}
	m := &whole.start
	whole.do.Start, whole.command.Do = m, &whole.do
	m.Attempt, m.Job, m.Bundle, m.BundleAttempt, m.Token = uint64(a.id), uint64(j.id), uint64(b.id), a.run.id, a.run.token
	m.Kind, m.Slots, m.Memory = a.Kind, uint32(a.Slots), a.Memory
	m.Program, m.Plan, m.Fingerprint, m.JobName = j.spec.Program, j.spec.Plan, j.spec.Fingerprint, j.spec.Name
	m.User, m.Speculative = j.spec.GetPrincipal().GetName(), a.run.speculative
	if b.last() {
		m.SourcesComplete = true
		m.Finish = &wire.Finish{
			Publish: j.phase == jobPublishing, Outputs: j.spec.Outputs, Keep: j.keep, Granted: j.intent || j.outlived, Mark: c.mark(j.id),
		}
		m.Finish.Files, m.Finish.FilesTotal = c.filesFrom(j, 0), j.filesTotal()
	} else {
		if b.single {
			whole.ref.Stage, whole.ref.Index = uint32(b.stage), uint32(b.first)
			whole.refs[0] = &whole.ref
			m.Nodes = whole.refs[:]
		} else {
			m.Nodes = j.refs(b.nodes(a.group))
		}
		m.WaitForPeers = b.wired
		m.Sources = c.sourcesOf(a) // each time: outputs are lost while the command is
		m.SourcesComplete = a.reads.Misses() == 0
	}
	return &whole.command
}

func (j *job) refs(nodes []int32) []*wire.NodeRef {
	refs := make([]*wire.NodeRef, len(nodes))
	for i, x := range nodes {
		n := j.plan.Node(x)
		refs[i] = &wire.NodeRef{Stage: uint32(n.Stage), Index: uint32(n.Index)}
	}
	return refs
}

// mark is what no other job of any cluster has: who publishes knows by it what it
// published before. It tells nothing of the seed.
func (c *Core) mark(id scheduler.JobID) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "mark %s %s", id, c.step.Set.TokenSeed))
	return hex.EncodeToString(sum[:tokenBytes])
}

// sendPeers tells all of a bundle attempt where the others listen, once all do.
func (c *Core) sendPeers(r *run) {
	if !r.bundle.wired {
		return
	}
	for _, a := range r.attempts {
		if a.phase == attemptAssigned {
			return
		}
	}
	r.peersSent = true
	for _, a := range r.attempts {
		c.sendPeersTo(a)
	}
}

func (c *Core) sendPeersTo(a *attempt) {
	if a.phase == attemptEnded {
		return
	}
	m := &wire.Peers{Attempt: uint64(a.id)}
	for _, p := range a.run.attempts {
		m.Peers = append(m.Peers, &wire.Peer{
			Attempt: uint64(p.id), Address: p.address, Nodes: p.run.bundle.job.refs(p.run.bundle.nodes(p.group)),
		})
	}
	c.command(a.launcher, &wire.Command{Do: &wire.Command_Peers{Peers: m}})
}

package core

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// launch starts a whole bundle, or refuses to.
func (c *Core) launch(d scheduler.Launch) ([]scheduler.AttemptID, scheduler.RefusalReason, string) {
	b := c.bundles[d.Bundle]
	if b == nil {
		return nil, scheduler.UnknownID, fmt.Sprintf("bundle %d is not there", d.Bundle)
	}
	twin := b.phase == bundleRunning && b.twice != 0
	if b.phase != bundleReady && !twin {
		return nil, scheduler.NotReady, fmt.Sprintf("bundle %d of %s is %s", b.id, b.job.id, b.phase)
	}
	if twin && (b.runs[0].granted || b.runs[0].stopped != 0) {
		return nil, scheduler.NotReady, fmt.Sprintf("bundle %d of %s commits, or is being stopped", b.id, b.job.id)
	}
	if len(d.Launchers) != b.width() {
		return nil, scheduler.WrongShape, fmt.Sprintf("bundle %d of %s has %d groups and %d launchers were named", b.id, b.job.id, b.width(), len(d.Launchers))
	}
	where := make([]*launcher, len(d.Launchers))
	for i, id := range d.Launchers {
		where[i] = c.launchers.get(id)
		if where[i] == nil {
			return nil, scheduler.UnknownID, fmt.Sprintf("launcher %d is not there", id)
		}
		if why := c.unavailable(b, where[i]); why != "" {
			return nil, scheduler.LauncherUnavailable, fmt.Sprintf("launcher %d (%s) %s", id, where[i].name, why)
		}
	}
	if why := c.take(b, where); why != "" {
		return nil, scheduler.NoCapacity, why
	}
	return c.startRun(b, where, twin), scheduler.NotRefused, ""
}

// unavailable says why a bundle may not run on a launcher; "" when it may.
func (c *Core) unavailable(b *bundle, l *launcher) string {
	switch {
	case !l.up:
		return "is lost"
	case l.draining:
		return "is draining"
	case l.blamed:
		return "failed for several jobs and is avoided for a while"
	case inSorted(b.job.avoid, l.id):
		return fmt.Sprintf("failed too often for %s", b.job.id)
	case slices.Contains(b.avoid, l.id):
		return fmt.Sprintf("failed for bundle %d", b.id)
	}
	for _, r := range b.runs {
		for _, a := range r.attempts {
			if a.launcher == l {
				return "runs the attempt that this one is to overtake"
			}
		}
	}
	return ""
}

// startRun makes the attempts of a bundle whose capacity is taken.
func (c *Core) startRun(b *bundle, where []*launcher, twin bool) []scheduler.AttemptID {
	r := &run{bundle: b, speculative: twin, launched: c.now, live: len(where), commits: make([]*commit, len(where))}
	if twin {
		b.twice = 0
		c.stats.Speculative++
	} else {
		b.job.unlinkReady(b)
		b.phase = bundleRunning
	}
	if b.preempted {
		b.protected = c.now.Add(c.set.ProtectFor)
	}
	b.runs = append(b.runs, r)
	b.job.lastLaunch = c.now
	ids := make([]scheduler.AttemptID, len(where))
	for i, l := range where {
		c.ids.attempt++
		a := &attempt{id: scheduler.AttemptID(c.ids.attempt), run: r, group: i, launcher: l, holds: true}
		_, a.kind, a.slots, a.memory = b.demand(i)
		r.attempts = append(r.attempts, a)
		ids[i] = a.id
		c.attempts[a.id], b.job.attempts[a.id], l.attempts[a.id] = a, a, a
		b.job.ranOn = addSorted(b.job.ranOn, l.id)
	}
	r.id = uint64(ids[0])
	r.token = c.token(r.id)
	for _, a := range r.attempts {
		c.sendStart(a)
	}
	c.watchStragglers()
	c.releaseClaimsOf(b)
	c.touch(b.job)
	return ids
}

// token makes the secret of a bundle attempt's data connections: all who share
// the bundle attempt, or read what it stored, are told it.
func (c *Core) token(run uint64) []byte {
	h := sha256.New()
	h.Write([]byte(c.set.TokenSeed))
	h.Write(binary.LittleEndian.AppendUint64(nil, run))
	return h.Sum(nil)[:tokenBytes]
}

// tokenBytes is the length of a token: 128 bits can't be guessed.
const tokenBytes = 16

// sendStart tells a launcher to run an attempt.
func (c *Core) sendStart(a *attempt) {
	b, j := a.run.bundle, a.run.bundle.job
	m := &wire.StartAttempt{
		Attempt: uint64(a.id), Job: uint64(j.id), Bundle: uint64(b.id), BundleAttempt: a.run.id, Token: a.run.token,
		Kind: a.kind, Slots: uint32(a.slots), Memory: a.memory,
		Program: j.spec.Program, Plan: j.spec.Plan, Fingerprint: j.spec.Fingerprint, JobName: j.spec.Name,
		User: j.spec.GetPrincipal().GetName(), Speculative: a.run.speculative,
	}
	if b.last() {
		m.SourcesComplete = true
		m.Finish = &wire.Finish{Publish: j.phase == jobPublishing, Outputs: j.spec.Outputs, Files: j.files()}
	} else {
		c.findMissing(a) // each time: outputs are lost while the command is
		m.Nodes = j.refs(b.nodes(a.group))
		m.WaitForPeers = j.plan.Bundles[b.index].TCP
		m.Sources = c.sourcesOf(a)
		m.SourcesComplete = a.misses == 0
	}
	c.unconfirmed(a)
	c.command(a.launcher, &wire.Command{Do: &wire.Command_Start{Start: m}})
}

func (j *job) refs(nodes []int32) []*wire.NodeRef {
	refs := make([]*wire.NodeRef, len(nodes))
	for i, x := range nodes {
		n := j.plan.Node(x)
		refs[i] = &wire.NodeRef{Stage: uint32(n.Stage), Index: uint32(n.Index)}
	}
	return refs
}

// files lists what the job's accepted attempts wrote into its outputs, when they
// are to be published.
func (j *job) files() []*wire.CommittedFile {
	if j.phase != jobPublishing {
		return nil
	}
	var files []*wire.CommittedFile
	for i := range j.plan.Bundles {
		for _, k := range j.bundles[i].kept {
			files = append(files, k.report.Files...)
		}
	}
	return files
}

// String names a bundle's phase.
func (p bundlePhase) String() string {
	return [...]string{"waiting for its inputs", "ready", "running", "finished"}[p]
}

// sendPeers tells all of a bundle attempt where the others listen, once all do.
func (c *Core) sendPeers(r *run) {
	if !r.bundle.tcp() {
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

func (b *bundle) tcp() bool { return !b.last() && b.job.plan.Bundles[b.index].TCP }

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

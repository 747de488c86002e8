package outbound

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// SendStart sends a launcher the command to run an attempt.
func (dp *Dispatcher) SendStart(a *state.Attempt) {
	dp.unconfirmed(a)
	dp.Command(a.Launcher, dp.StartCommand(a))
}

// SendStartDeferred is SendStart for a bundle whose start is final. The command is written after
// the step's round was sent to the policy, which need not wait for it.
func (dp *Dispatcher) SendStartDeferred(a *state.Attempt) {
	dp.unconfirmed(a)
	dp.step.EmitDeferred(step.Effect{Deferred: a, Incarnation: a.Launcher.Incarnation()})
}

// StartCommand returns the command to run an attempt.
func (dp *Dispatcher) StartCommand(a *state.Attempt) *wire.Command {
	b, j := a.BundleAttempt.Bundle, a.BundleAttempt.Bundle.Job
	var whole struct { // one allocation for the whole message
		command wire.Command
		do      wire.Command_Start
		start   wire.StartAttempt
		ref     wire.NodeRef // for a group of one node, which most are
		refs    [1]*wire.NodeRef
	}
	m := &whole.start
	whole.do.Start, whole.command.Do = m, &whole.do
	m.Attempt, m.Job, m.Bundle, m.BundleAttempt, m.Token = uint64(a.ID), uint64(j.ID), uint64(b.ID()), a.BundleAttempt.ID, dp.state.Tokens.Of(a.BundleAttempt)
	m.Kind, m.Slots, m.Memory = a.Kind, uint32(a.Slots), a.Memory
	m.Resources = wire.ResourceCounts(a.Resources)
	m.Program, m.Plan, m.Fingerprint, m.JobName = j.Spec.Program, j.Spec.Plan, j.Spec.Fingerprint, j.Spec.Name
	m.Ahead, m.Stage = a.HeldAhead(), uint32(a.Stage)
	m.User, m.Speculative = j.Spec.GetPrincipal().GetName(), a.BundleAttempt.Speculative()
	m.Folders = j.Spec.Folders
	if b.Last() {
		m.SourcesComplete, m.Slots, m.Memory = true, lastSlots, j.LastMemory()
		m.Finish = &wire.Finish{
			Publish: j.Phase() == state.JobPublishing, Outputs: j.Spec.Outputs, Keep: j.OutputCommit.Keeps(), Granted: j.OutputCommit.MayBeThere(), Mark: dp.mark(j.ID),
			Incomplete: j.ElementsFailure() != nil,
		}
		m.Finish.Files, m.Finish.FilesTotal = dp.state.FilesFrom(j, 0), j.FilesTotal()
	} else {
		if b.SingleNode() {
			whole.ref.Stage, whole.ref.Index = uint32(b.Stage), uint32(b.First)
			whole.refs[0] = &whole.ref
			m.Nodes = whole.refs[:]
		} else {
			m.Nodes = j.Refs(b.Nodes(a.Group))
		}
		m.WaitForPeers = b.HasTCP()
		m.Portion = portionFor(b)
		m.InputCounts = b.Job.Inputs.Counts(b.NodesWithFiles(a.Group))
		m.Sources = dp.sourcesOf(a) // on each resend: outputs may have been lost since
		m.SourcesComplete = a.Reads.Misses() == 0
	}
	return &whole.command
}

// portionFor is what the only node of a bundle reads of its adapted connection; nil: it reads none.
func portionFor(b *state.Bundle) *wire.Portion {
	conn, is := b.Job.Inputs.Files.Adapted(int(b.Stage))
	if !is {
		return nil
	}
	x, _ := b.Job.Inputs.PortionOf(conn, int(b.First))
	return &wire.Portion{Connection: uint32(conn), Low: uint32(x.Low), High: uint32(x.High), First: uint32(x.First), End: uint32(x.End)}
}

// lastSlots is the share of a launcher's processors for a publishing or cleaning group.
const lastSlots = 1

// mark identifies a job among those of all clusters. A publisher recognises its earlier output by
// this mark.
func (dp *Dispatcher) mark(id scheduler.JobID) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "mark %s %s", id, dp.step.Set.Cluster()))
	return hex.EncodeToString(sum[:markBytes])
}

// markBytes is the length of a mark: 128 bits of a hash do not collide.
const markBytes = 16

// SendPeers sends all attempts of a bundle attempt the others' addresses, once all are known.
func (dp *Dispatcher) SendPeers(r *state.BundleAttempt) {
	if !r.Bundle.HasTCP() || r.Stopped() != 0 { // a bundle attempt that is being stopped may lack addresses, and needs none
		return
	}
	for _, a := range r.Attempts {
		if a.Phase() == phase.Assigned {
			return
		}
	}
	r.MarkPeersSent()
	for _, a := range r.Attempts {
		dp.SendPeersTo(a)
	}
}

// SendPeersTo sends an attempt the addresses of the others of its bundle.
func (dp *Dispatcher) SendPeersTo(a *state.Attempt) {
	if a.Phase() == phase.Ended {
		return
	}
	m := &wire.Peers{Attempt: uint64(a.ID)}
	for _, p := range a.BundleAttempt.Attempts {
		m.Peers = append(m.Peers, &wire.Peer{
			Attempt: uint64(p.ID), Address: p.Address(), Nodes: p.BundleAttempt.Bundle.Job.Refs(p.BundleAttempt.Bundle.Nodes(p.Group)), LauncherName: p.Launcher.Name,
		})
	}
	dp.Command(a.Launcher, &wire.Command{Do: &wire.Command_Peers{Peers: m}})
}

package simulator

import (
	"math"
	"time"

	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// task is an attempt at a fake launcher.
type task struct {
	f         *fake
	m         *wire.StartAttempt
	started   bool
	peered    bool
	executing bool
	suspended bool
	asked     bool // for its commit
	granted   bool
	dead      bool                       // with its launcher's life
	sources   map[[2]uint32]*wire.Source // as told
	read      map[[2]uint32]uint64       // by which attempt's output
	files     []*wire.CommittedFile      // of a last group, as told
	lost      []*wire.InputLost          // told and not replaced yet
	parked    []func()                   // what is to go on when it is resumed
	ended     *wire.AttemptEnded
}

func (t *task) inventory() wire.AttemptInventory_State {
	switch {
	case t.ended != nil:
		return wire.AttemptInventory_STATE_ENDED
	case t.suspended:
		return wire.AttemptInventory_STATE_SUSPENDED
	}
	return wire.AttemptInventory_STATE_RUNNING
}

// later has the attempt do something after a while, unless it ended or its life
// did. A suspended one does it when it is resumed.
func (t *task) later(d time.Duration, do func()) {
	var run func()
	run = func() {
		switch {
		case t.dead || t.ended != nil:
		case t.f.isFrozen(run):
		case t.suspended:
			t.parked = append(t.parked, run)
		default:
			do()
		}
	}
	t.f.s.After(max(d, 1)*time.Duration(t.f.slow), run)
}

func (t *task) gone() { t.dead = true }

// begin tells of the start and looks whether it can go on.
func (t *task) begin() {
	t.started = true
	t.tellStarted()
	t.askFiles()
	t.goOn()
}

func (t *task) tellStarted() {
	t.f.tell(&wire.Report{What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: t.m.Attempt, Address: t.f.name + ":3"}}})
}

// reportAgain tells all that may not have arrived.
func (t *task) reportAgain() {
	switch {
	case t.ended != nil:
		t.f.tell(&wire.Report{What: &wire.Report_Ended{Ended: t.ended}})
		return
	case t.started:
		t.tellStarted()
	}
	for _, l := range t.lost {
		t.f.tell(&wire.Report{What: &wire.Report_InputLost{InputLost: l}})
	}
	t.askFiles()
	if t.asked && !t.granted {
		t.f.tell(&wire.Report{What: &wire.Report_Commit{Commit: t.m.Attempt}})
	}
}

// insist reports again and again until it is answered.
func (t *task) insist() {
	var again func()
	again = func() {
		if !t.dead && t.f.tasks[t.m.Attempt] == t && (t.ended != nil || len(t.lost) > 0 || t.asked && !t.granted) {
			if !t.f.isFrozen(again) {
				t.reportAgain()
				t.f.s.After(reportAgain, again)
			}
		}
	}
	t.f.s.After(reportAgain, again)
}

func (t *task) peers(m *wire.Peers) {
	if job := t.f.s.byJob[t.m.Job]; job.plan != nil {
		want := len(job.plan.Bundles[job.bundleOf(t)].Groups)
		if len(m.Peers) != want {
			t.f.s.fail("attempt %d is told of %d peers, and its bundle has %d groups", t.m.Attempt, len(m.Peers), want)
		}
	}
	for _, p := range m.Peers {
		if p.Address == "" && t.f.s.calm {
			t.f.s.fail("attempt %d is told of a peer %d without an address", t.m.Attempt, p.Attempt)
		}
	}
	if !t.peered {
		t.peered = true
		t.goOn()
	}
}

func (t *task) keepSources(list []*wire.Source) {
	for _, s := range list {
		key := [2]uint32{s.Connection, s.From}
		if old, ok := t.read[key]; ok {
			if old != s.Attempt {
				t.readInPart()
			}
			continue
		}
		t.sources[key] = s
		kept := t.lost[:0]
		for _, l := range t.lost {
			if l.Connection != s.Connection || l.From != s.From {
				kept = append(kept, l)
			}
		}
		t.lost = kept
	}
}

func (t *task) moreSources(m *wire.SourcesUpdate) {
	t.keepSources(m.Sources)
	if m.Confirm != 0 {
		t.f.s.Seen["updates that ask to be confirmed"]++
		t.later(t.f.s.upTo(100*time.Millisecond), func() {
			t.f.tell(&wire.Report{What: &wire.Report_SourcesTaken{SourcesTaken: &wire.SourcesTaken{Attempt: t.m.Attempt, Confirm: m.Confirm}}})
		})
	}
	t.goOn()
}

// moreFiles takes in files for a last group.
func (t *task) moreFiles(m *wire.FilesUpdate) {
	if m.From != uint64(len(t.files)) {
		return // it came before
	}
	t.files = append(t.files, m.Files...)
	t.f.s.Seen["further files"]++
	t.askFiles()
	t.goOn()
}

// askFiles asks for the files of a last group that it lacks.
func (t *task) askFiles() {
	if t.lacksFiles() {
		t.f.tell(&wire.Report{What: &wire.Report_FilesWanted{FilesWanted: &wire.FilesWanted{Attempt: t.m.Attempt, From: uint64(len(t.files))}}})
	}
}

func (t *task) lacksFiles() bool { return uint64(len(t.files)) < t.m.GetFinish().GetFilesTotal() }

// goOn reads what there is to read; when it has all, it executes.
func (t *task) goOn() {
	if !t.started || t.executing || t.m.WaitForPeers && !t.peered || t.lacksFiles() {
		return
	}
	missing := false
	for _, key := range t.f.s.byJob[t.m.Job].inputs(t.m) {
		if _, ok := t.read[key]; ok {
			continue
		}
		s := t.sources[key]
		switch {
		case s == nil:
			missing = true
		case t.f.s.readable(t, s):
			t.read[key] = s.Attempt
		default:
			missing = true
			delete(t.sources, key)
			t.tellLost(s)
		}
	}
	if missing {
		return
	}
	t.executing = true
	t.f.tell(&wire.Report{What: &wire.Report_Phase{Phase: &wire.AttemptPhase{Attempt: t.m.Attempt, Executing: true}}})
	t.later(t.f.s.workTime(t), t.finish)
	t.later(t.f.s.between(time.Second, 10*time.Second), t.tellProgress)
}

// readInPart is told that what it reads was made again. It goes on, unless it was
// in the middle.
func (t *task) readInPart() {
	t.f.s.Seen["sources replaced after reading"]++
	if t.executing && t.f.s.chance(100) {
		t.later(1, func() { t.fail(wire.ErrorKind_ERROR_KIND_LOST, "what it reads was replaced when it had read a part") })
	}
}

// tellProgress says how far it is, now and then nonsense.
func (t *task) tellProgress() {
	m := &wire.AttemptProgress{Attempt: t.m.Attempt, Progress: t.f.s.rand.Float64() * 1.1, Work: &wire.Work{Read: []int64{1}}}
	if t.f.s.chance(20) {
		m.Progress = math.NaN()
	}
	t.f.tell(&wire.Report{What: &wire.Report_Progress{Progress: m}})
	t.later(t.f.s.between(2*time.Second, 10*time.Second), t.tellProgress)
}

func (t *task) tellLost(s *wire.Source) {
	t.f.s.Seen["inputs lost"]++
	l := &wire.InputLost{Attempt: t.m.Attempt, Connection: s.Connection, From: s.From, Producer: s.Attempt, Reason: "can't be read"}
	t.lost = append(t.lost, l)
	// A worker tries for a while before it says so.
	t.later(t.f.s.upTo(3*time.Second)+1, func() {
		t.f.tell(&wire.Report{What: &wire.Report_InputLost{InputLost: l}})
		t.insist()
	})
}

// readable says whether a stored output can be read now.
func (s *Sim) readable(t *task, src *wire.Source) bool {
	j := s.byJob[t.m.Job]
	if c := j.spec.Graph.Connections[src.Connection]; c.Store != "" {
		return true
	}
	for _, f := range s.launchers {
		if uint64(f.id) == src.Launcher && f.alive && s.Now() >= f.frozen {
			o := f.stored[src.Attempt]
			return o != nil && !o.damaged && o.files[[2]uint32{src.Connection, src.From}]
		}
	}
	return false
}

// inputs lists what an attempt has to read, each once, by the graph and not by
// what it is told.
func (j *fakeJob) inputs(m *wire.StartAttempt) (keys [][2]uint32) {
	if m.Finish != nil {
		return nil
	}
	seen := map[[2]uint32]bool{}
	for _, n := range m.Nodes {
		for c, conn := range j.plan.Graph.Connections {
			if conn.ToStage == n.Stage && conn.Kind == wire.ChannelKind_CHANNEL_KIND_FILE {
				r, list := j.plan.Writers(c, int(n.Index))
				graph.Each(r, list, func(i int) {
					if k := [2]uint32{uint32(c), uint32(i)}; !seen[k] {
						seen[k] = true
						keys = append(keys, k)
					}
				})
			}
		}
	}
	return keys
}

func (t *task) suspend() {
	if !t.suspended {
		t.suspended = true
	}
	t.f.tell(&wire.Report{What: &wire.Report_Suspended{Suspended: t.m.Attempt}})
}

func (t *task) resume() {
	if t.suspended {
		t.suspended = false
		parked := t.parked
		t.parked = nil
		for _, do := range parked {
			t.f.s.After(1, do)
		}
	}
	t.f.tell(&wire.Report{What: &wire.Report_Resumed{Resumed: t.m.Attempt}})
}

// finish ends the attempt as its job's plan has it.
func (t *task) finish() {
	s := t.f.s
	j := s.byJob[t.m.Job]
	switch {
	case (j.asksCommit || t.m.Finish != nil) && !t.granted:
		if !t.asked {
			t.asked = true
			t.f.tell(&wire.Report{What: &wire.Report_Commit{Commit: t.m.Attempt}})
			t.insist()
		}
		return
	case t.f.full && s.chance(700):
		s.Seen["full disks"]++
		t.fail(wire.ErrorKind_ERROR_KIND_RESOURCE, "no space left on device")
		return
	case t.brokenPeer():
		s.Seen["broken peers"]++
		t.fail(wire.ErrorKind_ERROR_KIND_LOST, "a peer went away")
		return
	}
	if kind, why := s.fate(t); why != "" {
		t.fail(kind, why)
		return
	}
	if t.m.Finish != nil {
		why, found, more := s.storage.finish(t)
		if why != "" {
			t.fail(wire.ErrorKind_ERROR_KIND_OUTPUT, why)
			return
		}
		if more {
			t.later(s.upTo(2*time.Second), t.finish)
			return
		}
		if s.err == nil && !s.calm && s.chance(200) {
			t.f.crash() // after the rename, before it is told
			return
		}
		t.end(&wire.AttemptEnded{End: wire.End_END_FINISHED, Published: found})
		return
	}
	t.end(t.product(j))
}

// verdict is the manager's word on a commit.
func (t *task) verdict(granted bool) {
	switch {
	case !t.asked || t.granted:
	case granted:
		t.granted = true
		if f := t.m.Finish; f != nil && f.Publish && t.f.s.err == nil && !t.f.s.calm && t.f.s.chance(150) {
			t.f.s.Seen["killed while publishing"]++
			t.later(t.f.s.upTo(4*time.Second), func() { t.f.s.killJob(t.f.s.byJob[t.m.Job]) })
		}
		t.later(t.f.s.upTo(200*time.Millisecond), t.finish)
	default:
		t.f.s.Seen["refused commits"]++
		t.fail(wire.ErrorKind_ERROR_KIND_LOST, "the commit was refused")
	}
}

// brokenPeer says whether some other group of the bundle attempt is gone.
func (t *task) brokenPeer() bool {
	if !t.m.WaitForPeers {
		return false
	}
	j := t.f.s.byJob[t.m.Job]
	for _, a := range j.gang[t.m.BundleAttempt] {
		if a.dead || a.ended != nil && a.ended.End != wire.End_END_FINISHED {
			return true
		}
	}
	return false
}

func (t *task) fail(kind wire.ErrorKind, why string) {
	t.end(&wire.AttemptEnded{End: wire.End_END_FAILED, Failure: &wire.Failure{Kind: kind, Message: why}})
}

func (t *task) end(e *wire.AttemptEnded) {
	if t.ended != nil || t.dead {
		return
	}
	e.Attempt = t.m.Attempt
	t.ended = e
	t.f.s.Seen["end "+e.End.String()]++
	t.reportAgain()
	t.insist()
}

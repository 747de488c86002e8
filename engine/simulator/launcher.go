package simulator

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Times of the fake launchers and of the manager's watch over them.
const (
	lease         = 8 * time.Second
	lostAfter     = 15 * time.Second
	latencyUsual  = 4 * time.Millisecond
	latencySlow   = 900 * time.Millisecond
	reportAgain   = 2 * time.Second
	refusedRedial = 50 * time.Millisecond
)

// fake is a launcher: a machine's state, and a connection that breaks.
type fake struct {
	s           *Sim
	name        string
	host, rack  string
	slots       []*wire.Slots
	memory      int64
	canSuspend  bool
	incarnation uint64
	id          scheduler.LauncherID

	alive       bool
	frozen      scheduler.Time // until then it does nothing
	full        bool           // its disk
	slow        int64          // how many times longer work takes
	latency     time.Duration  // of messages, at most
	deaf        bool           // to commands that it should confirm
	connected   bool           // the manager's stream is open, from here
	welcomed    bool
	session     uint64 // counts connections; what was sent on an old one is lost
	out, in     scheduler.Time
	lastContact scheduler.Time

	tasks   map[uint64]*task
	stored  map[uint64]*storedOutput
	refused map[uint64]bool // attempts it would not start
	begun   map[uint64]bool // attempts it did start, in this life
	warm    map[uint64]bool // jobs of which it may have workers or files
	dropped map[uint64]bool // jobs that it was told are over
	seen    uint64          // the last attempt that it was told to start
	heardIn uint64          // the last term that welcomed it
	extra   bool            // not one of the first two, which always come back as they were
	left    bool            // for ever
}

type storedOutput struct {
	job     uint64
	files   map[[2]uint32]bool // connection, from
	damaged bool
}

func (s *Sim) makeLaunchers() {
	n := 2 + s.rand.IntN(5)
	for i := range n {
		f := &fake{
			s: s, name: fmt.Sprint("l", i), host: fmt.Sprint("h", i), rack: fmt.Sprint("r", i%2), alive: true, slow: 1,
			memory: 4 << 30, canSuspend: s.chance(800), stored: map[uint64]*storedOutput{},
		}
		f.forgetAll()
		f.latency = latencyUsual
		if s.chance(200) {
			f.latency = latencySlow
		}
		f.slots = []*wire.Slots{{Kind: "default", Count: uint32(1 + s.rand.IntN(4))}}
		if i == 0 {
			f.slots[0].Count = 4 // so that every gang has room when all are there
		}
		if i < 2 || s.chance(500) {
			f.slots = append(f.slots, &wire.Slots{Kind: "other", Count: uint32(1 + s.rand.IntN(3))})
		}
		s.launchers = append(s.launchers, f)
		join := s.upTo(2 * time.Second)
		if f.extra = i >= 2; f.extra && s.chance(300) {
			join = s.upTo(faultsFor)
		}
		s.After(join, f.connect)
		s.After(join, f.tellLoad)
	}
}

// tellLoad says how busy the machine is, now and then nonsense or nothing. In calm
// times it is at rest, so that work which waits for that starts.
func (f *fake) tellLoad() {
	if f.s.over() || f.isFrozen(f.tellLoad) {
		return
	}
	part := func() *float64 {
		x := f.s.rand.Float64()
		switch {
		case f.s.calm:
			x /= 10
		case f.s.chance(100):
			return nil
		case f.s.chance(10):
			x = math.NaN()
		case f.s.chance(10):
			x++
		}
		return &x
	}
	f.tell(&wire.Report{What: &wire.Report_Load{Load: &wire.MachineLoad{Cpu: part(), Memory: part()}}})
	f.s.After(f.s.between(time.Second, 10*time.Second), f.tellLoad)
}

// leave takes a launcher away for ever.
func (f *fake) leave() {
	if f.extra && f.alive {
		f.s.Seen["launchers that left"]++
		f.crash()
		f.left, f.stored = true, map[uint64]*storedOutput{}
	}
}

// connect opens a stream and joins.
func (f *fake) connect() {
	if !f.alive || f.connected || f.isFrozen(f.connect) {
		return
	}
	if f.incarnation == 0 || f.lastContact != 0 && f.s.Now().Sub(f.lastContact) > lease {
		f.wipe()
	}
	f.session++
	f.connected, f.welcomed = true, false
	f.out, f.in, f.lastContact = f.s.Now(), f.s.Now(), f.s.Now()
	m := &wire.Join{
		Name: f.name, Incarnation: f.incarnation, Host: f.host, Rack: f.rack, Slots: f.slots, Memory: f.memory,
		DataAddress: f.name + ":1", HttpAddress: f.name + ":2", CanSuspend: f.canSuspend,
	}
	has := f.inventory()
	m.Attempts, m.Stored, m.Jobs, m.Seen, m.Term = has.Attempts, has.Stored, has.Jobs, f.seen, f.heardIn
	f.transmit(&wire.Input{What: &wire.Input_LauncherJoin{LauncherJoin: &wire.LauncherJoin{Join: m}}})
}

// inventory is what it has.
func (f *fake) inventory() *wire.Inventory {
	m := &wire.Inventory{}
	for _, id := range sorted(f.tasks) {
		m.Attempts = append(m.Attempts, &wire.AttemptInventory{Attempt: id, State: f.tasks[id].inventory()})
	}
	for _, id := range sorted(f.stored) {
		m.Stored = append(m.Stored, &wire.Stored{Job: f.stored[id].job, Attempt: id})
	}
	m.Jobs = sorted(f.warm)
	return m
}

// wipe begins a new life: nothing runs, and nothing is stored.
func (f *fake) wipe() {
	f.incarnation++
	f.s.Seen["incarnations"]++
	for _, id := range sorted(f.tasks) {
		f.tasks[id].gone()
	}
	f.forgetAll()
	f.stored = map[uint64]*storedOutput{}
	f.lastContact = 0
	if f.extra && f.s.chance(200) {
		f.slots = []*wire.Slots{{Kind: "default", Count: uint32(1 + f.s.rand.IntN(5))}}
	}
}

// forgetAll leaves nothing that a process knows.
func (f *fake) forgetAll() {
	f.tasks, f.refused, f.begun = map[uint64]*task{}, map[uint64]bool{}, map[uint64]bool{}
	f.warm, f.dropped, f.seen = map[uint64]bool{}, map[uint64]bool{}, 0
}

// disconnect breaks the stream; what is under way on it is lost.
func (f *fake) disconnect() {
	if !f.connected {
		return
	}
	f.connected, f.welcomed = false, false
	f.lastContact = f.s.Now()
	session, incarnation := f.session, f.incarnation
	f.session++
	f.s.Seen["broken streams"]++
	f.s.After(lostAfter, func() {
		if f.session == session+1 && !f.connected {
			f.s.lose(f, incarnation, "silent too long")
		}
	})
	if f.alive {
		f.s.After(f.s.between(10*time.Millisecond, lostAfter*3/2), f.connect)
	}
}

// lose tells the core that a launcher is gone.
func (s *Sim) lose(f *fake, incarnation uint64, reason string) {
	if f.id == 0 {
		return
	}
	s.Seen["lost launchers"]++
	s.Push(&wire.Input{What: &wire.Input_LauncherLost{LauncherLost: &wire.LauncherLost{Launcher: uint64(f.id), Incarnation: incarnation, Reason: reason}}})
}

// crash kills the launcher and its workers. A redial is refused, so the manager
// knows at once; when it comes back it may find its store.
func (f *fake) crash() {
	if !f.alive {
		return
	}
	f.s.Seen["crashes"]++
	kept := f.s.chance(400)
	known := f.s.chance(600)
	f.alive = false
	f.disconnect()
	incarnation := f.incarnation
	for _, id := range sorted(f.tasks) {
		f.tasks[id].gone()
	}
	f.forgetAll()
	f.incarnation++
	f.lastContact = 0
	if !kept {
		f.stored = map[uint64]*storedOutput{}
	}
	if known {
		f.s.After(refusedRedial, func() { f.s.lose(f, incarnation, "connection refused") })
	}
	f.s.After(f.s.between(100*time.Millisecond, 40*time.Second), f.revive)
}

func (f *fake) revive() {
	if f.left {
		return
	}
	f.alive = true
	f.connect()
}

// freeze stops the process, workers too, longer or shorter than the lease.
func (f *fake) freeze() {
	f.s.Seen["freezes"]++
	if f.s.chance(700) {
		f.frozen = f.s.Now().Add(f.s.between(time.Second, 3*lostAfter))
		f.disconnect()
	} else {
		f.frozen = f.s.Now().Add(f.s.between(time.Second, lease)) // not noticed
	}
	f.s.At(f.frozen+1, f.thaw)
}

// thaw goes on. What ended meanwhile is told before anybody notices that the
// lease is over: a late commit.
func (f *fake) thaw() {
	if !f.alive || f.isFrozen(f.thaw) {
		return
	}
	if f.lastContact == 0 || f.connected {
		return
	}
	for _, id := range sorted(f.tasks) {
		if t := f.tasks[id]; t.ended != nil {
			f.s.Seen["late reports"]++
			f.s.Push(f.report(&wire.Report{What: &wire.Report_Ended{Ended: t.ended}}))
		}
	}
	f.s.After(f.s.between(5*time.Millisecond, time.Second), f.connect)
}

// isFrozen puts off what a frozen launcher was to do.
func (f *fake) isFrozen(later func()) bool {
	if f.s.Now() < f.frozen {
		f.s.At(f.frozen+1, later)
		return true
	}
	return false
}

// transmit sends an input over the stream, in order; lost if the stream breaks
// before it arrives, unless it comes late over the next one.
func (f *fake) transmit(in *wire.Input) {
	if !f.connected {
		return
	}
	session := f.session
	f.out = max(f.out+1, f.s.Now().Add(f.s.upTo(f.latency)))
	late := !f.s.calm && f.s.chance(200)
	f.s.At(f.out, func() {
		switch {
		case f.session == session:
			f.s.Push(in)
			if in.GetReport() != nil && in.GetReport().Report.GetRefused() == nil && !f.s.calm && f.s.chance(20) {
				f.s.Seen["doubled reports"]++
				f.s.After(f.s.upTo(time.Second), func() { f.s.Push(in) })
			}
		case late && in.GetReport() != nil && in.GetReport().Report.GetRefused() == nil:
			f.s.Seen["reordered reports"]++
			f.s.After(f.s.upTo(30*time.Second), func() { f.s.Push(in) })
		}
	})
}

func (f *fake) report(r *wire.Report) *wire.Input {
	r.Incarnation = f.incarnation
	return &wire.Input{What: &wire.Input_Report{Report: &wire.LauncherReport{Launcher: uint64(f.id), Report: r}}}
}

// tell reports; it is lost when there is no stream.
func (f *fake) tell(r *wire.Report) {
	if !f.welcomed {
		return
	}
	if f.losable(r) && !f.s.calm && f.s.chance(20) {
		f.s.Seen["lost reports"]++
		return
	}
	f.transmit(f.report(r))
}

// losable reports may be lost on an open stream: the manager asks again.
func (f *fake) losable(r *wire.Report) bool {
	switch r.GetWhat().(type) {
	case *wire.Report_JobDropped, *wire.Report_Started, *wire.Report_Suspended, *wire.Report_Resumed, *wire.Report_Ended, *wire.Report_InputLost, *wire.Report_Commit:
		return true
	}
	return false
}

// welcome opens the stream from the manager's side, or refuses it.
func (s *Sim) welcome(w core.Welcome) {
	i := slices.IndexFunc(s.launchers, func(f *fake) bool { return f.name == w.Name })
	if i < 0 {
		return
	}
	f := s.launchers[i]
	if !f.connected || f.incarnation != w.Incarnation {
		return
	}
	if w.Refused != "" {
		s.Seen["refused joins"]++
		f.connected = false
		f.session++
		f.wipe()
		s.After(s.between(10*time.Millisecond, time.Second), f.connect)
		return
	}
	f.id, f.welcomed, f.heardIn = w.Launcher, true, w.Term
	s.byID[w.Launcher] = f
	for _, id := range sorted(f.tasks) {
		f.tasks[id].reportAgain()
	}
}

// deliver takes a command to its launcher.
func (s *Sim) deliver(a core.ToLauncher) {
	f := s.byID[a.Launcher] // nil when its welcome was lost with the manager
	if f == nil || !f.connected || !f.welcomed {
		return
	}
	if losableCommand(a.Command) && !s.calm && (f.deaf || s.chance(20)) {
		s.Seen["lost commands"]++
		return
	}
	session := f.session
	f.in = max(f.in+1, s.Now().Add(s.upTo(f.latency)))
	var arrive func()
	arrive = func() {
		if f.session != session || !f.alive || a.Command.Incarnation != f.incarnation || f.isFrozen(arrive) {
			return
		}
		f.command(a.Command)
	}
	s.At(f.in, arrive)
	if !s.calm && s.chance(20) {
		s.Seen["doubled commands"]++
		s.At(f.in+1, arrive)
	}
}

// losableCommand says which commands the core sends again by itself.
func losableCommand(m *wire.Command) bool {
	return m.GetStart() != nil || m.GetStop() != nil || m.GetSuspend() != 0 || m.GetResume() != 0 || m.GetDropJob() != 0
}

// command does what the manager says.
func (f *fake) command(m *wire.Command) {
	switch d := m.GetDo().(type) {
	case *wire.Command_Start:
		f.start(d.Start)
	case *wire.Command_Stop:
		f.stop(d.Stop)
	case *wire.Command_Peers:
		f.task(d.Peers.Attempt, func(t *task) { t.peers(d.Peers) })
	case *wire.Command_Sources:
		f.task(d.Sources.Attempt, func(t *task) { t.moreSources(d.Sources) })
	case *wire.Command_Files:
		f.task(d.Files.Attempt, func(t *task) { t.moreFiles(d.Files) })
	case *wire.Command_Suspend:
		f.task(d.Suspend, (*task).suspend)
	case *wire.Command_Resume:
		f.task(d.Resume, (*task).resume)
	case *wire.Command_Commit:
		f.task(d.Commit.Attempt, func(t *task) { t.verdict(d.Commit.Granted) })
	case *wire.Command_Forget:
		if t := f.tasks[d.Forget]; t != nil && t.ended != nil {
			delete(f.tasks, d.Forget)
		}
	case *wire.Command_DropJob:
		f.drop(d.DropJob)
	case *wire.Command_DropOutput:
		delete(f.stored, d.DropOutput.Attempt)
	}
}

// drop ends all that is left of a job, and says so when it is done.
func (f *fake) drop(job uint64) {
	f.dropped[job] = true
	for _, id := range sorted(f.stored) {
		if f.stored[id].job == job {
			delete(f.stored, id)
		}
	}
	for _, id := range sorted(f.tasks) {
		if f.tasks[id].m.Job == job {
			f.tasks[id].gone()
			delete(f.tasks, id)
		}
	}
	life := f.incarnation
	f.s.After(f.s.upTo(200*time.Millisecond)+1, func() {
		if f.incarnation == life && f.alive {
			delete(f.warm, job)
			f.tell(&wire.Report{What: &wire.Report_JobDropped{JobDropped: job}})
		}
	})
}

func (f *fake) task(id uint64, do func(*task)) {
	if t := f.tasks[id]; t != nil && t.ended == nil {
		do(t)
	}
}

// start runs an attempt, or says again what became of it.
func (f *fake) start(m *wire.StartAttempt) {
	if t := f.tasks[m.Attempt]; t != nil {
		t.reportAgain()
		return
	}
	f.seen = max(f.seen, m.Attempt)
	if f.dropped[m.Job] && m.Finish == nil {
		f.s.Seen["starts of dropped jobs"]++
		f.tell(&wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{
			Attempt: m.Attempt, End: wire.End_END_FAILED, Failure: &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_INVALID, Message: "its job was over"},
		}}})
		return
	}
	if f.begun[m.Attempt] {
		f.s.fail("%s is to start attempt %d a second time", f.name, m.Attempt)
	}
	if f.refused[m.Attempt] || f.full && f.s.chance(100) {
		f.refuse(m)
		return
	}
	t := &task{f: f, m: m, sources: map[[2]uint32]*wire.Source{}, read: map[[2]uint32]uint64{}, files: m.GetFinish().GetFiles()}
	f.tasks[m.Attempt] = t
	f.begun[m.Attempt], f.warm[m.Job] = true, true
	f.s.joinGang(t)
	f.checkRoom()
	t.keepSources(m.Sources)
	t.later(f.s.between(time.Millisecond, 300*time.Millisecond), t.begin)
}

// refuse tells that it can't start an attempt, and keeps to it.
func (f *fake) refuse(m *wire.StartAttempt) {
	f.s.Seen["refused starts"]++
	f.refused[m.Attempt] = true
	f.tell(&wire.Report{What: &wire.Report_Refused{Refused: &wire.CommandRefused{
		Attempt: m.Attempt, Failure: &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_RESOURCE, Message: "no space for its folder"},
	}}})
}

// checkRoom holds what runs against the slots there are. A report that came late
// may have had the manager free what was held again, so only calm times count.
func (f *fake) checkRoom() {
	if !f.s.calm || f.s.Now() < start.Add(faultsFor+time.Minute) {
		return
	}
	for _, s := range f.slots {
		held := uint32(0)
		for _, t := range f.tasks {
			if t.ended == nil && !t.suspended && t.m.Kind == s.Kind {
				held += t.m.Slots
			}
		}
		if held > s.Count {
			f.s.fail("%s runs %d slots of kind %s and has %d", f.name, held, s.Kind, s.Count)
		}
	}
}

func (f *fake) stop(m *wire.StopAttempt) {
	t := f.tasks[m.Attempt]
	if t == nil {
		// The command to start it was lost, or will come after this one.
		t = &task{f: f, m: &wire.StartAttempt{Attempt: m.Attempt}, ended: &wire.AttemptEnded{Attempt: m.Attempt, End: wire.End_END_STOPPED}}
		f.tasks[m.Attempt] = t
	}
	if t.ended != nil {
		t.reportAgain()
		return
	}
	if m.GraceNs == 0 || t.suspended {
		t.end(&wire.AttemptEnded{End: wire.End_END_STOPPED})
		return
	}
	t.later(min(time.Duration(m.GraceNs), f.s.upTo(5*time.Second)+1), func() { t.end(&wire.AttemptEnded{End: wire.End_END_STOPPED}) })
}

func sorted[V any](m map[uint64]V) []uint64 {
	keys := make([]uint64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

package launchers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// commandsMax and commandBytesMax bound the queue of commands for one launcher. A slower
	// launcher is disconnected; it joins again with its inventory, which costs less than the missed
	// commands.
	commandsMax     = 1 << 16
	commandBytesMax = 256 << 20
	// messageBytes is about the size of one message.
	messageBytes = 1 << 20
	// aliveBeats is after how many missed heartbeats a new incarnation may take a launcher's name
	// though the old stream still exists.
	aliveBeats = 4
	// forgetHold is how long a command to forget an attempt waits for another to share its message:
	// it is not urgent, and the next start is mostly near.
	forgetHold = 20 * time.Millisecond
	// progressMax bounds the attempts of a launcher whose progress is kept.
	progressMax = 1 << 16
)

// session is one launcher's stream.
type session struct {
	join   *wire.Join
	issued time.Time // time of its certificate; zero: none
	began  time.Time
	cancel context.CancelCauseFunc // ends the stream
	wake   chan struct{}           // capacity 1: there are commands to send

	mu       sync.Mutex
	welcome  *wire.Welcome // to be sent first
	open     bool          // it was welcomed: commands can be sent
	commands []*wire.Command
	bytes    int
	revoked  *wire.Revocations  // to be sent; nil: they are sent
	held     bool               // what waits is to go out within forgetHold
	ack      *wire.HeartbeatAck // newest heartbeat to be answered
	heard    time.Time
	load     *wire.MachineLoad          // of the newest heartbeat; nil when it had none
	progress map[uint64]float64         // of live attempts, as last reported; at most progressMax
	idle     map[uint64]*idle           // attempts without progress
	term     uint64                     // of its commands
	tickets  map[scheduler.JobID]uint64 // versions of the jobs' tickets that it has, until it is to drop the job

	loadSent sentLoad     // for the receiving goroutine
	assigned *assignments // of its incarnation; set by grant
	pace     *pace        // of its launcher; set by grant
}

func newSession(join *wire.Join, cancel context.CancelCauseFunc) *session {
	return &session{join: join, began: time.Now(), cancel: cancel, wake: make(chan struct{}, 1), heard: time.Now(), progress: map[uint64]float64{}, idle: map[uint64]*idle{}, tickets: map[scheduler.JobID]uint64{}, assigned: newAssignments(), pace: newPace()}
}

func (s *session) hear(beat *wire.Heartbeat) {
	s.mu.Lock()
	s.heard = time.Now()
	if beat != nil {
		s.ack, s.load = &wire.HeartbeatAck{Seq: beat.Seq}, beat.Load
	}
	s.mu.Unlock()
	if beat != nil {
		s.nudge()
	}
}

func (s *session) lastHeard() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard
}

func (s *session) lastLoad() *wire.MachineLoad {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load
}

func (s *session) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// send queues a command. It never blocks. Commands before the welcome are dropped: at the join the
// core decides again what the launcher needs.
func (s *session) send(c *wire.Command) {
	if s.join.SourceGroups {
		c = wire.Grouped(c)
	}
	s.mu.Lock()
	if !s.open {
		s.mu.Unlock()
		return
	}
	s.commands = append(s.commands, c)
	s.bytes += proto.Size(c)
	over := len(s.commands) > commandsMax || s.bytes > commandBytesMax
	forget, lazy := c.Do.(*wire.Command_Forget)
	if lazy {
		s.forgetProgress(forget.Forget)
	}
	first := lazy && !s.held
	s.held = s.held || lazy
	s.mu.Unlock()
	if over {
		s.cancel(errors.New("the launcher takes its commands too slowly: it is cut off and has to join anew"))
		return
	}
	switch {
	case !lazy:
		s.nudge()
	case first:
		time.AfterFunc(forgetHold, s.nudge)
	}
}

// next takes the commands to send in one message; nil when there are none.
func (s *session) next() *wire.ToLauncher {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &wire.ToLauncher{Welcome: s.welcome, Heartbeat: s.ack}
	if s.open {
		m.Revocations, s.revoked = s.revoked, nil
	}
	s.welcome, s.ack, s.held = nil, nil, false
	n, bytes := 0, 0
	for n < len(s.commands) && bytes < messageBytes {
		bytes += proto.Size(s.commands[n])
		n++
	}
	m.Commands = s.commands[:n:n]
	s.commands = s.commands[n:]
	s.bytes -= bytes
	if m.Welcome == nil && m.Heartbeat == nil && m.Revocations == nil && n == 0 {
		return nil
	}
	return m
}

// launcherRecord is the shell's record of a launcher that the core counts as up, or that asks to
// join.
type launcherRecord struct {
	name        string
	id          scheduler.LauncherID // 0 until the core has let it in
	identity    string               // owner of the name until it is lost; "": any launcher
	incarnation uint64
	http        string
	version     string       // of its program
	heard       time.Time    // last sign of life without a session
	session     *session     // nil: its stream ended
	dialing     bool         // its http address is being tried
	lost        bool         // this incarnation can't continue
	telling     bool         // the loss is on its way to the core; until then the record stays
	assigned    *assignments // of the incarnation; nil: it has not joined since this manager started
	pace        *pace        // of its messages, over its sessions
}

// foreign reports whether a join comes from another data folder.
func (r *launcherRecord) foreign(j *wire.Join) bool {
	return r.identity != "" && r.identity != j.Identity
}

// refusal is why a launcher may not join now.
type refusal struct {
	why      string
	afresh   bool          // it may as a new incarnation
	patience time.Duration // for how long a retry makes sense
}

func (r *refusal) Error() string { return r.why }

// Table is the shell's records of the launchers. Safe for concurrent use.
type Table struct {
	heartbeat time.Duration
	lostAfter time.Duration

	mu     sync.Mutex
	byName map[string]*launcherRecord
	byID   map[scheduler.LauncherID]*launcherRecord
	alone  map[*launcherRecord]bool // records whose streams ended
	silent silences
	looked int // total number of silence checks

	revoked auth.Revoked
	tickets Tickets // nil: no job has any. Set before the first command
}

// NewTable returns an empty table of launchers with this heartbeat period, which are lost after
// such a silence.
func NewTable(heartbeat, lostAfter time.Duration) *Table {
	return &Table{heartbeat: heartbeat, lostAfter: lostAfter, byName: map[string]*launcherRecord{}, byID: map[scheduler.LauncherID]*launcherRecord{}, alone: map[*launcherRecord]bool{}}
}

// grant gives a name to a session, unless it belongs to another identity that was not lost. The
// core decides the same, but commands to the session from here on must not wait for it.
func (l *Table) grant(s *session) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.covered(s) {
		return errRevoked
	}
	r := l.byName[s.join.Name]
	if r == nil {
		r = &launcherRecord{name: s.join.Name}
		l.byName[r.name] = r
		l.watch(r)
	}
	if err := l.taken(r, s.join); err != nil {
		return err
	}
	if old := r.session; old != nil {
		old.cancel(errors.New("the launcher connected again"))
	}
	if r.foreign(s.join) && r.id != 0 { // commands for the old incarnation are not for the new one
		delete(l.byID, r.id)
		r.id = 0
	}
	if s.join.Incarnation != r.incarnation || r.foreign(s.join) {
		r.lost = false
		r.assigned = nil
	}
	if r.assigned == nil {
		r.assigned = newAssignments()
	}
	if r.pace == nil {
		r.pace = newPace()
	}
	s.assigned, s.pace = r.assigned, r.pace
	delete(l.alone, r)
	r.session, r.identity, r.incarnation, r.http, r.version = s, s.join.Identity, s.join.Incarnation, s.join.HttpAddress, s.join.Version
	return nil
}

// taken returns why a join may not have a name.
func (l *Table) taken(r *launcherRecord, j *wire.Join) error {
	old := r.session
	switch {
	case r.lost && j.Incarnation == r.incarnation:
		// The report of its loss may still be on its way to the core, and must not come after its
		// join.
		return &refusal{why: fmt.Sprintf("launcher %q was given up: it has to join as a new incarnation", r.name), afresh: true}
	case !r.lost && r.foreign(j), old != nil && old.join.Incarnation != j.Incarnation && time.Since(old.lastHeard()) < aliveBeats*l.heartbeat:
		host := "another machine"
		if old != nil {
			host = old.join.Host
		}
		return &refusal{why: fmt.Sprintf("a launcher named %q on %s is connected, or was not lost yet: give this one another name (launcher.name)", r.name, host), patience: 2 * l.lostAfter}
	case !r.foreign(j) && j.Incarnation < r.incarnation:
		return &refusal{why: fmt.Sprintf("a newer start of launcher %q was here: this one must end", r.name)}
	}
	return nil
}

// welcomed takes the core's answer to a join: commands can go out from here on.
func (l *Table) welcomed(w core.Welcome, terms *wire.Welcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.byName[w.Name]
	if r == nil || r.session == nil || r.incarnation != w.Incarnation {
		return // it went away meanwhile
	}
	terms.Launcher, terms.Refused, terms.Afresh = uint64(w.Launcher), w.Refused, w.Afresh
	s := r.session
	s.mu.Lock()
	s.welcome, s.open, s.term, s.revoked = terms, w.Refused == "", terms.Term, revocations(l.revoked)
	s.mu.Unlock()
	if w.Refused == "" {
		r.id, r.lost = w.Launcher, false
		l.byID[r.id] = r
		s.assigned.addLive(w.Assigned)
		l.carryAgain(s)
	}
	s.nudge()
}

// Send queues a command for a launcher. A command for a launcher without a stream is dropped: the
// launcher gets what it needs when it joins again.
func (l *Table) Send(id scheduler.LauncherID, c *wire.Command) {
	l.mu.Lock()
	var s *session
	if r := l.byID[id]; r != nil {
		s = r.session
	}
	l.mu.Unlock()
	if s != nil {
		s.assigned.sent(c)
		l.carryFor(s, c)
		s.send(c)
	}
}

// released notes that a session's stream has ended; true when that leaves its launcher without one.
func (l *Table) released(s *session) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.byName[s.join.Name]
	if r == nil || r.session != s {
		return false
	}
	r.session, r.heard = nil, s.lastHeard()
	if r.lost || r.id == 0 {
		if !r.telling {
			l.forget(r)
		}
		return false
	}
	l.alone[r] = true
	return true
}

// lossReported notes that the core has the report of a loss, or will have it before all later
// inputs.
func (l *Table) lossReported(r *launcherRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.telling = false
	// Another launcher may have taken the name meanwhile and be gone again before the core admitted
	// it.
	if r.session == nil && (r.lost || r.id == 0) {
		l.forget(r)
	}
}

func (l *Table) forget(r *launcherRecord) {
	delete(l.alone, r)
	if l.byName[r.name] == r {
		delete(l.byName, r.name)
	}
	if r.id != 0 && l.byID[r.id] == r {
		delete(l.byID, r.id)
	}
}

// Expect makes records of launchers that the core counts as up after a restart: they are lost if
// they do not join, as if their streams had just ended.
func (l *Table) Expect(c *core.Core) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range c.Launchers() {
		i, ok := c.Launcher(s.Name)
		if !ok || !i.Up {
			continue
		}
		r := &launcherRecord{name: i.Name, id: i.Launcher, identity: i.Identity, incarnation: i.Incarnation, http: i.HTTPAddress, heard: time.Now()}
		l.byName[r.name], l.byID[r.id], l.alone[r] = r, r, true
		l.watch(r)
	}
}

// HTTPOf returns the address of a launcher's HTTP server, "" when it has none.
func (l *Table) HTTPOf(name string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.byName[name]; r != nil {
		return r.http
	}
	return ""
}

// Loads returns the machines' loads from the newest heartbeats, by launcher.
func (l *Table) Loads() map[string]*wire.MachineLoad {
	l.mu.Lock()
	defer l.mu.Unlock()
	loads := map[string]*wire.MachineLoad{}
	for name, r := range l.byName {
		if r.id != 0 && r.session != nil {
			loads[name] = r.session.lastLoad()
		}
	}
	return loads
}

// Describe fills in the state of launchers' streams.
func (l *Table) Describe(list []*wire.LauncherStatus) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range list {
		r := l.byName[s.Name]
		if r == nil || uint64(r.id) != s.Launcher {
			continue
		}
		s.Incarnation, s.HttpAddress, s.Version = r.incarnation, r.http, r.version
		if x := r.session; x != nil {
			s.DataAddress, s.Joined, s.Heard = x.join.DataAddress, x.began.UnixNano(), x.lastHeard().UnixNano()
		}
	}
}

// Suspects lists the launchers without a stream, or without a heartbeat for a while.
func (l *Table) Suspects() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for name, r := range l.byName {
		if r.id != 0 && (r.session == nil || time.Since(r.session.lastHeard()) > aliveBeats*l.heartbeat) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

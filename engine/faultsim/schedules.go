package faultsim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"google.golang.org/protobuf/proto"
)

// scheduleStream is the stream of random numbers for schedules. Histories without schedules do not
// depend on it.
const scheduleStream = 0x73636865

// The times of schedules in a history.
const (
	schedulesFor = faultsFor + 2*time.Minute // after that no run is due any more
	sleepMost    = 2 * time.Minute           // for which no due time is told
	patient      = 30 * time.Second          // a run with this start deadline is taken, where its user's runners live
)

// owners are the users that have schedules and runners.
var owners = []string{"u", "v"}

// schedules plays the shell's clock of schedules, their owners, and runners. Three of seven seeds
// have them.
type schedules struct {
	*play
	rand    *rand.Rand
	clients *clients
	draws   *drawing           // the jobs of runs
	account func() *runAccount // changes when the log loses its end

	known   map[uint64]*wire.Schedule // as the clock was told
	told    map[uint64]int64          // the last due time that it told the core
	sleeps  scheduler.Time            // until when it tells nothing
	waking  int                       // the number of the look at the clock that counts
	runners []*runner
	stopped bool // no run is due any more
}

func newSchedules(p *play, seed uint64, c *clients, account func() *runAccount) *schedules {
	s := &schedules{play: p, rand: rand.New(rand.NewPCG(seed, scheduleStream)), clients: c, account: account, known: map[uint64]*wire.Schedule{}, told: map[uint64]int64{}} //nolint:gosec // seeded on purpose
	s.stopped = seed%7 >= 3
	return s
}

// plan draws what owners do, and starts runners.
func (s *schedules) plan(d *drawing) {
	if s.draws = d; s.stopped {
		return
	}
	for i := range 1 + s.rand.IntN(3) {
		s.After(s.draw(time.Minute), func() { s.add(owners[i%2], fmt.Sprint("s", i/2), false) })
	}
	for i := range 3 {
		s.runners = append(s.runners, &runner{schedules: s, user: owners[i%2], host: i})
		s.runners[i].start()
	}
	var next func()
	next = func() {
		if s.calm {
			return
		}
		s.fault()
		s.After(s.draw(20*time.Second), next)
	}
	s.After(s.draw(20*time.Second), next)
	s.After(schedulesFor, s.stop)
}

// draw draws a duration below d, by random numbers of schedules alone.
func (s *schedules) draw(d time.Duration) time.Duration {
	return time.Duration(s.rand.Int64N(int64(d)))
}

// add adds or replaces a schedule. Its expression stands for a period and an offset in seconds.
func (s *schedules) add(user, name string, replace bool) {
	d := &wire.ScheduleDefinition{
		Cron: fmt.Sprint(15+s.rand.IntN(45), " ", s.rand.IntN(15)), Zone: "UTC", IfRunning: wire.IfRunning(s.rand.IntN(3)), Command: []string{"run"}, Folder: "/", //nolint:gosec // few
		StartDeadlineNs: int64([]time.Duration{time.Second, 10 * time.Second, patient, time.Hour}[s.rand.IntN(4)]),
	}
	if s.rand.IntN(20) == 0 {
		d.Folder = "not absolute"
	}
	s.Seen["schedules added or replaced"]++
	s.Push(wire.NewInput(&wire.AddSchedule{Client: s.clients.name("schedule"), Principal: &wire.Principal{Name: user}, Name: name, Definition: d, Replace: replace}))
}

func (s *schedules) change(user, name string, act wire.ScheduleAct) {
	s.Seen["schedule: "+wire.ScheduleActName(act)]++
	s.Push(wire.NewInput(&wire.ChangeSchedule{Client: s.clients.name("schedule"), Principal: &wire.Principal{Name: user}, Name: name, Act: act}))
}

// fault draws what goes wrong with the clock or a runner, or what an owner asks.
func (s *schedules) fault() {
	user, name := owners[s.rand.IntN(2)], fmt.Sprint("s", s.rand.IntN(2))
	switch s.rand.IntN(12) {
	case 0:
		s.add(user, name, true)
	case 1:
		s.add(user, name, false)
	case 2:
		s.change(user, name, wire.ScheduleAct_SCHEDULE_ACT_RUN)
	case 3:
		s.change(user, name, wire.ScheduleAct_SCHEDULE_ACT_PAUSE)
		s.After(s.draw(time.Minute), func() { s.change(user, name, wire.ScheduleAct_SCHEDULE_ACT_RESUME) })
	case 4:
		if s.rand.IntN(2) == 0 {
			s.change(user, name, wire.ScheduleAct_SCHEDULE_ACT_REMOVE)
		}
	case 5: // the manager's machine stands still, or its clock is set forward
		s.sleeps = s.Now().Add(s.draw(sleepMost))
		s.Seen["sleeps of the clock"]++
	case 6:
		s.strangeDue()
	case 7, 8:
		s.runners[s.rand.IntN(len(s.runners))].die(s.rand.IntN(2) == 0)
	case 9:
		s.runners[s.rand.IntN(len(s.runners))].freeze()
	case 10:
		s.runners[s.rand.IntN(len(s.runners))].forgetful = true
	case 11: // the machine of a runner is gone for long
		s.runners[s.rand.IntN(len(s.runners))].away = s.Now().Add(s.draw(2 * time.Minute))
	}
}

// strangeDue tells a due time as by a clock that is set back or forward, or again, or of no schedule.
func (s *schedules) strangeDue() {
	m := &wire.ScheduleDue{Schedule: 1 + s.rand.Uint64N(4), Due: int64(s.Now().Add(s.draw(2*time.Minute) - time.Minute))}
	if x := s.known[m.Schedule]; x != nil && s.rand.IntN(2) == 0 {
		m.Due = x.Decided // again
	} else if m.Due <= int64(s.Now()) && x != nil {
		m.Due = x.Decided - 1 - s.rand.Int64N(int64(time.Minute)) // set back
	}
	s.Seen["strange due times"]++
	s.Push(wire.NewInput(m))
}

// mend ends the faults of the clock and of runners. Runs that are due half a minute later are taken.
func (s *schedules) mend() {
	s.sleeps = 0
	s.account().early = s.Now().Add(patient)
	s.checkDueTimes()
}

// stop has no run due any more, so that the history can end.
func (s *schedules) stop() { s.stopped = true }

// end ends all runners, so that they ask for nothing any more.
func (s *schedules) end() {
	for _, r := range s.runners {
		r.life++
	}
}

// over reports whether nothing of schedules goes on.
func (s *schedules) over() bool { return s.stopped && len(s.account().unfinished()) == 0 }

// changed takes in what the core tells of schedules, as the shell does.
func (s *schedules) changed(a core.SchedulesChanged) {
	for _, x := range a.Schedules {
		s.known[x.Id] = x
	}
	for _, id := range a.Removed {
		delete(s.known, id)
	}
	s.checkDueTimes()
}

// forget begins another life of the manager: the clock reads the schedules anew, and callers get no
// answer. They must be what was told before.
func (s *schedules) forget() {
	s.known, s.told = map[uint64]*wire.Schedule{}, map[uint64]int64{}
	has := s.account().all
	for _, x := range s.Core.Schedules() {
		s.known[x.Id] = x
		if a := has[x.Id]; a == nil || !proto.Equal(a.told, x) {
			s.fail("schedule %d is %v after a restart, and was %+v", x.Id, x, a)
		}
	}
	if len(has) != len(s.known) {
		s.fail("%d schedules are there after a restart, and were %d", len(s.known), len(has))
	}
	for _, r := range s.runners {
		r.asked = 0
		for _, c := range r.commands {
			c.told = false
		}
	}
	s.checkDueTimes()
}

// lost ends all commands: the log has lost that they were started.
func (s *schedules) lost() {
	for _, r := range s.runners {
		r.die(true)
	}
}

// checkDueTimes tells the core which due times came, and plans the next check. The manager's shell
// does so with real clocks.
func (s *schedules) checkDueTimes() {
	s.waking++
	if s.stopped {
		return
	}
	now, next := s.Now(), s.Now().Add(time.Minute)
	if s.sleeps > now {
		next = s.sleeps
	} else {
		for _, id := range simcluster.Sorted(s.known) {
			x := s.known[id]
			if x.Paused {
				continue
			}
			last, passed, coming := latest(x, max(x.Decided, s.told[id]), int64(now))
			if last != 0 {
				s.toldDue(id, last, passed)
			}
			next = min(next, scheduler.Time(coming))
		}
	}
	number := s.waking
	s.At(next, func() {
		if number == s.waking {
			s.checkDueTimes()
		}
	})
}

func (s *schedules) toldDue(id uint64, due int64, passed uint32) {
	s.told[id] = due
	s.Seen["due times"]++
	s.Seen["due times that passed"] += int(passed)
	s.Push(wire.NewInput(&wire.ScheduleDue{Schedule: id, Due: due, Passed: passed}))
}

// latest returns the last due time after one moment and not after another, how many came before it,
// and the next one.
func latest(x *wire.Schedule, after, now int64) (last int64, passed uint32, next int64) {
	var period, offset int64
	if _, err := fmt.Sscan(x.Definition.Cron, &period, &offset); err != nil {
		panic(err)
	}
	period, offset = period*int64(time.Second), offset*int64(time.Second)
	next = (after-offset)/period*period + offset
	for ; next <= now; next += period {
		if next <= after {
			continue
		}
		if last != 0 {
			passed++
		}
		last = next
	}
	return last, passed, next
}

// checkNothingLeft looks for runs that are not over.
func (s *schedules) checkNothingLeft() {
	if list := s.account().unfinished(); len(list) > 0 {
		s.fail("runs are left: %v", list)
	}
}

// refused reports whether a job may be refused because of the run that it is of.
func (s *schedules) refused(j *fakeJob) bool {
	may := j.spec.Run != nil && (s.clients.lossy || s.account().mayRefuse(j.spec.Principal.Name, j.spec.Run))
	if may {
		s.Seen["refused jobs of runs"]++
	}
	return may
}

// named returns an error unless a job's status names the run that it is of.
func (s *schedules) named(status *wire.JobStatus, j *fakeJob) error {
	k := j.spec.Run
	if got := status.Run; k == nil && got != nil || k != nil && (got.GetSchedule() != k.Schedule || got.GetRun() != k.Run || got.GetTry() != k.Try || !slices.Contains([]string{"s0", "s1"}, got.GetName())) {
		return fmt.Errorf("%s of run %v says that it is of %v", j.name, k, got)
	}
	return nil
}

package faultsim

import (
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The times of runners.
const (
	runLease    = 10 * time.Second // of the site
	askEvery    = 2 * time.Second
	commandMost = 20 * time.Second // each pause of a command
	atOnceMost  = 8                // commands of a runner
)

// runner is a process of a user that runs commands. When it dies, another one comes in its place.
type runner struct {
	*schedules
	user      string
	host      int
	life      int
	name      string
	asked     uint64         // the caller that waits for an answer; 0: none
	commands  []*command     // that it holds, or tells the end of
	frozen    scheduler.Time // until when it does nothing
	away      scheduler.Time // until when no process is there
	forgetful bool           // it loses the next answer
}

// command is one start of the command of a run.
type command struct {
	*schedules
	key    *wire.RunKey
	user   string
	left   int        // jobs that it has to submit
	jobs   []*fakeJob // that it submitted
	over   bool
	fails  bool
	dead   bool
	told   bool // its end is on the way to the manager
	orphan bool // its runner has died
}

// start begins a life of a runner.
func (r *runner) start() {
	r.life++
	r.name, r.commands, r.asked, r.frozen, r.forgetful = fmt.Sprintf("r%d-%d", r.host, r.life), nil, 0, 0, false
	life := r.life
	var ask func()
	ask = func() {
		if r.life != life {
			return
		}
		r.ask()
		r.After(askEvery, ask)
	}
	r.After(r.draw(askEvery), ask)
}

// die ends a runner. Its commands end with it, or go on without it.
func (r *runner) die(commands bool) {
	r.Seen["runners that died"]++
	for _, c := range r.commands {
		c.orphan = true
		c.dead = c.dead || commands
	}
	r.start()
}

func (r *runner) freeze() {
	r.Seen["runners that froze"]++
	r.frozen = r.Now().Add(r.draw(4 * runLease))
}

// ask asks for a run, says which ones it has, and tells the ends of commands.
func (r *runner) ask() {
	if !r.calm && (r.frozen > r.Now() || r.away > r.Now()) {
		return
	}
	r.commands = slices.DeleteFunc(r.commands, func(c *command) bool { return c.dead })
	var held []*wire.RunKey
	for _, c := range r.commands {
		held = append(held, c.key)
		if c.over && !c.told {
			r.tellEnd(c)
		}
	}
	if r.asked != 0 {
		return
	}
	r.asked = r.clients.call("run", func(a core.Reply) { r.taken(a) })
	r.Push(wire.NewInput(&wire.TakeRun{Client: r.asked, Principal: &wire.Principal{Name: r.user}, Runner: r.name, Held: held, Full: len(held) >= atOnceMost}))
}

// taken starts the command of a run.
func (r *runner) taken(a core.Reply) {
	mine := r.asked == a.Client
	k := a.Run.GetKey()
	if mine {
		r.asked = 0
	}
	switch {
	case k == nil:
		return
	case !mine || r.forgetful && !r.calm: // its process has ended, or the answer was lost
		r.forgetful = false
		r.Seen["runs lost with an answer"]++
		return
	}
	c := &command{schedules: r.schedules, key: k, user: r.user, left: []int{0, 0, 1, 1, 2}[r.rand.IntN(5)], fails: !r.calm && r.rand.IntN(8) == 0}
	r.commands = append(r.commands, c)
	r.Seen["commands started"]++
	if k.Try > 1 {
		r.Seen["commands started again"]++
	}
	r.After(r.draw(commandMost), c.goOn)
}

// tellEnd tells the manager that a command has ended, until it answers.
func (r *runner) tellEnd(c *command) {
	c.told = true
	client := r.clients.call("end", func(core.Reply) { c.dead = true })
	r.Push(wire.NewInput(&wire.EndRun{Client: client, Principal: &wire.Principal{Name: r.user}, Key: c.key, Succeeded: !c.fails, Reason: "it failed"}))
}

// goOn does the next step of a command: it submits a job, or waits for the answer, or ends.
func (c *command) goOn() {
	if c.dead || c.over {
		return
	}
	last := len(c.jobs) - 1
	switch {
	case last >= 0 && c.jobs[last].refused:
		c.over, c.fails = true, true
		return
	case last >= 0 && !c.jobs[last].accepted && !c.jobs[last].over:
		// it waits for the answer
	case c.left == 0:
		c.over = true
		return
	default:
		c.left--
		j := c.draws.randomJob(fmt.Sprint("job", len(c.clients.list), " of a run"))
		j.spec.Run, j.spec.Principal = c.key, &wire.Principal{Name: c.user}
		c.jobs = append(c.jobs, j)
		c.clients.list = append(c.clients.list, j)
		c.clients.announce(j)
		c.Seen["jobs of runs"]++
	}
	c.After(c.draw(commandMost), c.goOn)
}

package faultsim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"google.golang.org/protobuf/proto"
)

// clients submit jobs and send requests. They wait for replies, know how each of their jobs should
// end, and repeat requests that are lost with a manager.
type clients struct {
	*play
	list     []*fakeJob
	byID     map[uint64]*fakeJob // jobs that have an id
	storage  storage
	last     uint64                      // the name of the last caller
	waiting  map[uint64]string           // for what, by name
	then     map[uint64]func(core.Reply) // what some of them do with the answer
	prepare  map[uint64]*fakeJob         // those of them that wait for a job's id
	lossy    bool                        // the log has lost records
	elements *rand.Rand                  // draws what is asked of job arrays
	ofRuns   *schedules                  // the runs that jobs are of
}

func newClients(p *play) *clients {
	return &clients{play: p, byID: map[uint64]*fakeJob{}, storage: newStorage(), waiting: map[uint64]string{}, then: map[uint64]func(core.Reply){}, prepare: map[uint64]*fakeJob{}}
}

// over reports whether all jobs have ended, those included whose end the log lost.
func (c *clients) over() bool {
	return c.calm && !slices.ContainsFunc(c.list, func(j *fakeJob) bool { return !j.over }) && (!c.lossy || c.Core.Stats().JobsLive == 0)
}

// lost is called when the log lost its end.
func (c *clients) lost() {
	c.lossy = true
	for _, j := range c.list {
		if j.adapted != nil {
			j.adapted.forgotten = true
		}
		if j.aggregated != nil {
			j.aggregated.forgotten = true
		}
	}
}

// forget drops all waiting calls: the manager that would answer them has ended.
func (c *clients) forget() {
	clear(c.waiting)
	clear(c.then)
	clear(c.prepare)
}

// askAgain repeats the requests that the last life of the manager received and did not log.
func (c *clients) askAgain() {
	for _, j := range c.list {
		if !j.over {
			c.submitAgain(j)
			c.jobChanged(j.id)
		}
	}
}

// plan draws the jobs, and the times of their submission.
func (c *clients) plan(d *drawing) {
	for i := range 2 + c.rand.IntN(7) {
		j := d.randomJob(fmt.Sprint("job", i))
		if c.chance(60) {
			d.spoil(j)
		}
		c.list = append(c.list, j)
		c.After(c.upTo(faultsFor*2/3), func() { c.announce(j) })
	}
}

// announce requests a job's id.
func (c *clients) announce(j *fakeJob) {
	if j.id != 0 || j.announced {
		return
	}
	j.announced = true
	client := c.name("prepare")
	c.prepare[client] = j
	c.Push(wire.NewInput(&wire.Prepare{Client: client}))
}

func (c *clients) prepared(j *fakeJob, r core.Reply) {
	if r.Failure != nil {
		c.fail("a job was not prepared: %v", r.Failure)
		return
	}
	j.id = uint64(r.Job)
	if other := c.byID[j.id]; other != nil {
		c.fail("%s and %s are both %v", other.name, j.name, r.Job)
	}
	c.byID[j.id] = j
	for _, out := range j.spec.Outputs {
		c.storage.prepare(out, j)
	}
	c.After(c.upTo(100*time.Millisecond), func() { c.submitAgain(j) })
}

// submitAgain submits a job, or announces it if that was lost with the manager.
func (c *clients) submitAgain(j *fakeJob) {
	switch {
	case j.id == 0 && j.announced:
		j.announced = false // the reply is lost
		c.announce(j)
	case j.id != 0 && !j.accepted && !j.refused:
		c.Push(wire.NewInput(c.submission(j)))
	}
}

func (c *clients) submitted(r core.Reply) {
	j := c.byID[uint64(r.Job)]
	if r.Failure == nil {
		if j.wrong {
			c.fail("%s is wrong and was taken in", j.name)
		}
		j.accepted = true
		c.jobChanged(j.id) // it may have ended while the answer was lost
		return
	}
	if !j.over && c.isLost(j.id) {
		c.loseJob(j)
	}
	if j.over || r.Failure.Kind == wire.ErrorKind_ERROR_KIND_LOST {
		return
	}
	c.Seen["refused submissions"]++
	j.refused, j.over = true, true
	if r.Failure.Kind != wire.ErrorKind_ERROR_KIND_INVALID || !j.wrong && !strings.Contains(r.Failure.Message, "was refused: ") && !lateFor(j, r.Failure, c.Now()) && !c.failedFor(j, r.Failure) && !strings.Contains(r.Failure.Message, "(core.userLimits)") && !c.ofRuns.refused(j) {
		c.fail("%s was refused: %v", j.name, r.Failure)
	}
	for _, out := range j.spec.Outputs {
		c.storage.removeTemporary(out, j)
	}
}

// job returns a job that has an id.
func (c *clients) job(id uint64) *fakeJob { return c.byID[id] }

// endedWell notes that an attempt reported success. Its parts are in the job's temporary folders.
// It made those again where a cleaner had removed them in a history that the log lost.
func (c *clients) endedWell(a *simcluster.Attempt) {
	j := c.byID[a.Start.Job]
	j.ended[a.Start.Attempt] = true
	if n := a.Start.Nodes; j.array != nil && len(n) > 0 && n[0].Stage == j.array.stage {
		j.array.done[n[0].Index] = true
	}
	j.rewritten = j.rewritten || a.Start.Finish == nil
}

// publish does one step of a job's last group, as storage.finish says.
func (c *clients) publish(a *simcluster.Attempt) (why string, found []uint32, more bool) {
	return c.storage.finish(c, a)
}

// runs returns the machines' description of a job.
func (c *clients) runs(id uint64) *simcluster.Job {
	if j := c.byID[id]; j != nil {
		return j.runs
	}
	return nil
}

func (j *fakeJob) firstNode(m *wire.StartAttempt) uint32 {
	n := m.Nodes[0]
	return uint32(j.plan.Number(graph.Node{Stage: int(n.Stage), Index: int(n.Index)}))
}

// fate draws whether an attempt fails, and how.
func (c *clients) fate(a *simcluster.Attempt) (wire.ErrorKind, string) {
	j := c.byID[a.Start.Job]
	if a.Start.Finish != nil {
		if !c.calm && c.chance(100) {
			return wire.ErrorKind_ERROR_KIND_RESOURCE, "the storage is away"
		}
		return 0, ""
	}
	first := j.firstNode(a.Start)
	switch {
	case j.invalid:
		return wire.ErrorKind_ERROR_KIND_INVALID, "another graph"
	case j.poison && first == uint32(j.plan.Groups[0].Nodes[0]):
		return wire.ErrorKind_ERROR_KIND_PROGRAM, "poison"
	case j.isDoomed(first):
		return []wire.ErrorKind{wire.ErrorKind_ERROR_KIND_PROGRAM, wire.ErrorKind_ERROR_KIND_INVALID}[first%2], "doomed"
	case j.flaky[first] > 0:
		j.flaky[first]--
		return wire.ErrorKind_ERROR_KIND_PROGRAM, "flaky"
	}
	return 0, ""
}

// checkEnded compares the jobs reported as ended with their status.
func (c *clients) checkEnded(a core.JobsChanged) {
	for _, id := range a.Jobs {
		status, ok := c.Core.JobStatus(id, false)
		told := slices.Contains(a.Ended, id)
		if ok && told != wire.JobOver(status.Summary.State) {
			c.fail("%s is told to be over: %v, and is %v", id, told, status.Summary.State)
		}
	}
}

// jobChanged checks whether a job has ended, and as expected.
func (c *clients) jobChanged(id uint64) {
	j := c.byID[id]
	if j == nil || j.over || !j.accepted {
		return
	}
	status, ok := c.Core.JobStatus(scheduler.JobID(id), false)
	if !ok && c.isLost(id) {
		c.loseJob(j)
		return
	}
	if !ok {
		c.fail("%s changed and is not there", scheduler.JobID(id))
		return
	}
	if err := c.ofRuns.named(status, j); err != nil {
		c.fail("%v", err)
	}
	j.state = status.Summary.State
	if !wire.JobOver(j.state) {
		return
	}
	if c.lossy && strings.Contains(status.Failure.GetMessage(), "was refused: ") {
		// The record of its admission was lost with the log's end: the policy was asked again. Only
		// its client knows that it ran.
		c.Seen["jobs refused after a loss"]++
		c.loseJob(j)
		return
	}
	j.over = true
	c.Seen[j.state.String()]++
	c.checkEnd(j, status)
}

// lateFor reports whether a submission was refused because it came after the job's deadline.
func lateFor(j *fakeJob, f *wire.Failure, now scheduler.Time) bool {
	at := scheduler.Time(j.spec.GetLimits().GetDeadline())
	return strings.Contains(f.GetMessage(), "deadline") && at != 0 && at <= now
}

// limitReached reports whether a job failed for its own time limit or deadline, as changed last, and
// not before.
func limitReached(l *wire.JobLimits, s *wire.JobStatus) bool {
	why, ended := s.Failure.GetMessage(), s.GetSummary().GetEnded()
	switch {
	case strings.Contains(why, "time limit"):
		return l.GetTimeLimitNs() > 0 && s.Started > 0 && ended >= s.Started+l.TimeLimitNs
	case strings.Contains(why, "deadline"):
		return l.GetFailAtDeadline() && ended >= l.Deadline
	}
	return false
}

// checkEnd compares a job's end with the expected one.
func (c *clients) checkEnd(j *fakeJob, status *wire.JobStatus) {
	limited := limitReached(status.GetLimits(), status)
	if limited {
		c.Seen["jobs ended by their limits"]++
	}
	waited := c.failedFor(j, status.Failure) || len(j.spec.After) > 0 && strings.Contains(status.Failure.GetMessage(), "was refused: ")
	if waited {
		c.Seen["jobs that waited in vain"]++
	}
	j.short = c.endedByElements(j, status)
	good := !j.short && !j.poison && !j.invalid && !j.tooLarge && !j.killed && !j.occupied && !limited && !waited
	switch {
	case j.state == wire.JobState_JOB_STATE_SUCCEEDED:
		if j.poison || j.invalid || j.tooLarge || j.occupied || j.array != nil && len(j.array.doomed) > 0 {
			c.fail("%s succeeded and should not", j.name)
		}
		// A job that had published before the log lost that says so, and counts the known part.
		lost := c.lossy && slices.ContainsFunc(status.Notes, func(note string) bool { return strings.Contains(note, "log lost records") })
		used := int64(0)
		for i, st := range status.Stages {
			want := uint32(1) // the last bundle is in no stage of the graph
			if i < len(j.spec.Graph.Stages) {
				var err error
				if want, err = j.used(i, st); err != nil {
					c.fail("%s succeeded, and %v", j.name, err)
				}
				used += int64(want)
			}
			if st.Finished > want || st.Finished < want && !lost || st.Running+st.Ready+st.Waiting+st.Suspended > 0 {
				c.fail("%s succeeded with stage %v, want %d nodes finished", j.name, st, want)
			}
		}
		nodes := int64(0)
		for _, c := range status.Counters {
			nodes += c.Value
		}
		if nodes > used || nodes < used && !lost {
			c.fail("%s counted %d nodes and used %d: groups committed twice or not at all", j.name, nodes, used)
		}
	case good:
		c.fail("%s should succeed and is %v: %v", j.name, j.state, status.Failure)
	case j.state == wire.JobState_JOB_STATE_KILLED && !j.killed:
		c.fail("%s was killed and nobody asked", j.name)
	}
	if err := c.storage.check(j, status); err != nil {
		c.fail("%s (%v): %v", j.name, j.state, err)
	}
}

// unfinished describes the unfinished jobs.
func (c *clients) unfinished() string {
	var parts []string
	for _, j := range c.list {
		if j.over {
			continue
		}
		status, _ := c.Core.JobStatus(scheduler.JobID(j.id), true)
		parts = append(parts, fmt.Sprintf("%s (%v) %v", j.name, j.state, status))
	}
	return strings.Join(parts, "\n") + fmt.Sprintf("\npolicy %+v\nlaunchers %v", c.Core.PolicyState(), c.Core.Launchers())
}

// loseJob treats a job as lost, as its client does when the manager says so: it waits until nothing
// of the job runs, and removes the leftovers.
func (c *clients) loseJob(j *fakeJob) {
	c.Seen["lost jobs"]++
	j.over, j.lost = true, true
	c.After(lostAfter, func() {
		for _, out := range j.spec.Outputs {
			c.storage.removeTemporary(out, j)
		}
	})
}

func (c *clients) isLost(id uint64) bool { return c.Core.Lost(scheduler.JobID(id)) != nil }

func (c *clients) drain(name string, yes bool) {
	c.Push(wire.NewInput(&wire.DrainLauncher{Client: c.name("drain"), Name: name, Drain: yes}))
}

// checkNothingLeft looks for waiting callers, and for leftovers of their jobs.
func (c *clients) checkNothingLeft() {
	for id, what := range c.waiting {
		c.fail("client %d waits for the answer to its %s", id, what)
	}
	for out, j := range c.storage.temporary {
		if j.lost {
			c.fail("the temporary folder of %s beside %s is left, and the manager does not know that job", j.name, out)
		}
	}
}

func (c *clients) randomJobThatRuns() *fakeJob {
	j := c.list[c.rand.IntN(len(c.list))]
	if j.id == 0 || j.over {
		return nil
	}
	return j
}

func (c *clients) kill() {
	if j := c.randomJobThatRuns(); j != nil && j.accepted && c.chance(500) {
		if j.array != nil && c.elements.IntN(3) > 0 {
			c.killElements(j)
			return
		}
		c.killJob(j)
	}
}

func (c *clients) killJob(j *fakeJob) {
	j.killed = true
	c.Push(wire.NewInput(&wire.KillJob{Client: c.name("kill"), Job: j.id, Reason: "a whim"}))
}

func (c *clients) update() {
	if j := c.randomJobThatRuns(); j != nil {
		if j.array != nil && c.elements.IntN(2) == 0 {
			c.retryElements(j)
			return
		}
		m := &wire.UpdateJob{Client: c.name("update"), Job: j.id}
		if j.accepted && c.chance(200) {
			m.Limits = c.limitsChange()
		} else if c.chance(500) {
			pool := fmt.Sprint("pool", c.rand.IntN(3))
			m.Pool = &pool
		} else {
			p := int32(c.rand.IntN(5) - 2)
			m.Priority = &p
		}
		c.Push(wire.NewInput(m))
	}
}

// limitsChange draws other limits, or removes one.
func (c *clients) limitsChange() *wire.JobLimitsChange {
	none, while := int64(0), c.between(time.Second, 3*time.Minute)
	limit, deadline, fails := int64(while), int64(c.Now().Add(while)), true
	switch c.rand.IntN(4) {
	case 0:
		return &wire.JobLimitsChange{TimeLimitNs: &limit}
	case 1:
		return &wire.JobLimitsChange{Deadline: &deadline, FailAtDeadline: &fails}
	case 2:
		return &wire.JobLimitsChange{TimeLimitNs: &none}
	}
	return &wire.JobLimitsChange{Deadline: &none}
}

func (c *clients) askForPage() {
	c.Push(wire.NewInput(&wire.PolicyRequest{
		Client: c.name("page"), Principal: &wire.Principal{Name: "u", Proof: scheduler.Unproven}, Method: "GET", Path: "/",
	}))
	c.Push(wire.NewInput(&wire.Note{Name: "n", Body: []byte("b")}))
}

func (c *clients) changeSettings() {
	c.Push(wire.NewInput(&wire.SettingsChange{Version: uint64(c.steps)}))
}

// name returns an id for a caller who waits for a reply.
func (c *clients) name(what string) uint64 {
	c.last++
	c.waiting[c.last] = what
	return c.last
}

// call returns a new caller's name. then gets the answer, unless the manager is lost before.
func (c *clients) call(what string, then func(core.Reply)) uint64 {
	client := c.name(what)
	c.then[client] = then
	return client
}

func (c *clients) replied(r core.Reply) {
	what, ok := c.waiting[r.Client]
	if !ok {
		c.fail("client %d was answered and did not wait", r.Client)
		return
	}
	delete(c.waiting, r.Client)
	if j := c.prepare[r.Client]; j != nil {
		delete(c.prepare, r.Client)
		c.prepared(j, r)
		return
	}
	if then := c.then[r.Client]; then != nil {
		delete(c.then, r.Client)
		then(r)
	}
	if what == "submit" {
		c.submitted(r)
	}
}

// checkSources compares the sources that an attempt is given with the graph. If an input is lost
// while one attempt runs, a second attempt may wait for it, too. Inputs come later when the command
// is full.
func (c *clients) checkSources(m *wire.StartAttempt) error {
	j, commandBytes := c.byID[m.Job], c.Core.Settings().CommandBytes
	given := map[simcluster.Input]bool{}
	bytes := 0
	for _, s := range m.Sources {
		bytes += 2 * proto.Size(s) // at least the core's count
		if !j.ended[s.Attempt] {
			return fmt.Errorf("attempt %d is to read of attempt %d, which did not come to its end", m.Attempt, s.Attempt)
		}
		given[simcluster.Input{Connection: s.Connection, From: s.From}] = true
	}
	needs := j.runs.Inputs(m)
	reads := len(needs)
	for _, x := range m.InputCounts {
		reads += int(x.Writers)
	}
	if len(given) != len(m.Sources) || len(given) > reads || m.SourcesComplete && len(given) < reads {
		return fmt.Errorf("attempt %d is given %d sources (%d different, complete %t) and reads %d", m.Attempt, len(m.Sources), len(given), m.SourcesComplete, reads)
	}
	for _, k := range needs {
		if !given[k] && bytes < commandBytes && !m.Speculative && j.spec.Graph.Connections[k.Connection].SlowStart == 0 {
			return fmt.Errorf("attempt %d starts without input %v, which is no slow-start", m.Attempt, k)
		}
	}
	return nil
}

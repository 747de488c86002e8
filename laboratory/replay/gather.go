package replay

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// gatherer records the events of jobs, attempts, launchers and the policy.
type gatherer struct {
	r         *Recording
	core      *core.Core
	limits    core.UserLimits // when the log begins
	now       scheduler.Time
	jobs      []*seenJob // in the order of their submission
	byID      map[uint64]*seenJob
	submits   map[uint64]*seenJob // without an answer, by client
	attempts  map[uint64]*seenAttempt
	launchers []*seenLauncher // in the order of their names' first joins
	joining   map[string]*wire.Join
	byNumber  map[uint64]*seenLauncher
	lives     map[uint64]*seenLife
	order     []*seenLife
	changes   map[uint64]scheduler.Config // of settings, by version
	asked     *core.AskPolicy
	askedAt   scheduler.Time
	stops     map[uint64]scheduler.Time // since when attempts are to stop
	unknown   map[uint64]bool           // jobs whose submission is not in the log
	dependent map[uint64]*seenJob       // accepted jobs that wait for others to end, by id
	happened  []seenChange              // in order
	deciding  *seenLife                 // nil: none has started

	rounds                         []Thought
	starts, thinks, ends, suspends []time.Duration // measured durations
	failed                         int
}

// seenJob is a submission.
type seenJob struct {
	id        uint64
	spec      *wire.JobSpec
	submitted scheduler.Time
	ended     scheduler.Time // 0: not in the log
	succeeded bool
	stageEnds map[uint32]scheduler.Time    // end of the last finished task
	groups    map[wireNode]*seenAttempt    // the first attempts to finish, by the first node
	last      *seenAttempt                 // the attempt that published
	widths    map[uint32]uint32            // nodes of stages of which an attempt was started, up to the last
	failures  map[wireNode][]time.Duration // work of attempts before their programs failed, by the first node
}

type wireNode struct{ stage, index uint32 }

// seenAttempt is an attempt. Times of the manager's own.
type seenAttempt struct {
	job       *seenJob
	first     wireNode
	last      bool // of the job's last group
	begun     scheduler.Time
	suspended scheduler.Time // since then; 0: not suspended
	rested    time.Duration
	started   bool
	start     time.Duration // from its launch until the report that its program runs
	over      bool
	hold      time.Duration // how long it held its slots
	waited    time.Duration // the part from its launch to the end of its last writer
	level     int           // the locality level of most of its input; -1: no input
}

// seenLauncher is a launcher by its name, with the times in which it was up.
type seenLauncher struct {
	join  *wire.Join
	spans []span
}

// span is from a join to a loss; to is 0 while the launcher is up.
type span struct {
	incarnation uint64
	from, to    scheduler.Time
}

// seenLife is a life of a policy.
type seenLife struct {
	Started
	rounds        int
	progressEvery time.Duration
	initial       scheduler.Config // what it was started with
	from, up      scheduler.Time   // of its start, and when it decides; 0: never
}

func newGatherer(r *Recording) *gatherer {
	return &gatherer{
		r: r, byID: map[uint64]*seenJob{}, submits: map[uint64]*seenJob{}, attempts: map[uint64]*seenAttempt{}, joining: map[string]*wire.Join{},
		byNumber: map[uint64]*seenLauncher{}, lives: map[uint64]*seenLife{}, changes: map[uint64]scheduler.Config{}, stops: map[uint64]scheduler.Time{}, unknown: map[uint64]bool{}, dependent: map[uint64]*seenJob{},
	}
}

// restored implements listener.
func (g *gatherer) restored(c *core.Core) {
	if g.core == nil {
		g.limits = c.Settings().UserLimits
	} else {
		g.limitsChange(c.Settings().UserLimits)
	}
	g.core, g.asked = c, nil
}

// before implements listener.
func (g *gatherer) before(b *wire.Batch) error {
	g.now = scheduler.Time(b.GetAt())
	for _, in := range b.GetInputs() {
		if err := g.input(in); err != nil {
			return err
		}
	}
	return nil
}

func (g *gatherer) input(in *wire.Input) error {
	switch w := in.GetWhat().(type) {
	case *wire.Input_Submit:
		g.submits[w.Submit.GetClient()] = &seenJob{
			id: w.Submit.GetJob(), spec: independent(w.Submit.GetSpec()), submitted: g.now, stageEnds: map[uint32]scheduler.Time{}, groups: map[wireNode]*seenAttempt{},
		}
	case *wire.Input_KillJob:
		g.change(seenChange{Change: simulation.Change{Kill: proto.CloneOf(w.KillJob)}, job: w.KillJob.GetJob()})
	case *wire.Input_Site:
		g.siteChange(w.Site)
	case *wire.Input_RetryElements:
		g.change(seenChange{Change: simulation.Change{Retry: proto.CloneOf(w.RetryElements)}, job: w.RetryElements.GetJob()})
	case *wire.Input_UpdateJob:
		g.change(seenChange{Change: simulation.Change{Update: proto.CloneOf(w.UpdateJob)}, job: w.UpdateJob.GetJob()})
	case *wire.Input_Drain:
		g.change(seenChange{Change: simulation.Change{Drain: proto.CloneOf(w.Drain)}})
	case *wire.Input_LauncherJoin:
		g.joining[w.LauncherJoin.GetJoin().GetName()] = w.LauncherJoin.GetJoin()
	case *wire.Input_LauncherLost:
		g.lost(w.LauncherLost.GetLauncher())
	case *wire.Input_Report:
		g.report(w.Report.GetReport())
	case *wire.Input_PolicyStart:
		config, known, err := w.PolicyStart.Settings()
		if err != nil {
			return err
		}
		l := &seenLife{Started: Started{w.PolicyStart.GetGeneration(), w.PolicyStart.GetPolicy(), w.PolicyStart.GetFallback(), config, known}, initial: config, from: g.now}
		g.lives[l.Generation] = l
		g.order = append(g.order, l)
	case *wire.Input_PolicyStarted:
		if l := g.lives[w.PolicyStarted.GetGeneration()]; l != nil && scheduler.Ability(w.PolicyStarted.GetAbilities()).Has(scheduler.AbilityProgress) {
			l.progressEvery = time.Duration(w.PolicyStarted.GetProgressEveryNs())
		}
		g.policyChange(in)
	case *wire.Input_PolicyFailed:
		g.policyChange(in)
	case *wire.Input_PolicyAnswer:
		g.answered(w.PolicyAnswer)
	case *wire.Input_Settings:
		if c, known, err := (&wire.PolicyStart{Config: w.Settings.GetConfig()}).Settings(); err == nil && known {
			g.changes[w.Settings.GetVersion()] = c
		}
		g.policyChange(in)
	}
	return nil
}

// after implements listener.
func (g *gatherer) after(_ *wire.Batch, actions []core.Action) error {
	for _, action := range actions {
		switch a := action.(type) {
		case core.Reply:
			g.replied(a)
		case core.ToLauncher:
			g.command(a.Command)
		case core.Welcome:
			g.welcomed(a)
		case core.AskPolicy:
			g.asked, g.askedAt = &a, g.now
		case core.SettingsVerdict:
			if l, c := g.lives[a.Generation], g.changes; l != nil && a.Source == core.VerdictAnswered && len(a.Problems) == 0 {
				l.Settings, l.Known = c[a.Version], true
			}
		case core.JobsChanged:
			g.changed(a)
		}
	}
	return nil
}

// independent copies a submission without the jobs that it waits for, which have ended when it
// comes, and without the run of a schedule that submitted it.
func independent(spec *wire.JobSpec) *wire.JobSpec {
	spec = proto.CloneOf(spec)
	if spec != nil {
		spec.After, spec.Run = nil, nil
	}
	return spec
}

func (g *gatherer) answered(m *wire.PolicyAnswer) {
	if g.asked == nil || g.asked.Generation != m.GetGeneration() || g.asked.Round.Number != m.GetRound() {
		return
	}
	g.asked = nil
	g.thinks = append(g.thinks, g.now.Sub(g.askedAt))
	g.rounds = append(g.rounds, Thought{time.Duration(g.askedAt), time.Duration(g.now)})
	if l := g.lives[m.GetGeneration()]; l != nil {
		l.rounds++
	}
}

// replied records an admitted job. A job that the submitter sends again keeps its first time.
func (g *gatherer) replied(r core.Reply) {
	j := g.submits[r.Client]
	if j == nil || r.Job != scheduler.JobID(j.id) {
		return
	}
	delete(g.submits, r.Client)
	switch {
	case r.Failure != nil || g.byID[j.id] != nil:
	case g.waits(j.id):
		g.dependent[j.id] = j
	default:
		g.admitted(j)
	}
}

func (g *gatherer) admitted(j *seenJob) {
	g.byID[j.id] = j
	g.jobs = append(g.jobs, j)
}

// waits reports whether a job waits for others to end.
func (g *gatherer) waits(id uint64) bool {
	s, ok := g.core.JobStatus(scheduler.JobID(id), false)
	return ok && s.GetSummary().GetState() == wire.JobState_JOB_STATE_WAITING
}

// changed records jobs that wait no longer. For a policy they come at that moment, and those that
// end without it do not come at all.
func (g *gatherer) changed(a core.JobsChanged) {
	for _, id := range a.Jobs {
		j := g.dependent[uint64(id)]
		if j == nil || g.waits(j.id) {
			continue
		}
		s, ok := g.core.JobStatus(id, false)
		switch {
		case ok && s.GetSummary().GetState() == wire.JobState_JOB_STATE_RUNNING:
			j.submitted = g.now
			g.admitted(j)
			delete(g.dependent, j.id)
		case !ok || wire.JobOver(s.GetSummary().GetState()):
			delete(g.dependent, j.id)
		}
	}
	for _, id := range a.Ended {
		g.ended(uint64(id))
	}
}

func (g *gatherer) ended(id uint64) {
	j := g.byID[id]
	if j == nil {
		return
	}
	if s, ok := g.core.JobStatus(scheduler.JobID(id), false); ok && j.ended == 0 {
		j.ended, j.succeeded = g.now, s.GetSummary().GetState() == wire.JobState_JOB_STATE_SUCCEEDED
	}
}

// command records the manager's commands on attempts. A command may be sent twice.
func (g *gatherer) command(c *wire.Command) {
	switch d := c.GetDo().(type) {
	case *wire.Command_Start:
		g.launched(d.Start)
	case *wire.Command_Suspend:
		if a := g.attempts[d.Suspend]; a != nil && a.suspended == 0 {
			a.suspended = g.now
		}
	case *wire.Command_Stop:
		if _, told := g.stops[d.Stop.GetAttempt()]; !told && d.Stop.GetGraceNs() == 0 {
			g.stops[d.Stop.GetAttempt()] = g.now
		}
	}
}

func (g *gatherer) launched(m *wire.StartAttempt) {
	j := g.byID[m.GetJob()]
	if j == nil {
		// The job may be admitted by this very step, or be older than the log.
		for _, waits := range g.submits {
			if waits.id == m.GetJob() {
				j = waits
			}
		}
	}
	if w := g.dependent[m.GetJob()]; j == nil && w != nil {
		if m.GetFinish() != nil {
			return // the cleaning of a job that never started
		}
		w.submitted = g.now // it starts in the very step that ends its wait
		g.admitted(w)
		delete(g.dependent, w.id)
		j = w
	}
	if j == nil {
		g.unknown[m.GetJob()] = true
		return
	}
	if g.attempts[m.GetAttempt()] != nil {
		return
	}
	a := &seenAttempt{job: j, begun: g.now, last: m.GetFinish() != nil, level: -1}
	if !a.last {
		a.first = wireNode{m.GetNodes()[0].GetStage(), m.GetNodes()[0].GetIndex()}
		if j.widths == nil {
			j.widths = map[uint32]uint32{}
		}
		j.widths[a.first.stage] = max(j.widths[a.first.stage], a.first.index+1)
	}
	g.attempts[m.GetAttempt()] = a
}

// report records launchers' reports on attempts.
func (g *gatherer) report(r *wire.Report) {
	switch w := r.GetWhat().(type) {
	case *wire.Report_Started:
		if a := g.attempts[w.Started.GetAttempt()]; a != nil && !a.started {
			a.started, a.start = true, g.now.Sub(a.begun)
			g.starts = append(g.starts, a.start)
		}
	case *wire.Report_Suspended:
		if a := g.attempts[w.Suspended]; a != nil && a.suspended != 0 {
			g.suspends = append(g.suspends, g.now.Sub(a.suspended))
		}
	case *wire.Report_Resumed:
		if a := g.attempts[w.Resumed]; a != nil && a.suspended != 0 {
			a.rested += g.now.Sub(a.suspended)
			a.suspended = 0
		}
	case *wire.Report_Ended:
		g.attemptEnded(w.Ended)
	}
}

func (g *gatherer) attemptEnded(m *wire.AttemptEnded) {
	a := g.attempts[m.GetAttempt()]
	if a == nil || a.over {
		return
	}
	a.over = true
	if a.suspended != 0 {
		a.rested += g.now.Sub(a.suspended)
	}
	a.hold = g.now.Sub(a.begun) - a.rested
	switch {
	case m.GetEnd() == wire.End_END_STOPPED:
		if since, told := g.stops[m.GetAttempt()]; told {
			g.ends = append(g.ends, g.now.Sub(since))
		}
		return
	case m.GetEnd() != wire.End_END_FINISHED:
		g.attemptFailed(a, m)
		return
	case a.last:
		a.job.last = a
		return
	case a.job.groups[a.first] != nil:
		return // another attempt finished first
	}
	most := int64(0)
	for level, n := range m.GetWork().GetRead() {
		if n > most && level < scheduler.LocalityLevels {
			a.level, most = level, n
		}
	}
	a.waited = a.job.waited(a)
	a.job.groups[a.first] = a
	a.job.stageEnds[a.first.stage] = g.now
}

// attemptFailed records a failure. A program fails again in the replay; an attempt that was lost
// with a launcher is lost with it.
func (g *gatherer) attemptFailed(a *seenAttempt, m *wire.AttemptEnded) {
	if m.GetFailure().GetKind() != wire.ErrorKind_ERROR_KIND_PROGRAM || a.last {
		g.failed++
		return
	}
	if a.job.failures == nil {
		a.job.failures = map[wireNode][]time.Duration{}
	}
	a.waited = a.job.waited(a)
	a.job.failures[a.first] = append(a.job.failures[a.first], a.worked())
}

// waited is the time from an attempt's launch to the end of the last task that it reads from, if it
// was launched before that.
func (j *seenJob) waited(a *seenAttempt) time.Duration {
	longest := time.Duration(0)
	for _, c := range j.spec.GetGraph().GetConnections() {
		if c.GetToStage() == a.first.stage && c.GetSlowStart() > 0 {
			longest = max(longest, j.stageEnds[c.GetFromStage()].Sub(a.begun)-a.rested)
		}
	}
	return longest
}

// welcomed records that a launcher has joined.
func (g *gatherer) welcomed(w core.Welcome) {
	join := g.joining[w.Name]
	if w.Refused != "" || join == nil {
		return
	}
	delete(g.joining, w.Name)
	at := slices.IndexFunc(g.launchers, func(l *seenLauncher) bool { return l.join.GetName() == w.Name })
	if at < 0 {
		at = len(g.launchers)
		g.launchers = append(g.launchers, &seenLauncher{})
	}
	l := g.launchers[at]
	l.join = join
	g.byNumber[uint64(w.Launcher)] = l
	if n := len(l.spans); n > 0 && l.spans[n-1].to == 0 {
		if l.spans[n-1].incarnation == join.GetIncarnation() {
			return // it only reconnected
		}
		l.spans[n-1].to = g.now
	}
	l.spans = append(l.spans, span{incarnation: join.GetIncarnation(), from: g.now})
}

func (g *gatherer) lost(launcher uint64) {
	l := g.byNumber[launcher]
	if l == nil || len(l.spans) == 0 {
		return
	}
	if last := &l.spans[len(l.spans)-1]; last.to == 0 {
		last.to = g.now
	}
}

// decided is the policy process that decided most of the rounds, other than the fallback.
func (g *gatherer) decided() *seenLife {
	var most *seenLife
	for _, l := range g.order {
		if !l.Fallback && (most == nil || l.rounds >= most.rounds) {
			most = l
		}
	}
	return most
}

// hosts are the names of machines as they are spelt elsewhere.
func (g *gatherer) hosts() map[string]string {
	names := map[string]string{}
	for _, l := range g.launchers {
		for _, n := range l.join.GetNames() {
			names[n] = l.join.GetHost()
		}
		names[l.join.GetName()] = l.join.GetHost()
	}
	for _, l := range g.launchers {
		names[l.join.GetHost()] = l.join.GetHost()
	}
	return names
}

func sortedKeys[V any](m map[wireNode]V) []wireNode {
	return slices.SortedFunc(maps.Keys(m), func(a, b wireNode) int {
		if a.stage != b.stage {
			return int(a.stage) - int(b.stage)
		}
		return int(a.index) - int(b.index)
	})
}

package policy

import (
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// None is the type of the options or of the state of a policy that has none.
type None = struct{}

// Policy is a scheduling policy with options O, its settings, and state S, its memory. Name, Version and Assign are
// needed. Which other functions are set says what the policy can do. A Policy is not changed after its first New.
type Policy[O, S any] struct {
	Name    string
	Version string
	// Options are the defaults of the settings. O is a struct whose fields have yaml tags. Unknown keys and wrong
	// values are refused with their line.
	Options O
	// Check validates options that were read, and may complete them. WrongSetting names a key in its error, as the
	// errors of settings.Checks do.
	Check func(*O) error
	// Start is called before the first pass, when the view has the cluster as it is. Its Pass only looks: what it
	// decides is dropped. State is what the checkpoint has, and Events are those that came after it.
	Start func(*Pass[O, S]) error
	// Assign decides one round. An error is a fault of the policy: the manager starts it anew.
	Assign func(*Pass[O, S]) error
	// Explain says why a job waits. Without it the reason is the one of the last pass. It is called about once a
	// second for each person who watches the job, so it must not walk all bundles of the job.
	Explain func(Look[O, S], *view.Job) scheduler.Explanation
	// Status shows pools and queues. Without it there is one pool, and the queue is the order of the last pass.
	Status func(Look[O, S]) scheduler.Status
	// Memory keeps the state in the policy's checkpoint. Nil: it is lost at each restart.
	Memory *Memory[S]
	// NoCheckpoint says that the policy keeps nothing over a restart, and so gives no checkpoint: it has no Memory, and
	// does not use LaunchNear or preempt, which remember what they wait for.
	NoCheckpoint bool

	// Admit judges a submission: it returns the pool for the job, "" for the one that it names, or why the job is
	// refused. Nil: the policy is not asked.
	Admit func(p *Pass[O, S], job scheduler.Job) (pool, refusal string)
	// AdmitAdvisory lets jobs in without Admit's verdict while the policy is down or slow.
	AdmitAdvisory bool
	// Page answers a request for one of the policy's own pages, between two passes. It changes nothing.
	Page func(Look[O, S], scheduler.PageAsked) (scheduler.Answer, error)
	// Request answers a request that changes something. It is logged, and comes again when the log is replayed.
	Request func(*Pass[O, S], scheduler.Requested) scheduler.Answer
	// Note takes a note that the policy or its shell posted.
	Note func(*Pass[O, S], scheduler.Note)
	// Progress is how often attempts report their progress, at least 100 ms. 0: never.
	Progress time.Duration
	// Abilities returns what options need of the abilities that the other fields give. The rest is not declared, and
	// costs the manager nothing. It is asked at the start and after each change. Nil: all are needed.
	Abilities func(*O) scheduler.Ability
	// Load asks for the load of launchers' machines.
	Load bool
	// Resumes says that the policy resumes what it suspends, by Pass.Resume. Else the manager does.
	Resumes bool
	// Ahead lets a pass launch ahead what is left ready of one job: see view.View.LaunchAhead. A slot then does not
	// wait for the policy between two short tasks. Pass.NextSlots names the job, if several wait.
	Ahead bool
	// Reports says that the policy itself tells by Pass.Report why jobs wait, so that a pass costs nothing for jobs
	// that it does not look at. Else the package finds the reasons that Pass.Waits does not give.
	Reports bool
}

// New returns the policy for a driver: serve.Main, policytest.Run or a simulation. Each call returns one that has
// not been started. It panics if Name, Version or Assign is missing, or if NoCheckpoint and Memory are both set.
func (p Policy[O, S]) New() scheduler.TaskScheduler {
	if p.Name == "" || p.Version == "" || p.Assign == nil {
		panic("policy: a Policy needs Name, Version and Assign")
	}
	if p.NoCheckpoint && p.Memory != nil {
		panic("policy: a Policy with Memory gives checkpoints: leave out NoCheckpoint")
	}
	d := &driver[O, S]{policy: p}
	if p.Page != nil {
		return &pageDriver[O, S]{d}
	}
	return d
}

// abilities returns what the policy can do and needs with such options, and how often attempts report progress.
func (p *Policy[O, S]) abilities(o *O) (a scheduler.Ability, progress time.Duration) {
	for ability, has := range map[scheduler.Ability]bool{
		scheduler.AbilityProgress: p.Progress > 0, scheduler.AbilityResume: p.Resumes, scheduler.AbilityLoad: p.Load,
		scheduler.AbilityAdmission: p.Admit != nil, scheduler.AbilityAdvisoryAdmission: p.Admit != nil && p.AdmitAdvisory,
		scheduler.AbilityLoggedRequests: p.Request != nil,
	} {
		if has {
			a |= ability
		}
	}
	if p.Abilities != nil {
		a &= p.Abilities(o)
	}
	if a.Has(scheduler.AbilityProgress) {
		progress = p.Progress
	}
	if !p.NoCheckpoint {
		a |= scheduler.AbilityCheckpoint
	}
	if p.Ahead {
		a |= scheduler.AbilityAhead
	}
	return a, progress
}

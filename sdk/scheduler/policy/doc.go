// Package policy makes a scheduling policy of a few values and one function.
//
// A Policy names itself, has the defaults of its settings, and a function Assign. The package does the rest of the
// contract: it mirrors the cluster, reads settings and their changes, keeps a checkpoint, and says why jobs wait.
// This is a whole plug-in:
//
//	type pass = policy.Pass[policy.None, policy.None]
//
//	var smallest = policy.Policy[policy.None, policy.None]{
//		Name: "smallest", Version: "1",
//		Assign: func(p *pass) error {
//			jobs := p.Jobs()
//			slices.SortStableFunc(jobs, func(a, b *view.Job) int { return cmp.Compare(left(a), left(b)) })
//			for _, j := range jobs {
//				p.LaunchNear(j)
//			}
//			return nil
//		},
//	}
//
//	func main() { serve.Main(smallest.New) }
//
// # Passes
//
// Assign is called once for each round, with a Pass. What it decides by the Pass's methods takes effect when it
// returns. Launch and LaunchNear take the slots in the mirror at once, so two launches never use the same slot.
//
// Assign must be deterministic: it reads no clock, file or socket, and orders what it takes from a map. Time is
// Look.Now, and Look.Environment has a seed.
//
// # Below
//
// What has no method here is decided in Pass.Decisions, with what Look.View has. So LaunchNear and Preempt need not be
// used. Policy.Reports turns off the search for reasons, which looks at every job.
//
// # State
//
// What a policy remembers between rounds stands in its state, Look.State. With Memory it is in the policy's
// checkpoint, and survives restarts of plug-in and manager. Variables beside the state are lost at a restart. The
// package keeps its own memory, of LaunchNear's delays and of preemptions, in the same checkpoint.
//
// # Limits
//
// One goroutine makes all calls of one policy. What a Pass or a Look returns is valid until the call returns. For
// whatever is not here, Look.View is the mirror itself, and scheduler.TaskScheduler is the contract below.
package policy

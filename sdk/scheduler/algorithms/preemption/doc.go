// Package preemption finds victims: launches that are stopped so that a bundle can start.
//
//	units := preemption.Units(job, kind, leaving)      // what may be stopped of a job
//	s := preemption.Search{View: v, Bundle: b, Most: 64}
//	victims, where := preemption.FindAmong(s, next, giveBack)
//	p := preemption.Stop(scheduler.Preempt{Mode: mode, For: b.Job.ID()}, victims)
//
// The nouns are a Unit, which is one launch of a bundle with all its groups, and a Search for the
// victims of one bundle. Leaving are the attempts that are being stopped, over restarts too.
//
// next names the victims in the policy's order. They are taken until the bundle fits. Then those
// are given back without which it fits too.
//
// The package decides nothing else. Which launches may be victims, in which order and how often, is
// the policy's.
package preemption

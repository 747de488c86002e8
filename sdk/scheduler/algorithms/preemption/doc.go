// Package preemption finds who has to give way so that a bundle can start.
//
//	s := preemption.Search{View: v, Bundle: b, Most: 64}
//	victims, where := s.Find(next, nil)
//
// next names the victims in the order in which the policy would take them: whole
// bundle attempts, because the rest of one is worth nothing. They are taken until the
// bundle fits, and then those are left out without which it fits too.
//
// Leaving follows who is being stopped, over restarts too.
//
// Nothing is decided here but that: who may be a victim, in which order, and how
// often, is the policy's.
package preemption

// Package shares has the slots of each kind, the pools, the jobs in them, and what each of these
// holds and wants. It follows the events of each round.
//
//	s.Start(v, kinds)
//	s.Rebuild(config)  // and whenever the settings change
//	s.Add(v.Job(id))   // events: Add, Move, Remove, Mark, World.CountLaunchers
//	s.Sync()
//	s.Tree.Next(kind)  // the job that comes first
//
// It decides which jobs may run where pools or users have limits, and what jobs weigh. It gives no
// slots away and takes none back: packages placement and preemption do.
package shares

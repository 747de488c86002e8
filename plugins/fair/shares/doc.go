// Package shares knows who shares what: the slots that there are of each kind, the
// pools, the jobs in them, and what each of these holds and wants, kept up to date
// with the events of each round.
//
//	s.Start(v, kinds)
//	s.Rebuild(config)  // and whenever the settings change
//	s.Add(v.Job(id))   // events: Add, Move, Remove, Mark, World.CountLaunchers
//	s.Sync()
//	s.Tree.Next(kind)  // the job that comes first
//
// It decides which jobs may run where pools or users have limits, and what jobs
// weigh. It gives nothing away: packages placing and starvation do.
package shares

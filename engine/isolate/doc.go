// Package isolate decides as which user of the machine a launcher's workers run, and keeps workers
// of different users apart.
//
//	g, err := isolate.Open(settings, program) // at the launcher's start
//	who, err := g.Find("alice")               // for each worker
//	order := g.Order(who)
//
// With settings of None there is no Guard, and workers run as the launcher's user.
//
// Package sandboxinit is the program between launcher and worker. Package safepath opens and
// removes files that a worker made. Packages cgroup, cpuset and seccomp limit it.
//
// # Users
//
// With launcher.isolation.user: submitter, a launcher that runs as root starts each worker as the
// machine's user of the submitter's name. A launcher without root refuses to start then. With none,
// the default, all workers run as the launcher does; its log and hamadryad_launcher_isolation_info
// say so. A user who is unknown here, root, below leastUID, or excluded by a list fails the attempt
// at once. The message names user and launcher. A submitter is as certain as its proof to the
// manager. Networks and disks are shared.
//
// # Files of workers
//
// The launcher opens what a worker made, as root, by package safepath. It checks the open file: a
// plain file, of the job's user, with one name. Otherwise the attempt has failed, or the reader
// gets the error that the file is damaged. It checks when an attempt ends, and again at each
// opening for a reader, because the user may change the files between. Trees are removed in the
// same way, with a bounded number of open folders, however deep they are.
package isolate

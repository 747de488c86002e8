// Package credentials keeps secrets: the cluster's key, from which tokens are made, and the
// Kerberos tickets that users gave their jobs.
//
//	k, err := credentials.OpenTokenKey(filepath.Join(data, "key"))
//	token := k.Token(run) // for the data connections of a bundle attempt
//	s, err := credentials.OpenTickets(credentials.TicketOptions{Folder: filepath.Join(data, "credentials"), Realms: realms, Log: log})
//	settle, err := s.TakeTicket(ctx, job, user, cache) // at submission, before the core has the job
//	cache, version := s.Of(job, user)                  // for launchers that run it
//	s.Run(ctx, owners, renewed)
//
// # Invariants
//
// The key and each ticket lie in files of their own, which only the manager's user can read. They
// are not in the event log, its checkpoints, the audit, or the environment of another process.
// Tokens reveal nothing of the key.
//
// A ticket is kept only when the KDC confirmed it, and only for a job of its own user. It is
// renewed at about half its life. It is removed when the core says, durably, that the job is over
// or has another owner.
//
// # Trust and delivery
//
// A ticket travels beside the submission and is no part of the job. The core never has it, so it is
// in no log and no checkpoint. The KDC proves it. The manager has it renewed, or replaced where it
// is not renewable, and a KDC does that only for the client of a genuine ticket. Its principal must
// be the job's user (engine/auth/kerberos).
//
// It goes to a launcher before the job's first attempt there, again when the launcher joins, and
// after each renewal. The launcher keeps it in memory. The worker writes it into its own folder, so
// root never writes where a user may put links. Files are named by job and user: a submission that
// the core refuses later must not replace another user's ticket.
package credentials

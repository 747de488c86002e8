// Package access decides who may do what: by roles, which are for the whole cluster, and
// by lists of each pool, which its children inherit.
//
//	rules, err := access.Parse(section)       // err has the line of each problem
//	err = rules.May(who, access.RuleOf(method)) // by role
//	err = rules.Move(who, job, "research/nlp")  // by owner and pool
//
// It is pure: a request is judged by what it carries (who asks, with groups) and by the
// rules alone. So the manager's shell and its core judge alike, and a replay of the event
// log comes to the same.
//
// # What holds
//
// Nobody is let in by default: without a role nobody may do anything, without a list
// nobody but an administrator submits, and a request without a rule is refused. A list
// adds to those of the pools above it, and takes nothing away. A pool that nobody declared
// has what the pools above it have.
//
// # Where it is applied
//
// The shell judges by kind and role: engine/manager/internal/authz checks each method and page. Owner and
// pool are judged where they are known: in the core for submissions, kills, changes and moves, and
// in engine/manager/internal/api for reads. The rules reach the core with its settings, and a request
// carries its caller's name and groups. So both are in the event log, and changed rules take effect
// in the order of the log.
package access

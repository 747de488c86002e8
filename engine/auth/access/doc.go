// Package access decides what a caller may do. Roles are for the whole cluster. Lists are for one
// pool, and its children inherit them.
//
//	rules, err := access.Parse(section)       // err has the line of each problem
//	err = rules.May(kind, caller, rule)         // by role; rule is RuleOf's
//	err = rules.Move(caller, job, "research/nlp") // by owner and pool
//
// It is pure: a request is judged by its content (the caller's name and groups) and by the rules
// alone. So the manager's shell and its core judge alike, and a replay of the event log gives the
// same results.
//
// # Invariants
//
// Nothing is allowed by default. Without a role a caller may do nothing, without a list only an
// administrator submits, and a request without a rule is refused. A list adds to those of the pools
// above it, and takes nothing away. An undeclared pool has the lists of the pools above it.
//
// # Where it is applied
//
// The shell judges by kind and role: engine/manager/internal/authz checks each method and page.
// Owner and pool are judged where they are known: in the core for submissions, kills, changes and
// moves, and in engine/manager/internal/api for reads. The rules reach the core with its settings,
// and a request carries its caller's name and groups. So both are in the event log, and changed
// rules take effect in the order of the log.
package access

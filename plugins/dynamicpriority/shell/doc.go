// Package shell is the part of the policy dynamic-priority that has files and sockets. It
// authenticates callers and submitters, and keeps the budgets.
//
//	func main() { serve.Main(dynamicpriority.New, serve.WithShell(shell.New())) }
//
// Its files lie in the folder that the site grants as policy.store:
//
//	acl      the users: a line "user role key" for each; role is user or admin. It is read again
//	         whenever it has changed, and may be changed at any time. When it is emptied the users
//	         in it stay, and the log warns; to let no user in, remove it.
//	budget   the queues: a line "user budget spending" for each. The policy writes it: change it by
//	         hand only while no manager runs.
//	budget.applied  which changes are in budget, and the name of the store. Leave it beside budget when that
//	         is edited or restored, and copy both. Without it the store is a new one: its amounts count as
//	         they stand, and changes decided before are left out.
//	database in place of budget, the address of a PostgreSQL database with the queues.
//	seen     the signatures that were accepted a short while ago.
//	lock     held by the plug-in that works here.
//
// # Invariants
//
// A caller that can't be authenticated is refused: without a list of keys all are. A signature is
// accepted once, also across restarts, and within skew of the time that it names.
//
// The document accepts of a user only signatures that are later than all before. That refuses
// honest users too: of two commands in one millisecond, or that overtake each other, one is lost.
// So it is a setting (timestamps-rise), and the clients sign again when they are refused.
//
// An entry is applied once, and acknowledged when it is durable. At most one shell works on a
// store.
package shell

// Package policy hosts a scheduling policy for the manager: in its own process
// (InProcess) or as a plug-in process (Launch), behind one interface. Both
// answer the same rounds with the same bytes.
//
// It belongs to the manager's shell. Every call has a deadline of its own. A policy that passes it,
// breaks the protocol or dies ends its Host. The manager closes that Host and starts another.
// Nothing outlives a closed Host: no process, no socket, no goroutine (but for a policy in the same
// process that hangs; nothing can end that).
//
// A plug-in uses half of the processors. Manager and plug-in let their heaps grow to four times the
// live data. GOMAXPROCS and GOGC in the environment override both.
package policy

import (
	"context"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// Host is one policy, from its start to its end. Methods may be called from any
// goroutine; the policy gets one call at a time, and the others wait for their
// turn within their deadline. Errors are *Error, except ErrUnknownJob.
type Host interface {
	// Check validates a configuration. It may be called before Start.
	Check(context.Context, scheduler.Config) error
	// Start starts the policy, once. An error of kind Invalid holds the problems.
	Start(context.Context, scheduler.Config, scheduler.Snapshot, scheduler.Environment) (scheduler.Description, error)
	// AssignTasks takes a round and returns the policy's answer. The deadline is the
	// environment's Limits.RoundDeadline. The round must not change afterwards.
	AssignTasks(context.Context, *scheduler.Round) (Answer, error)
	// Explain returns why a job waits. The error is scheduler.ErrUnknownJob (wrapped) for a job the
	// policy does not know, of kind Busy when a round took too long to wait for, and of kind Unfit
	// when the answer can't be shown. Texts are safe to show. The context ends only the caller's
	// wait; a policy that does not answer within 5 s ends its Host.
	Explain(context.Context, scheduler.JobID) (scheduler.Explanation, error)
	// Status shows pools, shares and queues; errors as Explain.
	Status(context.Context) (scheduler.Status, error)
	// Page answers a request for one of the policy's own pages, of a policy with
	// AbilityPageHandler; errors as Explain. All calls beside the rounds, by Explain, Status, Page
	// and Prove, have a tenth of the time together.
	Page(context.Context, scheduler.PageAsked) (scheduler.Answer, error)
	// Prove asks the authenticator in the plug-in's shell for the user of some credentials; for a
	// policy with AbilityAuthenticator. It does not wait for the policy. An error means that the
	// user is unknown, and never ends the Host.
	Prove(context.Context, scheduler.Credentials) (scheduler.Proof, error)
	// Durable notifies the plug-in's shell that the manager has all rounds up to one on its disk.
	// It returns when the shell was notified, or ctx ended.
	Durable(ctx context.Context, round uint64)
	// Notes returns the notes that the plug-in's shell posts. The channel is closed when the policy
	// has ended. Unread notes delay the shell, not the policy.
	Notes() <-chan scheduler.Note
	// Done is closed when the policy has ended and is cleaned up; Err then says why, nil after a
	// plain Close.
	Done() <-chan struct{}
	Err() error
	// PID is the plug-in's process id, 0 in the manager's own process.
	PID() int
	// Checksum is the SHA-256 of the running program, in hexadecimal; "" in the manager's own
	// process. The file may be another by now. The first call reads the whole program.
	Checksum() string
	// Transport says how rounds reach the policy: TransportSocket, TransportGRPC or TransportNone.
	Transport() string
	// Memory is the resident memory of the plug-in's processes, in bytes, measured at most a second
	// ago, and its bound; 0 in the manager's own process.
	Memory() (used, bound int64)
	// Close ends the policy, asking first and then killing, and waits for the end
	// within bounds. It may be called more than once.
	Close()
}

// Answer is a policy's answer to a round: the bytes, which go to the event log unchanged, and their
// content as decoded by package schedwire.
type Answer struct {
	Bytes     []byte
	Decisions scheduler.Decisions
}

// newAnswer decodes an answer. The errors are those of schedwire.DecodeDecisions.
func newAnswer(b []byte) (Answer, error) {
	d, err := schedwire.DecodeDecisions(b)
	return Answer{b, d}, err
}

// Defaults and bounds. What Options or the environment sets replaces a default.
const (
	startTimeoutDefault  = 10 * time.Second // from exec to the handshake
	roundDeadlineDefault = 10 * time.Second
	answerBytesDefault   = 4 << 20
	// checkTimeout bounds Check, policyStartTimeout Start, which takes a snapshot
	// of any size.
	checkTimeout       = 10 * time.Second
	policyStartTimeout = time.Minute
	// askTimeout bounds Explain and Status, the wait for their turn included.
	askTimeout = 5 * time.Second
	// terminateTimeout bounds the wait for a policy to end by itself, exitTimeout
	// for its process to end after SIGKILL, and closeTimeout Close as a whole.
	terminateTimeout = 2 * time.Second
	exitTimeout      = 5 * time.Second
	closeTimeout     = 15 * time.Second
	// notesMax is how many notes wait to be read.
	notesMax = 64
)

// limits are the environment's limits, with defaults for missing ones.
type limits struct {
	round  time.Duration
	answer int
}

func limitsOf(env scheduler.Environment) limits {
	l := limits{round: roundDeadlineDefault, answer: answerBytesDefault}
	if env.Limits.RoundDeadline > 0 {
		l.round = env.Limits.RoundDeadline
	}
	if env.Limits.AnswerBytes > 0 {
		l.answer = env.Limits.AnswerBytes
	}
	return l
}

package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Shell is the part of a plug-in that accesses files, clocks and sockets. It does not run in a
// simulation, while a policy is checked (Environment.Simulated), or in a replay of a log
// (Environment.Replayed).
type Shell interface {
	// Run is called once, after the policy has started, on a goroutine of its own, and runs until
	// the context ends. If it returns an error earlier, the plug-in ends, and the manager restarts
	// both. If it returns nil earlier, the shell has nothing more to do.
	Run(ctx context.Context, s Surroundings) error
}

// ShellFunc is a Shell that is one function.
type ShellFunc func(ctx context.Context, s Surroundings) error

// Run calls f.
func (f ShellFunc) Run(ctx context.Context, s Surroundings) error { return f(ctx, s) }

// Authenticator is a Shell that authenticates callers and submitters. With one, every submission
// and every request for a page needs its approval. The proof reaches neither a log nor the policy.
type Authenticator interface {
	Shell
	// Prove checks credentials. It is called from several goroutines, concurrently with the
	// policy's rounds, and possibly before Run. An error means that it can't decide now, and access
	// is denied.
	Prove(ctx context.Context, c scheduler.Credentials) (scheduler.Proof, error)
}

// Surroundings are the interfaces that a shell gets.
type Surroundings struct {
	Environment scheduler.Environment
	Config      scheduler.Config // settings at the policy's start
	// Settings receives the versions of the settings that the policy accepted later. An unread
	// version is replaced by the next.
	Settings <-chan scheduler.Config
	// Notes receives each note that the policy got, its own and the shell's, in order, after the
	// manager has written it to disk. Then its consequences may be carried out. If NotesWaitMax
	// notes wait unread, the plug-in ends. After a restart no note is repeated, so each note should
	// include all earlier ones.
	Notes <-chan scheduler.Note
	// Post sends a note to the manager, and returns when it is on its way; the policy gets it as a
	// Noted event. It blocks while too many notes are on their way, so keep reading Notes if you
	// post much. It may be called from any goroutine. It fails if the context has ended, or the
	// note's body is larger than rpc.NoteBytesMax.
	Post func(scheduler.Note) error
}

// NotesWaitMax bounds the notes that wait until they are durable or the shell reads them.
const NotesWaitMax = 10_000

// WithShell runs a shell beside the policy. If it is an Authenticator, it also authenticates.
func WithShell(shell Shell) Option {
	return func(s *server) { s.shell = newShell(shell) }
}

// shellEndMax is how long Terminate waits for the shell to return.
const shellEndMax = 2 * time.Second

// shell is a Shell with its channels. Safe for concurrent use.
type shell struct {
	run      Shell
	posts    chan post // to Watch
	notes    chan scheduler.Note
	settings chan scheduler.Config // capacity 1

	mu            sync.Mutex
	deliveredNote []deliveredNote    // not known to be durable yet
	reached       uint64             // the last round that is known to be durable
	stop          context.CancelFunc // nil: the shell does not run
	done          chan struct{}
}

// deliveredNote is a note that the policy got in a round.
type deliveredNote struct {
	round uint64
	note  scheduler.Note
}

// post is one note and the channel for its result.
type post struct {
	note *schedwire.Note
	sent chan error
}

func newShell(run Shell) *shell {
	return &shell{
		run: run, posts: make(chan post), notes: make(chan scheduler.Note, NotesWaitMax), settings: make(chan scheduler.Config, 1),
	}
}

// abilities returns the abilities that the SDK declares for the policy.
func (h *shell) abilities(env scheduler.Environment) scheduler.Ability {
	if h == nil || env.Simulated || env.Replayed {
		return 0
	}
	if _, authenticator := h.run.(Authenticator); authenticator {
		return scheduler.AbilityAuthenticator
	}
	return 0
}

// start runs the shell until end, if the environment permits it.
func (h *shell) start(config scheduler.Config, env scheduler.Environment) {
	if h == nil || env.Simulated || env.Replayed {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stop, h.done = cancel, make(chan struct{})
	go func() {
		defer close(h.done)
		err := h.run.Run(ctx, Surroundings{
			Environment: env, Config: config, Settings: h.settings, Notes: h.notes,
			Post: func(n scheduler.Note) error { return h.post(ctx, n) },
		})
		if err != nil && ctx.Err() == nil {
			slog.Error("the policy's shell failed", "err", err)
			os.Exit(1)
		}
	}()
}

// end cancels the shell's context and waits for a bounded time.
func (h *shell) end() {
	if h == nil {
		return
	}
	h.mu.Lock()
	stop, done := h.stop, h.done
	h.mu.Unlock()
	if stop == nil {
		return
	}
	stop()
	select {
	case <-done:
	case <-time.After(shellEndMax):
		slog.Warn("the policy's shell did not end in time", "waited", shellEndMax)
	}
}

// post passes a note to Watch.
func (h *shell) post(ctx context.Context, n scheduler.Note) error {
	if len(n.Body) > rpc.NoteBytesMax {
		return fmt.Errorf("note %q has %d bytes; at most %d are allowed: post a summary", n.Name, len(n.Body), rpc.NoteBytesMax)
	}
	if err := ctx.Err(); err != nil {
		return err // Watch may still listen
	}
	m, err := schedwire.NewNote(n)
	if err != nil {
		return err
	}
	p := post{note: m, sent: make(chan error, 1)}
	select {
	case h.posts <- p:
		return <-p.sent
	case <-ctx.Done():
		return ctx.Err()
	}
}

// keepNotes keeps the notes of a round until they are durable.
func (h *shell) keepNotes(r *scheduler.Round) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stop == nil {
		return
	}
	for _, e := range r.Events {
		if n, ok := e.(scheduler.Noted); ok {
			h.deliveredNote = append(h.deliveredNote, deliveredNote{r.Number, n.Note})
		}
	}
	h.deliver() // the manager may write the round before the policy gets it
	if len(h.deliveredNote) > NotesWaitMax {
		h.overrun()
	}
}

// durable delivers to the shell the notes of all rounds up to one.
func (h *shell) durable(round uint64) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reached = max(h.reached, round)
	h.deliver()
}

// deliver delivers the durable notes to the shell; the caller holds mu.
func (h *shell) deliver() {
	n := 0
	for ; n < len(h.deliveredNote) && h.deliveredNote[n].round <= h.reached; n++ {
		select {
		case h.notes <- h.deliveredNote[n].note:
		default:
			h.overrun()
		}
	}
	h.deliveredNote = append(h.deliveredNote[:0], h.deliveredNote[n:]...)
}

// overrun ends the plug-in: otherwise the shell would lose a note.
func (h *shell) overrun() {
	slog.Error("the policy's shell does not read its notes", "waiting", NotesWaitMax)
	os.Exit(1)
}

// accepted passes settings to the shell.
func (h *shell) accepted(c scheduler.Config) {
	if h == nil {
		return
	}
	select {
	case <-h.settings:
	default:
	}
	h.settings <- c // only the holder of the policy's turn sends
}

// prove asks the authenticator.
func (h *shell) prove(ctx context.Context, c scheduler.Credentials) (p scheduler.Proof, err error) {
	authenticator, ok := Authenticator(nil), false
	if h != nil {
		authenticator, ok = h.run.(Authenticator)
	}
	if !ok {
		return p, status.Error(codes.Unimplemented, "the policy has no authenticator")
	}
	defer func() {
		if r := recover(); r != nil {
			slog.Error("the policy's authenticator panicked: nobody is let in by it", "panic", panicIn("Prove", r))
			p, err = scheduler.Proof{}, status.Error(codes.Unavailable, "the policy's authenticator panicked; its log says where")
		}
	}()
	p, err = authenticator.Prove(ctx, c)
	if err != nil && !errors.Is(err, context.Canceled) {
		err = status.Error(codes.Unavailable, cut(err.Error()))
	}
	return p, err
}

package shell

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/serve"
)

const (
	// lockName is the file that the working shell locks.
	lockName = "lock"
	// againMin and againMax bound the backoff after a failure, which doubles.
	againMin = 200 * time.Millisecond
	againMax = 5 * time.Second
)

// Shell authenticates callers and keeps the budgets. Its zero value is not ready: New makes one.
type Shell struct {
	now  func() time.Time
	keys *keys

	mu       sync.Mutex
	settings dynamicpriority.ShellSettings
	marks    *seen // nil: not ready
	began    time.Time
	why      error     // why it is not ready
	told     time.Time // when the log last named a denied caller
	untold   int       // how many it has not named since
}

var _ serve.Authenticator = (*Shell)(nil)

// New returns a shell that denies every caller until it runs.
func New() *Shell {
	return &Shell{now: time.Now, why: errors.New("the policy's shell is starting")}
}

// ready returns why the shell can't authenticate, nil if it can.
func (s *Shell) ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

func (s *Shell) set() dynamicpriority.ShellSettings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings
}

func (s *Shell) configure(c scheduler.Config) error {
	set, err := dynamicpriority.ParseShell(c)
	if err != nil {
		return err // the policy has accepted it, so this can't happen
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings = set
	return nil
}

// Run implements serve.Shell. It retries failures. Meanwhile the policy receives the reason, and
// without budgets it launches nothing.
func (s *Shell) Run(ctx context.Context, of serve.Surroundings) error {
	if err := s.configure(of.Config); err != nil {
		return err
	}
	folder := of.Environment.Store
	if folder == "" {
		return s.without(ctx, of)
	}
	k := &keeper{shell: s, of: of, folder: folder}
	unlock, err := k.locked(ctx)
	if err != nil {
		return nil //nolint:nilerr // it is to end
	}
	defer unlock()
	if host, err := os.Hostname(); err == nil {
		if err := of.Post(scheduler.Note{Name: dynamicpriority.NoteHost, Body: []byte(host)}); err != nil {
			return ended(ctx, err)
		}
	}
	if err := s.begin(folder); err != nil {
		return err
	}
	return ended(ctx, k.run(ctx))
}

// ended returns nil if the shell's context has ended, else err.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// without waits if the site grants no store.
func (s *Shell) without(ctx context.Context, of serve.Surroundings) error {
	const why = "policy.store is not set: name the folder that has the files acl and budget"
	s.mu.Lock()
	s.why = errors.New(why)
	s.mu.Unlock()
	if err := of.Post(scheduler.Note{Name: dynamicpriority.NoteFailed, Body: []byte(why)}); err != nil {
		return ended(ctx, err)
	}
	<-ctx.Done()
	return nil
}

// begin opens the authenticator.
func (s *Shell) begin(folder string) error {
	now := s.now()
	marks, err := openSeen(folder, now.Add(-2*s.set().Skew))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys, s.marks, s.began, s.why = &keys{path: filepath.Join(folder, aclName)}, marks, now, nil
	return nil
}

// keeper keeps the budgets while the shell runs.
type keeper struct {
	shell  *Shell
	of     serve.Surroundings
	folder string

	store  Store          // nil: not open
	told   *account.State // the state last sent to the policy; nil: none
	looked time.Time      // when the store was last read
	blind  bool           // the last read failed, and the policy was informed
	begun  bool           // an entry was applied
	due    []account.Entry
	pause  time.Duration // before the next try; 0: no failure
	again  time.Time     // time of the next try
}

// locked waits until no other shell works on the store: the shell of a replaced policy may still
// write its last entries.
func (k *keeper) locked(ctx context.Context) (unlock func(), err error) {
	for waited := false; ; waited = true {
		f, err := os.OpenFile(filepath.Join(k.folder, lockName), os.O_CREATE|os.O_RDWR, 0o600)
		if err == nil {
			if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
				k.pause = 0
				return func() { _ = f.Close() }, nil
			}
			_ = f.Close()
			if !errors.Is(err, syscall.EWOULDBLOCK) {
				err = fmt.Errorf("policy.store: lock: %w", err)
			} else if err = nil; waited { // the replaced shell has ended
				err = fmt.Errorf("another plug-in works in %s", k.folder)
			}
		} else { // the folder does not exist, or is not ours
			err = fmt.Errorf("policy.store: %w", err)
		}
		if err != nil {
			k.fail(err)
		}
		if err := k.rest(ctx); err != nil {
			return nil, err
		}
	}
}

// rest waits before the next try.
func (k *keeper) rest(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(max(k.pause, againMin)):
		return nil
	}
}

// fail reports to the policy why the store fails. The next try follows after a pause.
func (k *keeper) fail(err error) {
	slog.Error("the store of budgets fails: it is tried again", "error", err)
	k.pause = min(max(2*k.pause, againMin), againMax)
	k.again = time.Now().Add(k.pause)
	_ = k.of.Post(scheduler.Note{Name: dynamicpriority.NoteFailed, Body: []byte(err.Error())})
}

// run sends the policy the state, and applies its entries, until ctx ends.
func (k *keeper) run(ctx context.Context) error {
	defer func() {
		if k.store != nil {
			k.store.Close()
		}
	}()
	wake := time.NewTimer(0)
	defer wake.Stop()
	for {
		if err := k.work(ctx); err != nil {
			return err
		}
		wake.Reset(k.wait())
		select {
		case <-ctx.Done():
			return nil
		case c := <-k.of.Settings:
			if err := k.shell.configure(c); err != nil {
				return err
			}
		case n := <-k.of.Notes:
			if err := k.take(n); err != nil {
				return err
			}
		case <-wake.C:
		}
	}
}

// wait returns how long the keeper may wait if no note arrives.
func (k *keeper) wait() time.Duration {
	every := k.shell.set().PollInterval
	switch {
	case k.pause > 0:
		return time.Until(k.again)
	case k.store.Shared():
		return time.Until(k.looked.Add(every))
	}
	return every
}

// take handles a note of the policy.
func (k *keeper) take(n scheduler.Note) error {
	if n.Name != dynamicpriority.NoteEntries {
		return nil // one of our own
	}
	entries, err := account.ParseEntries(n.Body)
	if err != nil {
		return fmt.Errorf("what the policy posts can't be read: %w", err)
	}
	k.due = append(k.due, entries...)
	return nil
}

// work opens the store if necessary, reads it when that is due, and applies pending entries. Failed
// work stays due until after a pause: meanwhile notes arrive, including those about failures.
func (k *keeper) work(ctx context.Context) error {
	if k.pause > 0 && time.Now().Before(k.again) {
		return nil
	}
	if k.store == nil {
		store, err := open(ctx, k.folder)
		if err != nil {
			k.fail(err)
			return nil
		}
		k.store = store
	}
	polls := k.store.Shared() && time.Since(k.looked) >= k.shell.set().PollInterval
	if (k.told == nil || k.blind || polls) && !k.look(ctx) || len(k.due) == 0 {
		return nil
	}
	if first := k.due[0].Number; first > k.told.Applied+1 && !k.begun {
		// A starting policy posts all its unacknowledged entries: there are no others.
		slog.Warn("the store of budgets is from before the policy's last changes: it was restored from a backup, or is another one; its amounts count as they stand",
			"lastChange", k.told.Applied, "nextChange", first)
	} else if first > k.told.Applied+1 {
		return fmt.Errorf("entries up to %d are applied, and the next that is posted is %d: some were lost; the policy posts them again when it starts", k.told.Applied, first)
	}
	applied, err := k.store.Apply(ctx, k.due)
	if err != nil {
		k.fail(err)
		return nil
	}
	for _, e := range k.due {
		k.told.Apply(e)
	}
	k.due, k.pause, k.begun = nil, 0, true
	return k.of.Post(scheduler.Note{Name: dynamicpriority.NoteApplied, Body: strconv.AppendUint(nil, applied, 10)})
}

// look reads the store, and sends the policy the state if that differs from what it knows, or after
// a failure. It reports whether the read succeeded.
func (k *keeper) look(ctx context.Context) bool {
	was := k.blind
	state, err := k.store.Load(ctx)
	k.looked, k.blind = time.Now(), err != nil
	if err != nil {
		k.fail(err)
		return false
	}
	if k.told == nil || was {
		k.pause = 0
	} else if same(k.told, state) {
		return true
	}
	if state.Store != "" && (k.told == nil || k.told.Store != state.Store) && k.of.Post(scheduler.Note{Name: dynamicpriority.NoteFrom, Body: []byte(state.Store)}) != nil {
		return false
	}
	for _, part := range state.Marshal(dynamicpriority.NoteBytesMax) {
		if k.of.Post(scheduler.Note{Name: dynamicpriority.NoteStore, Body: part}) != nil {
			return false // the context ended
		}
	}
	k.told = state
	return true
}

func same(a, b *account.State) bool {
	if a.Applied != b.Applied || a.Store != b.Store || len(a.Queues()) != len(b.Queues()) {
		return false
	}
	for i, q := range a.Queues() {
		if *q != *b.Queues()[i] {
			return false
		}
	}
	return true
}

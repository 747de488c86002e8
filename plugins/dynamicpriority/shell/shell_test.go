package shell

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/serve"
)

// waitMax bounds what a test waits for a note.
const waitMax = time.Minute

// running is a running shell, with a stand-in for its policy.
type running struct {
	t     *testing.T
	posts chan scheduler.Note
	notes chan scheduler.Note
	end   context.CancelFunc
	ended chan error
}

func run(t *testing.T, folder string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{t, make(chan scheduler.Note, 100), make(chan scheduler.Note, 100), cancel, make(chan error, 1)}
	go func() {
		r.ended <- New().Run(ctx, serve.Surroundings{
			Environment: scheduler.Environment{Store: folder}, Config: scheduler.Config{Text: []byte("poll-interval: 100ms")}, Settings: make(chan scheduler.Config), Notes: r.notes,
			Post: func(n scheduler.Note) error {
				select {
				case r.posts <- n:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			},
		})
	}()
	t.Cleanup(cancel)
	return r
}

// next waits for a note of a name, and passes over those of others.
func (r *running) next(name string) string {
	r.t.Helper()
	timeout := time.After(waitMax)
	for {
		select {
		case n := <-r.posts:
			if n.Name == name {
				return string(n.Body)
			}
		case err := <-r.ended:
			r.t.Fatalf("it ended before it posted %s: %v", name, err)
		case <-timeout:
			r.t.Fatalf("it has not posted %s", name)
		}
	}
}

func (r *running) entries(list ...account.Entry) {
	for _, part := range account.MarshalEntries(list, dynamicpriority.NoteBytesMax) {
		r.notes <- scheduler.Note{Name: dynamicpriority.NoteEntries, Body: part}
	}
}

func (r *running) stop() {
	r.t.Helper()
	r.end()
	if err := <-r.ended; err != nil {
		r.t.Error(err)
	}
}

// place puts a file of budgets there as a whole: a shell that looks meanwhile finds no half.
func place(t *testing.T, folder, budget string) {
	t.Helper()
	path := filepath.Join(folder, budgetName)
	if err := os.WriteFile(path+".new", []byte(budget), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func folderWith(t *testing.T, budget string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, budgetName), []byte(budget), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

func budgets(t *testing.T, folder string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, budgetName))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func pays(number uint64, amount money.Amount) account.Entry {
	return account.Entry{Number: number, Kind: account.Charge, Queue: "ann", Amount: amount * money.Credit, Interval: int64(number)}
}

// The policy receives the state; its entries are applied once, and acknowledged.
func TestBudgetsAreKept(t *testing.T) {
	folder := folderWith(t, "ann 100 1\n")
	r := run(t, folder)
	if host, err := os.Hostname(); err != nil || r.next(dynamicpriority.NoteHost) != host {
		t.Error("it does not tell the host")
	}
	if got := r.next(dynamicpriority.NoteStore); got != "applied 0 part 1 of 1\nann 100.0 1.0 0\n" {
		t.Errorf("it tells %q", got)
	}
	r.entries(pays(1, 10), pays(2, 20))
	if got := r.next(dynamicpriority.NoteApplied); got != "2" {
		t.Errorf("%s is applied", got)
	}
	r.entries(pays(2, 20), pays(3, 30))
	if got := r.next(dynamicpriority.NoteApplied); got != "3" {
		t.Errorf("%s is applied", got)
	}
	if got := budgets(t, folder); got != "# applied 3\nann 40.0 1.0 3\n" {
		t.Errorf("the file has %q", got)
	}
	r.entries(pays(5, 1))
	if err := <-r.ended; err == nil || !strings.Contains(err.Error(), "some were lost") {
		t.Errorf("with a gap it ends with %v", err)
	}
	if got := budgets(t, folder); got != "# applied 3\nann 40.0 1.0 3\n" {
		t.Errorf("after it the file has %q", got)
	}
}

// One that takes over begins when the one before has let go, with all that this one did.
func TestOneShellAfterAnother(t *testing.T) {
	folder := folderWith(t, "ann 100 1\n")
	first := run(t, folder)
	first.next(dynamicpriority.NoteStore)
	second := run(t, folder)
	if got := second.next(dynamicpriority.NoteFailed); !strings.HasPrefix(got, "another plug-in works in") {
		t.Errorf("it tells %q", got)
	}
	first.entries(pays(1, 10))
	first.next(dynamicpriority.NoteApplied)
	first.stop()
	if got := second.next(dynamicpriority.NoteStore); got != "applied 1 part 1 of 1\nann 90.0 1.0 1\n" {
		t.Errorf("it tells %q", got)
	}
	second.stop()
}

// Without its files the shell reports why, and continues as soon as they exist.
func TestWhatItNeedsComesLater(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "later")
	r := run(t, folder)
	if got := r.next(dynamicpriority.NoteFailed); !strings.Contains(got, "no such file") {
		t.Errorf("without a folder it tells %q", got)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for got := ""; !strings.Contains(got, "make the file"); got = r.next(dynamicpriority.NoteFailed) {
	}
	place(t, folder, "# applied 0\nann x 1\n")
	for got := ""; !strings.Contains(got, "budget: line 2: the budget"); got = r.next(dynamicpriority.NoteFailed) {
	}
	r.entries(pays(1, 10)) // from a policy that has taken over and knows of them already
	place(t, folder, "ann 50 1\n")
	if got := r.next(dynamicpriority.NoteStore); !strings.Contains(got, "ann 50.0") {
		t.Errorf("it tells %q", got)
	}
	if r.next(dynamicpriority.NoteApplied) != "1" || budgets(t, folder) != "# applied 1\nann 40.0 1.0 1\n" {
		t.Errorf("the file has %q", budgets(t, folder))
	}
	r.stop()

	r = run(t, "")
	if got := r.next(dynamicpriority.NoteFailed); !strings.HasPrefix(got, "policy.store is not set") {
		t.Errorf("without a store it tells %q", got)
	}
	r.stop()
}

// Another program's change in a database reaches the policy. Both places at once are refused.
func TestTwoPlaces(t *testing.T) {
	folder := folderWith(t, "")
	if err := os.WriteFile(filepath.Join(folder, databaseName), []byte("postgres://secret@/x"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := run(t, folder)
	if got := r.next(dynamicpriority.NoteFailed); !strings.Contains(got, "remove the one") || strings.Contains(got, "secret") {
		t.Errorf("it tells %q", got)
	}
	r.stop()
}

// A failed write is retried after growing pauses, although its note comes back from the log at
// once.
func TestAFailureIsNotTriedAtOnce(t *testing.T) {
	folder := t.TempDir() // without budgets
	synctest.Test(t, func(t *testing.T) {
		r := run(t, folder)
		tries := 0
		for until := time.Now().Add(time.Minute); time.Now().Before(until); {
			select {
			case n := <-r.posts:
				if n.Name == dynamicpriority.NoteFailed {
					tries++
				}
				r.notes <- n
			case <-time.After(time.Second):
			}
			if tries > 100 {
				t.Fatalf("it is tried %d times in %v", tries, time.Minute-time.Until(until))
			}
		}
		if tries < 10 {
			t.Errorf("it is tried %d times in a minute", tries)
		}
		r.stop()
	})
}

// A store restored from a backup is behind the policy. What it posts first is applied to the
// present amounts, and nothing is requested that does not exist.
func TestARestoredStore(t *testing.T) {
	folder := folderWith(t, "ann 100 1\n")
	r := run(t, folder)
	name := r.next(dynamicpriority.NoteFrom)
	r.next(dynamicpriority.NoteStore)
	r.entries(pays(1, 10))
	r.next(dynamicpriority.NoteApplied)
	r.stop()

	r = run(t, folder)
	if again := r.next(dynamicpriority.NoteFrom); again != name {
		t.Errorf("it is store %q, and was %q", again, name)
	}
	r.next(dynamicpriority.NoteStore)
	r.entries(pays(1, 10), pays(2, 10)) // from an older checkpoint
	if got := r.next(dynamicpriority.NoteApplied); got != "2" {
		t.Errorf("%s is applied", got)
	}
	r.stop()

	place(t, folder, "# a comment, thought somebody\nann 80 1\n")
	r = run(t, folder)
	if got := r.next(dynamicpriority.NoteStore); got != "applied 2 part 1 of 1\nann 80.0 1.0 0\n" {
		t.Errorf("it tells %q", got)
	}
	r.entries(pays(1, 10), pays(2, 10), pays(3, 10))
	if got := r.next(dynamicpriority.NoteApplied); got != "3" || !strings.Contains(budgets(t, folder), "\nann 70.0 1.0 3\n") {
		t.Errorf("%s is applied, and the file has %q", got, budgets(t, folder))
	}
	r.stop()

	if err := os.Remove(filepath.Join(folder, budgetName+".applied")); err != nil {
		t.Fatal(err)
	}
	place(t, folder, "ann 50 1\n")
	r = run(t, folder)
	if another := r.next(dynamicpriority.NoteFrom); another == name {
		t.Errorf("a store that is made anew has the name of the old one")
	}
	r.next(dynamicpriority.NoteStore)
	r.entries(pays(8, 10))
	if got := r.next(dynamicpriority.NoteApplied); got != "8" || budgets(t, folder) != "# applied 8\nann 40.0 1.0 8\n" {
		t.Errorf("%s is applied, and the file has %q", got, budgets(t, folder))
	}
	r.stop()
}

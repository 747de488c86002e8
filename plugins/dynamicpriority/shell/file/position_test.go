package file

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
)

var histories = flag.Int("histories", 30, "random histories of TestEachChangeCountsOnce")

const (
	// entriesMax is how many changes a history has. Change n adds 1<<n, so that an amount shows
	// which changes are in it, and if one is in it twice.
	entriesMax = 30
	// byHand is the least amount that somebody adds by an edit.
	byHand = 1 << (entriesMax + 1)
)

var errKilled = errors.New("killed")

// books is a text of budgets, with its content.
type books struct {
	text     string
	position []byte // nil: it was not kept with it
	changes  uint64 // a bit for each
	edits    money.Amount
}

// world is a folder, a policy, and a person who edits, restores and copies.
type world struct {
	t   *testing.T
	rng *rand.Rand

	path    string
	is      books // the file's content, as of the last read of text and position
	backups []books
	store   *Store // nil: nothing runs
	steps   int    // writes until it is killed; negative: it is not

	last     uint64 // that the policy decided
	acked    uint64 // as the policy's last checkpoint has it, which may be old
	from     string // the store that the policy knows
	dropped  uint64 // up to which changes were for another store
	mayLack  uint64 // changes that may be missing: somebody put older amounts in place
	restores int
}

func (w *world) budget() string {
	text, err := os.ReadFile(w.path)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

func (w *world) put(path, text string) {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) replace(path string, text []byte) error {
	if w.steps == 0 {
		return errKilled
	}
	w.steps--
	w.put(path, string(text)) // what no power cut threatens need not be synced
	return nil
}

// start opens the store as a policy's restart does, and posts the unacknowledged entries.
func (w *world) start() {
	s, err := Open(w.path)
	if err != nil && strings.Contains(err.Error(), "in the middle of a write") {
		w.declare(err)
		s, err = Open(w.path)
	}
	if err != nil {
		w.t.Fatalf("%v\n%s", err, w.budget())
	}
	if err := s.Begin(); err != nil {
		w.t.Fatal(err)
	}
	w.store, s.replace = s, w.replace
	state, err := s.Load(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if w.from != "" && w.from != state.Store {
		w.dropped, w.mayLack = w.last, bits(w.last)
	}
	w.from = state.Store
	w.last = max(w.last, state.Applied)
	if lack := bits(state.Applied) &^ w.is.changes &^ w.mayLack; lack != 0 {
		w.t.Fatalf("changes %b count as applied and are not in the amounts", lack)
	}
	w.holds()
	w.apply(max(w.acked, w.dropped, state.Applied) + 1)
}

// declare does what the error asks for: a person declares the amounts.
func (w *world) declare(err error) {
	p, wrong := readPosition(w.path + positionSuffix)
	if wrong != nil || p == nil || p.Next == nil {
		w.t.Fatalf("%v, %v", err, wrong)
	}
	has := p.Applied
	if w.is.changes&^bits(has) != 0 {
		if has = p.Next.Applied; w.is.changes&(1<<has) == 0 {
			w.mayLack |= bits(has) // it is from another time: in doubt nothing counts twice
		}
	}
	w.put(w.path, fmt.Sprintf("%s%d\n%s", header, has, w.budget()))
}

func bits(upTo uint64) uint64 { return 1<<(upTo+1) - 2 }

// holds says whether the file has what it should.
func (w *world) holds() {
	w.t.Helper()
	q := w.store.state.Queue("ann")
	if want := money.Amount(w.is.changes) + w.is.edits; q == nil || q.Budget != want { //nolint:gosec // small
		w.t.Fatalf("the queue has %+v, want changes %b and %d by hand", q, w.is.changes, w.is.edits/byHand)
	}
}

// apply posts the policy's changes from one on, some of which may have been applied, and may be killed in it.
func (w *world) apply(from uint64) {
	var list []account.Entry
	for n := from; n <= w.last; n++ {
		list = append(list, account.Entry{Number: n, Kind: account.AddBudget, Queue: "ann", Amount: 1 << n})
	}
	if len(list) == 0 {
		return
	}
	w.steps = -1
	if w.rng.IntN(3) == 0 {
		w.steps = w.rng.IntN(3)
	}
	before, killed := w.store.state.Applied, w.steps
	_, err := w.store.Apply(w.t.Context(), list)
	if err != nil && !errors.Is(err, errKilled) {
		w.t.Fatal(err)
	}
	if err == nil || killed == 2 { // the text was written
		for n := max(from, before+1); n <= w.last; n++ {
			w.is.changes |= 1 << n
		}
	}
	if err != nil {
		w.store = nil
		return
	}
	if w.holds(); w.rng.IntN(2) == 0 { // else the checkpoint is older
		w.acked = w.last
	}
}

func (w *world) decide() {
	from := max(w.acked, w.dropped) + 1
	w.last = min(w.last+1+w.rng.Uint64N(2), entriesMax)
	w.apply(from)
}

// edit changes the budgets as a person does with an editor.
func (w *world) edit() {
	add := money.Amount(w.rng.IntN(3)) * byHand
	// Only the first line reveals newer amounts beside an older position.
	p, err := readPosition(w.path + positionSuffix)
	keeps := err != nil || p != nil && w.is.changes&^bits(p.Applied) != 0 && (p.Next == nil || w.is.changes&^bits(p.Next.Applied) != 0)
	var lines []string
	for line := range strings.Lines(w.budget()) {
		f := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "#"):
			if keeps || w.rng.IntN(2) == 0 {
				lines = append(lines, line)
			}
			continue
		case w.rng.IntN(2) == 0:
			f = f[:3]
		}
		budget, err := money.Parse(f[1])
		if err != nil {
			w.t.Fatal(err)
		}
		f[1] = (budget + add).String()
		lines = append(lines, strings.Join(f, " ")+"\n")
	}
	w.is.edits += add
	w.put(w.path, strings.Join(lines, ""))
}

func (w *world) backup() {
	b := w.is
	b.text, b.position = w.budget(), nil
	if position, err := os.ReadFile(w.path + positionSuffix); err == nil && w.rng.IntN(2) == 0 {
		b.position = position
	}
	w.backups = append(w.backups, b)
}

// restore puts a backup in place, of the budgets or of the whole folder; or goes on in a copy elsewhere.
func (w *world) restore() {
	b := w.backups[w.rng.IntN(len(w.backups))]
	if w.rng.IntN(3) == 0 {
		w.path = filepath.Join(w.t.TempDir(), "budget")
	}
	w.is, w.mayLack = b, bits(w.last)
	w.restores++
	w.put(w.path, b.text)
	if b.position != nil {
		w.put(w.path+positionSuffix, string(b.position))
	}
}

func (w *world) play() {
	w.start()
	for range 40 {
		switch n := w.rng.IntN(10); {
		case w.store != nil && n < 6:
			w.decide()
		case w.store != nil:
			w.store = nil // killed between two writes
		case n < 4:
			w.start()
		case n < 6:
			w.edit()
		case n < 8:
			w.backup()
		case n == 8 && len(w.backups) > 0:
			w.restore()
		case n == 9 && w.rng.IntN(4) == 0:
			_ = os.Remove(w.path + positionSuffix)
		}
	}
	for w.store == nil {
		w.start()
	}
	if lack := bits(w.last) &^ w.is.changes &^ w.mayLack; lack != 0 {
		w.t.Fatalf("changes %b are not in the amounts", lack)
	}
}

// TestEachChangeCountsOnce: a policy decides, is killed in the middle of writes and restarted from older
// checkpoints; meanwhile somebody edits the budgets, restores and copies them, and removes files. No change is ever in an amount
// twice; and all are in it, unless somebody put older amounts in place.
func TestEachChangeCountsOnce(t *testing.T) {
	said := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	defer slog.SetDefault(said)
	restores := 0
	for seed := range uint64(*histories) {
		//nolint:gosec // a count
		w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 18)), steps: -1, path: filepath.Join(t.TempDir(), "budget")} //nolint:gosec // seeded on purpose
		w.put(w.path, "ann 0 1\n")
		func() {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			w.play()
		}()
		restores += w.restores
	}
	if restores < *histories/10 {
		t.Errorf("only %d restores", restores)
	}
}

// TestAnEditedFile: what is applied again after an edit by hand changes nothing, and a file without
// any queue is refused.
func TestAnEditedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budget")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("ann 100 1\n")
	entries := []account.Entry{{Number: 1, Kind: account.Charge, Queue: "ann", Amount: money.Credit, Interval: 7}, {Number: 2, Kind: account.AddBudget, Queue: "ann", Amount: 5 * money.Credit}}
	for _, edited := range []string{"", "ann 204 1\n", "# changed by hand\nann 204 1\n", "# applied 0\nann 204 1 0\n"} {
		if edited != "" {
			write(edited)
		}
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		applied, err := s.Apply(t.Context(), entries)
		text, _ := os.ReadFile(path)
		if want := map[bool]string{true: "ann 104.0 ", false: "ann 204 "}[edited == ""]; err != nil || applied != 2 || !strings.Contains(string(text), want) {
			t.Errorf("%q: %d are applied, %v, the file has\n%s", edited, applied, err, text)
		}
	}
	write("# nothing\n")
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "no queue is in it, and 1 were") {
		t.Errorf("an emptied file: %v", err)
	}
}

// TestNewerAmountsBesideAnOlderPosition: half of a backup, put back. With their first line the
// amounts say themselves what is in them. Without it they are refused where a queue was charged
// since, and nothing changes.
func TestNewerAmountsBesideAnOlderPosition(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budget")
	put := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	put(path, "ann 100 1\nbob 100 1\n")
	entries := []account.Entry{
		{Number: 1, Kind: account.Charge, Queue: "ann", Amount: money.Credit, Interval: 7},
		{Number: 2, Kind: account.Charge, Queue: "bob", Amount: money.Credit, Interval: 9},
	}
	var older string
	for i := range entries {
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			older = read(path + positionSuffix)
		}
		if _, err := s.Apply(t.Context(), entries[i:i+1]); err != nil {
			t.Fatal(err)
		}
	}
	newer := read(path)
	_, amounts, _ := strings.Cut(newer, "\n")
	put(path+positionSuffix, older)
	put(path, amounts)
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "its amounts are newer than the file .applied beside it") {
		t.Errorf("amounts without their first line: %v", err)
	}
	if read(path) != amounts || read(path+positionSuffix) != older {
		t.Error("a refusal changes the files")
	}
	put(path, newer)
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if applied, err := s.Apply(t.Context(), entries); err != nil || applied != 2 || read(path) != newer {
		t.Errorf("amounts with their first line: %d are applied, %v, the file has\n%s", applied, err, read(path))
	}
}

// TestWhoLooksDoesNoHarm: a file may be opened while another writes: who looks sees all changes up to one, and
// changes nothing.
func TestWhoLooksDoesNoHarm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budget")
	if err := os.WriteFile(path, []byte("ann 0 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path)
	if err == nil {
		err = s.Begin()
	}
	if err != nil {
		t.Fatal(err)
	}
	look := func() {
		t.Helper()
		before, _ := os.ReadFile(path + positionSuffix)
		other, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if q := other.state.Queue("ann"); q.Budget != money.Amount(other.state.Applied) { //nolint:gosec // small
			t.Errorf("%d are applied, and the queue has %d", other.state.Applied, q.Budget)
		}
		if after, _ := os.ReadFile(path + positionSuffix); string(after) != string(before) {
			t.Errorf("it was %s and is %s", before, after)
		}
	}
	s.replace = func(path string, text []byte) error {
		look()
		err := os.WriteFile(path, text, 0o600)
		look()
		return err
	}
	for n := range uint64(5) {
		if _, err := s.Apply(t.Context(), []account.Entry{{Number: n + 1, Kind: account.AddBudget, Queue: "ann", Amount: 1}}); err != nil {
			t.Fatal(err)
		}
	}
}

// A position of another version is refused by its version, and it and the budgets are left
// as they are.
func TestPositionsOfOtherVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "budget")
	budgets := []byte("ann 10.0 1.0\n")
	if err := os.WriteFile(path, budgets, 0o600); err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]string{"0": "use the program that wrote it", "2": "or a newer one"} {
		position := []byte(`{"version": ` + version + `, "store": "x", "applied": 3, "budget": "", "queues": 0}`)
		if err := os.WriteFile(path+positionSuffix, position, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "has version "+version+", and this program reads 1: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("version %s: %v", version, err)
		}
		is, err := os.ReadFile(path)
		at, err2 := os.ReadFile(path + positionSuffix)
		if err != nil || err2 != nil || string(is) != string(budgets) || string(at) != string(position) {
			t.Errorf("version %s: %q and %q, %v, %v", version, is, at, err, err2)
		}
	}
}

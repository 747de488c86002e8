// Package file keeps the budgets of the policy dynamic-priority in a file (section 6.5 of its
// document). It has a line "user budget spending" for each queue.
//
//	s, err := file.Open(path)
//	err = s.Begin()
//	applied, err := s.Apply(ctx, entries)
//
// The policy adds a fourth word to a line: the end of the interval that was charged last, in
// nanoseconds since 1970. It adds a first line with the number of the last change in the file. Both
// may be missing, as in a file written by hand, or by the original. Each change replaces the whole
// file. Lines that begin with # stay in it.
//
// The file budget.applied beside it says which changes are in the file. So budgets may be edited,
// copied or restored while no manager runs. Their amounts count as they stand, and no change is
// applied twice.
//
// The first line decides where its number is larger than that of budget.applied, or there is none.
// It also decides after a crash in the middle of a write that was followed by an edit. Newer
// amounts that are put beside an older budget.applied need their first line. Without it they are
// refused where a queue was charged since. Other changes that only they have can't be detected.
//
// # Lines that can't be read
//
// In a file without that first line, a line that is no queue is left out. It is named in the log,
// and stays in the file as a remark. Its user has no queue until it is mended, and the others have
// theirs.
//
// A file that the policy has written is refused instead, with the line: open changes may be for
// that very queue, and would be lost. A file with a queue twice is refused, too.
package file

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/internal/atomicfile"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
)

// bytesMax bounds the file, in bytes: far more than all queues need.
const bytesMax = 64 << 20

const (
	// header begins a file that the policy wrote.
	header = "# applied "
	// leftOut begins the remark that replaces an unreadable line.
	leftOut = "# left out: "
)

// Store is a file of budgets. It is for one goroutine.
type Store struct {
	path     string
	state    *account.State
	remarks  []string // whole lines
	position *position
	edited   bool                                 // the file differs from the last one written
	settled  bool                                 // the position's file matches the position
	replace  func(path string, text []byte) error // atomicfile.Replace, except in tests
}

// Open reads a file, which must exist. It changes nothing, so a mere reader does not harm a writer.
// The log names lines that are left out. An error names an unreadable line, and then nothing of the
// file is used.
func Open(path string) (*Store, error) {
	// Read the position first: a concurrent writer leaves newer amounts, whose first line shows
	// that.
	p, err := readPosition(path + positionSuffix)
	if err != nil {
		return nil, fmt.Errorf("the budgets: %w", err)
	}
	text, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("the budgets: %w", err)
	}
	s := &Store{path: path, state: &account.State{}, replace: atomicfile.Replace}
	is := &found{}
	if err := s.parse(text, is); err != nil {
		return nil, fmt.Errorf("the budgets: %s: %w: mend it while no manager runs", path, err)
	}
	is.mark = markOf(text, s.state)
	isNew := p == nil
	if isNew {
		p = newPosition(is.told)
	}
	was := *p
	if err := p.reconcile(is); err != nil {
		return nil, fmt.Errorf("the budgets: %s: %w", path, err)
	}
	s.edited, s.settled = is.edited, was == *p && !isNew
	s.position, s.state.Applied, s.state.Store = p, p.Applied, p.Store
	return s, nil
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: make the file, empty when there are no queues yet", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, bytesMax+1))
	if err == nil && len(text) > bytesMax {
		err = fmt.Errorf("%s has more than %d bytes", path, bytesMax)
	}
	return text, err
}

// Begin records which changes are in the file, and the name of a new store. A shell that applies
// changes must call it before it sends the state.
func (s *Store) Begin() error {
	if s.edited {
		slog.Warn("the budgets are not as the policy wrote them last: somebody edited, copied or restored them; their amounts count as they stand, and changes that were applied before are not applied again",
			"file", s.path, "applied", s.state.Applied)
	}
	if s.settled {
		return nil
	}
	if err := s.replace(s.path+positionSuffix, s.position.text()); err != nil {
		return fmt.Errorf("the budgets: %w", err)
	}
	s.settled = true
	return nil
}

func (s *Store) parse(text []byte, f *found) error {
	first, _, _ := strings.Cut(string(text), "\n")
	number, ours := strings.CutPrefix(strings.TrimSpace(first), header)
	if ours {
		n, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return fmt.Errorf("line 1: %.80q is no number of a change", number)
		}
		f.told, f.tells = n, true
	}
	at := 0
	for line := range strings.Lines(string(text)) {
		at++
		line := strings.TrimSpace(line)
		if line == "" || ours && at == 1 {
			continue
		}
		if strings.HasPrefix(line, "#") {
			s.remarks = append(s.remarks, line)
			continue
		}
		q, err := parseQueue(line, !ours)
		switch {
		case err != nil && !ours:
			slog.Error("a line of the budgets is left out: whom it names has no queue until it is mended", "file", s.path, "line", at, "problem", err)
			s.remarks = append(s.remarks, leftOut+line)
			continue
		case err != nil:
			return fmt.Errorf("line %d: %w", at, err)
		case s.state.Queue(q.Name) != nil:
			return fmt.Errorf("line %d: queue %s is there twice", at, q.Name)
		case len(s.state.Queues()) >= account.QueuesMax:
			return fmt.Errorf("line %d: more than %d queues", at, account.QueuesMax)
		}
		s.state.Put(q)
	}
	return nil
}

// parseQueue parses a line. Amounts of a file that the policy has not written are rounded: those of
// the original have twenty decimals.
func parseQueue(line string, rounded bool) (q account.Queue, err error) {
	amount := money.Parse
	if rounded {
		amount = money.ParseRounded
	}
	fields := strings.Fields(line)
	if len(fields) != 3 && len(fields) != 4 {
		return q, fmt.Errorf("%.80q: write a user, a budget and a spending rate", line)
	}
	q.Name = fields[0]
	if err := account.CheckName(q.Name); err != nil {
		return q, err
	}
	if q.Budget, err = amount(fields[1]); err != nil {
		return q, fmt.Errorf("the budget: %w", err)
	}
	if q.Spending, err = amount(fields[2]); err != nil {
		return q, fmt.Errorf("the spending rate: %w", err)
	}
	if err := account.CheckSpending(q.Spending); err != nil {
		return q, err
	}
	if len(fields) == 4 {
		if q.Charged, err = strconv.ParseInt(fields[3], 10, 64); err != nil || q.Charged < 0 {
			return q, fmt.Errorf("%.80q is no time in nanoseconds since 1970", fields[3])
		}
	}
	return q, nil
}

// Load returns the state of all queues.
func (s *Store) Load(context.Context) (*account.State, error) { return clone(s.state), nil }

// Apply implements shell.Store.
func (s *Store) Apply(_ context.Context, entries []account.Entry) (uint64, error) {
	next := clone(s.state)
	changed := false
	for _, e := range entries {
		changed = next.Apply(e) || changed
	}
	if !changed {
		return s.state.Applied, nil
	}
	if err := s.write(next); err != nil {
		return 0, fmt.Errorf("the budgets can't be written: %w", err)
	}
	s.state = next
	return next.Applied, nil
}

// write writes the queues, and which changes they include. After a failure or a crash between two
// steps, the next read or write detects which steps were done.
func (s *Store) write(next *account.State) error {
	text := s.text(next)
	p := *s.position
	m := markOf(text, next)
	p.Next = &m
	if err := s.replace(s.path+positionSuffix, p.text()); err != nil {
		return err
	}
	if err := s.replace(s.path, text); err != nil {
		return err
	}
	p.mark, p.Next = m, nil
	if err := s.replace(s.path+positionSuffix, p.text()); err != nil {
		return err
	}
	s.position = &p
	return nil
}

func (s *Store) text(of *account.State) []byte {
	b := fmt.Appendf(nil, "%s%d\n", header, of.Applied)
	for _, line := range s.remarks {
		b = append(append(b, line...), '\n')
	}
	for _, q := range of.Queues() {
		b = fmt.Appendf(b, "%s %s %s %d\n", q.Name, q.Budget, q.Spending, q.Charged)
	}
	return b
}

func clone(s *account.State) *account.State {
	c := &account.State{Applied: s.Applied, Store: s.Store}
	for _, q := range s.Queues() {
		c.Put(*q)
	}
	return c
}

// Shared returns false: no other program changes the file.
func (s *Store) Shared() bool { return false }

// Close does nothing: the store holds no open file.
func (s *Store) Close() {}

// Package file keeps the budgets of the policy dynamic-priority in a file, as its document has
// it (section 6.5): a line "user budget spending" for each queue.
//
// The policy adds a fourth word, the end of the interval that was charged last, in nanoseconds
// since 1970, and a first line with the number of the last change that is in it. Both may be
// missing, as in a file written by hand. Each change replaces the file as a whole.
package file

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/internal/durable"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
)

// bytesMax bounds the file: far more than queues can be.
const bytesMax = 64 << 20

// header begins a file that the policy wrote.
const header = "# applied "

// Store is a file of budgets. One goroutine uses it.
type Store struct {
	path  string
	state *account.State
}

// Open reads a file, which must be there. The error names the line that can't be read: then
// nothing of the file is used or changed.
func Open(path string) (*Store, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the budgets: %w: make the file, empty when there are no queues yet", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, bytesMax+1))
	if err != nil {
		return nil, fmt.Errorf("the budgets: %w", err)
	}
	if len(text) > bytesMax {
		return nil, fmt.Errorf("the budgets: %s has more than %d bytes", path, bytesMax)
	}
	state, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("the budgets: %s: %w: mend it while no manager runs", path, err)
	}
	return &Store{path, state}, nil
}

func parse(text []byte) (*account.State, error) {
	s := &account.State{}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line := strings.TrimSpace(string(line))
		if rest, ok := strings.CutPrefix(line, header); ok && number == 1 {
			n, err := strconv.ParseUint(rest, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("line 1: %.80q is no number of a change", rest)
			}
			s.Applied = n
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		q, err := parseQueue(line)
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", number, err)
		case s.Queue(q.Name) != nil:
			return nil, fmt.Errorf("line %d: queue %s is there twice", number, q.Name)
		case len(s.Queues()) >= account.QueuesMax:
			return nil, fmt.Errorf("line %d: more than %d queues", number, account.QueuesMax)
		}
		s.Put(q)
	}
	return s, nil
}

func parseQueue(line string) (q account.Queue, err error) {
	fields := strings.Fields(line)
	if len(fields) != 3 && len(fields) != 4 {
		return q, fmt.Errorf("%.80q: write a user, a budget and a spending rate", line)
	}
	q.Name = fields[0]
	if err := account.CheckName(q.Name); err != nil {
		return q, err
	}
	if q.Budget, err = money.Parse(fields[1]); err != nil {
		return q, fmt.Errorf("the budget: %w", err)
	}
	if q.Spending, err = money.Parse(fields[2]); err != nil {
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

// Load returns what all queues have.
func (s *Store) Load(context.Context) (*account.State, error) { return clone(s.state), nil }

// Apply implements the store.
func (s *Store) Apply(_ context.Context, entries []account.Entry) (uint64, error) {
	next := clone(s.state)
	changed := false
	for _, e := range entries {
		changed = next.Apply(e) || changed
	}
	if !changed {
		return s.state.Applied, nil
	}
	if err := durable.Replace(s.path, text(next)); err != nil {
		return 0, fmt.Errorf("the budgets can't be written: %w", err)
	}
	s.state = next
	return next.Applied, nil
}

func text(s *account.State) []byte {
	b := fmt.Appendf(nil, "%s%d\n", header, s.Applied)
	for _, q := range s.Queues() {
		b = fmt.Appendf(b, "%s %s %s %d\n", q.Name, q.Budget, q.Spending, q.Charged)
	}
	return b
}

func clone(s *account.State) *account.State {
	c := &account.State{Applied: s.Applied}
	for _, q := range s.Queues() {
		c.Put(*q)
	}
	return c
}

// Shared says that nobody else changes the file.
func (s *Store) Shared() bool { return false }

// Close lets go of it.
func (s *Store) Close() {}

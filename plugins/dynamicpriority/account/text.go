package account

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
)

// stateHeader is the first line of a part of a state, as in "applied 17 part 1 of 2".
const stateHeader = "applied %d part %d of %d\n"

// Marshal writes a state as text, in one part or more of at most so many bytes. A part has a
// header, then a line for each queue: name, budget, spending and the end of the last charged
// interval.
func (s *State) Marshal(partMax int) [][]byte {
	parts := [][]byte{nil}
	for _, q := range s.list {
		line := fmt.Sprintf("%s %s %s %d\n", q.Name, q.Budget, q.Spending, q.Charged)
		last := len(parts) - 1
		if n := len(parts[last]); n > 0 && n+len(line)+len(stateHeader)+64 > partMax {
			parts = append(parts, nil)
			last++
		}
		parts[last] = append(parts[last], line...)
	}
	for i := range parts {
		parts[i] = append(fmt.Appendf(nil, stateHeader, s.Applied, i+1, len(parts)), parts[i]...)
	}
	return parts
}

// Parts assembles a state from the parts of Marshal. The zero Parts expects a first part.
type Parts struct {
	state State
	next  int // the expected part, from 1; 0: the first
}

// Add adds the next part. It returns the state after the last part, else nil. A first part starts
// again; any other part out of sequence is an error. An error names the line.
func (p *Parts) Add(text []byte) (*State, error) {
	header, rest, _ := strings.Cut(string(text), "\n")
	var applied uint64
	var part, of int
	if _, err := fmt.Sscanf(header+"\n", stateHeader, &applied, &part, &of); err != nil || part < 1 || part > of {
		return nil, fmt.Errorf("line 1: %.80q is no header of a state", header)
	}
	if part == 1 {
		*p = Parts{state: State{Applied: applied}, next: 1}
	}
	if part != p.next || applied != p.state.Applied {
		*p = Parts{}
		return nil, fmt.Errorf("part %d of %d of a state comes without those before", part, of)
	}
	p.next++
	number := 1
	for line := range strings.Lines(rest) {
		number++
		q, err := parseQueue(strings.TrimSuffix(line, "\n"))
		if err == nil && p.state.Queue(q.Name) != nil {
			err = fmt.Errorf("queue %s is there twice", q.Name)
		}
		if err == nil && len(p.state.list) == QueuesMax {
			err = fmt.Errorf("more than %d queues: remove some", QueuesMax)
		}
		if err != nil {
			*p = Parts{}
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		p.state.Put(q)
	}
	if part < of {
		return nil, nil //nolint:nilnil // there is more to come
	}
	s := p.state
	*p = Parts{}
	return &s, nil
}

func parseQueue(line string) (Queue, error) {
	f := strings.Split(line, " ")
	if len(f) != 4 {
		return Queue{}, fmt.Errorf("%.80q: write a name, a budget, a spending rate and an interval", line)
	}
	q := Queue{Name: f[0]}
	err := CheckName(q.Name)
	if err == nil {
		q.Budget, err = money.Parse(f[1])
	}
	if err == nil {
		q.Spending, err = money.Parse(f[2])
	}
	if err == nil {
		err = CheckSpending(q.Spending)
	}
	if err == nil {
		q.Charged, err = strconv.ParseInt(f[3], 10, 64)
	}
	return q, err
}

// words are the first letters of entries.
var words = map[Kind]string{Charge: "c", AddBudget: "b", SetSpending: "s", AddQueue: "a", RemoveQueue: "r"}

// MarshalEntries writes entries as text, in parts of at most so many bytes. A part has the number
// of its first entry, then a line for each entry. An extra line precedes charges of another
// interval.
func MarshalEntries(entries []Entry, partMax int) [][]byte {
	var parts [][]byte
	var part []byte
	interval := int64(0)
	for _, e := range entries {
		if part != nil && len(part) > partMax-2*(NameBytesMax+64) {
			parts, part = append(parts, part), nil
		}
		if part == nil {
			part, interval = fmt.Appendf(nil, "entries %d\n", e.Number), 0
		}
		if e.Kind == Charge && e.Interval != interval {
			part, interval = fmt.Appendf(part, "i %d\n", e.Interval), e.Interval
		}
		part = append(append(append(part, words[e.Kind]...), ' '), e.Queue...)
		if e.Kind == Charge || e.Kind == AddBudget || e.Kind == SetSpending {
			part = append(append(part, ' '), e.Amount.String()...)
		}
		part = append(part, '\n')
	}
	if part != nil {
		parts = append(parts, part)
	}
	return parts
}

// ParseEntries reads one part of MarshalEntries. An error names the line, and then no entry of the
// part may be applied.
func ParseEntries(text []byte) ([]Entry, error) {
	var entries []Entry
	var next uint64
	interval := int64(0)
	for i, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		f := strings.Split(string(line), " ")
		var err error
		switch {
		case i == 0:
			if len(f) != 2 || f[0] != "entries" {
				return nil, fmt.Errorf("line 1: %.80q is no header of entries", line)
			}
			next, err = strconv.ParseUint(f[1], 10, 64)
		case f[0] == "i" && len(f) == 2:
			interval, err = strconv.ParseInt(f[1], 10, 64)
		default:
			var e Entry
			e, err = parseEntry(f)
			e.Number = next
			if e.Kind == Charge {
				e.Interval = interval
			}
			next++
			entries = append(entries, e)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return entries, nil
}

func parseEntry(f []string) (Entry, error) {
	for kind := Charge; kind <= RemoveQueue; kind++ {
		fields := 3
		if kind == AddQueue || kind == RemoveQueue {
			fields = 2
		}
		if f[0] != words[kind] || len(f) != fields {
			continue
		}
		e := Entry{Kind: kind, Queue: f[1]}
		err := CheckName(e.Queue)
		if err == nil && fields == 3 {
			e.Amount, err = money.Parse(f[2])
		}
		return e, err
	}
	return Entry{}, fmt.Errorf("%.80q is no entry", strings.Join(f, " "))
}

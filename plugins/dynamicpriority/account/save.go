package account

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
)

// saved is a ledger as a checkpoint keeps it: what neither the store nor the world tells.
// What was used of the interval in flight is not kept: it is not charged after a restart.
type saved struct {
	Length  time.Duration
	Start   int64
	Last    uint64   `json:",omitempty"`
	Open    []string `json:",omitempty"` // parts of entries
	State   []string `json:",omitempty"` // of a ledger without store
	Rates   []rate   `json:",omitempty"`
	Applied uint64   `json:",omitempty"`
}

// rate is what is in force for a queue.
type rate struct {
	Name      string       `json:"n"`
	Rate      money.Amount `json:"r,omitempty"`
	Most      int          `json:"m,omitempty"`
	Remainder uint64       `json:"x,omitempty"`
}

// partMax bounds the parts that a checkpoint consists of: it is read as one anyway.
const partMax = 1 << 30

// Save returns the ledger for a checkpoint of at most so many bytes, 0 for any. What is larger
// is without the rates in force, which a restart then finds anew; and what even then is larger
// is without what the store has not acknowledged.
func (l *Ledger) Save(most int) ([]byte, error) {
	s := l.saved()
	data, err := json.Marshal(s)
	if most > 0 && err == nil && len(data) > most {
		s.Rates = nil
		data, err = json.Marshal(s)
	}
	if most > 0 && err == nil && len(data) > most {
		s.Open, s.State = nil, nil
		data, err = json.Marshal(s)
	}
	return data, err
}

func (l *Ledger) saved() saved {
	s := saved{Length: l.Length(), Start: l.start, Last: l.last, Applied: l.state.Applied}
	for _, part := range MarshalEntries(l.open, partMax) {
		s.Open = append(s.Open, string(part))
	}
	if l.alone {
		for _, part := range l.state.Marshal(partMax) {
			s.State = append(s.State, string(part))
		}
	}
	for _, a := range l.list {
		if a.Rate > 0 || a.remainder > 0 {
			s.Rates = append(s.Rates, rate{a.Name, a.Rate, a.most, a.remainder})
		}
	}
	return s
}

// Load takes over what Save returned, before anything else is told to a new ledger. An
// error says that it was not written by Save.
func (l *Ledger) Load(data []byte) error {
	var s saved
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if s.Length <= 0 || s.Start < 0 {
		return errors.New("it has no interval")
	}
	for _, part := range s.Open {
		entries, err := ParseEntries([]byte(part))
		if err != nil {
			return err
		}
		l.open = append(l.open, entries...)
	}
	if l.alone {
		var parts Parts
		for _, part := range s.State {
			state, err := parts.Add([]byte(part))
			if err != nil {
				return err
			}
			if state != nil {
				l.state = *state
			}
		}
	}
	l.start, l.last = s.Start, s.Last
	for _, r := range s.Rates {
		a := l.account(r.Name)
		a.Rate, a.most, a.remainder = r.Rate, r.Most, r.Remainder
		l.price += r.Rate
	}
	for _, q := range l.state.Queues() {
		l.account(q.Name).Queue = q
	}
	to := l.length
	for _, a := range l.list {
		a.remainder = min(a.remainder, uint64(s.Length)-1)
		a.rescale(uint64(s.Length), to)
	}
	return nil
}

package account

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
)

// A checkpoint keeps the part of a ledger that neither the store nor the world has, as lines of text. What was used of
// the interval in flight is not kept: it is not charged after a restart. A line that comes later takes the place
// of one before it that is of the same thing; of entries it is the next piece:
//
//	ledger 20000000000 1238605061520000000 17 12   length and start of the interval, last and applied entry
//	store MZXW6YTB                                 the store that the entries are for, if it has a name
//	entries 13                                     what the store has not acknowledged, as MarshalEntries writes it
//	b alice 5.0
//	rates                                          those in force follow, and where no line is for a queue it has none
//	rate alice 110000 9090 400                     rate, slots that it covers, what remains
//	rate alice 110000 9090 400 5.0 0.11 20         the same and the queue: there is no store, or it was changed since
const (
	wordLedger  = "ledger"
	wordStore   = "store"
	wordRates   = "rates"
	wordRate    = "rate"
	wordEntries = "entries"
)

// partMax bounds the parts that entries are written in: they are read as one anyway.
const partMax = 1 << 30

// kept is a checkpoint's copy of an account.
type kept struct {
	rate      money.Amount
	most      int
	remainder uint64
	has       bool
	queue     Queue // if it has one
}

// keeps returns the part of an account that a checkpoint has. It includes the queue if there is no
// store, or if lower would change the rate in force.
func (l *Ledger) keeps(a *Account) kept {
	k := kept{rate: a.Rate, most: a.most, remainder: a.remainder}
	if a.Queue != nil && (l.alone || a.lower() != (force{a.Rate, a.most})) {
		k.has, k.queue = true, *a.Queue
	}
	return k
}

// SaveAll appends the whole ledger to written, in at most so many bytes of its own; 0 is unlimited.
// A larger one omits the rates in force, which a restart then computes. If it is still larger, it
// omits the entries that the store has not acknowledged.
func (l *Ledger) SaveAll(written []byte, most int) []byte {
	before := len(written)
	tooLarge := func() bool { return most > 0 && len(written)-before > most }
	written = l.saveHead(written)
	head := len(written)
	written = l.saveEntries(written, l.open)
	entries := len(written)
	for _, a := range l.list {
		a.kept = kept{}
	}
	l.gone, l.short = nil, false
	if written = l.saveAccounts(append(written, wordRates+"\n"...)); tooLarge() {
		written, l.short = written[:entries], true
	}
	if tooLarge() {
		written = written[:head]
	}
	return written
}

// SaveChanges appends what has changed since the last SaveAll or SaveChanges, to be read after
// their text.
func (l *Ledger) SaveChanges(written []byte) []byte {
	from := len(l.open)
	for from > 0 && l.open[from-1].Number > l.saved {
		from--
	}
	written = l.saveHead(written)
	written = l.saveEntries(written, l.open[from:])
	return l.saveAccounts(written)
}

// Short reports whether the last SaveAll omitted something, so that SaveChanges may not follow it.
func (l *Ledger) Short() bool { return l.short }

func (l *Ledger) saveHead(w []byte) []byte {
	l.saved = l.last
	w = fmt.Appendf(w, "%s %d %d %d %d\n", wordLedger, l.length, l.start, l.last, l.state.Applied)
	if l.store != "" {
		w = fmt.Appendf(w, "%s %s\n", wordStore, l.store)
	}
	return w
}

func (l *Ledger) saveEntries(w []byte, entries []Entry) []byte {
	for _, part := range MarshalEntries(entries, partMax) {
		w = append(w, part...)
	}
	return w
}

// saveAccounts writes the accounts that differ from their last saved copies.
func (l *Ledger) saveAccounts(w []byte) []byte {
	for _, name := range l.gone {
		w = append(append(append(w, wordRate+" "...), name...), " 0 0 0\n"...)
	}
	l.gone = nil
	for _, a := range l.list {
		if k := l.keeps(a); k != a.kept {
			a.kept = k
			w = k.save(w, a.Name)
		}
	}
	return w
}

func (k *kept) save(w []byte, name string) []byte {
	w = append(append(w, wordRate+" "...), name...)
	w = strconv.AppendInt(append(w, ' '), int64(k.rate), 10)
	w = strconv.AppendInt(append(w, ' '), int64(k.most), 10)
	w = strconv.AppendUint(append(w, ' '), k.remainder, 10)
	if k.has {
		w = append(append(w, ' '), k.queue.Budget.String()...)
		w = append(append(w, ' '), k.queue.Spending.String()...)
		w = strconv.AppendInt(append(w, ' '), k.queue.Charged, 10)
	}
	return append(w, '\n')
}

// Load reads the text of SaveAll and later SaveChanges, before any other call to a new ledger. An
// error means that the text is not theirs; the ledger is then unusable.
func (l *Ledger) Load(text []byte) error {
	r := reader{Ledger: l}
	l.noted = map[string]Queue{}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		if err := r.line(strings.TrimSuffix(line, "\n")); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := r.flush(); err != nil {
		return err
	}
	if r.length == 0 {
		return errors.New("it has no interval")
	}
	for _, q := range l.state.Queues() {
		l.account(q.Name).Queue = q
	}
	if l.alone {
		l.noted = nil
	}
	l.price = 0
	for _, a := range l.list {
		l.price += a.Rate
		a.remainder = min(a.remainder, r.length-1)
		a.rescale(r.length, l.length)
	}
	return nil
}

// reader reads a ledger line by line.
type reader struct {
	*Ledger
	length  uint64          // of the interval that was saved; 0 before it is read
	entries strings.Builder // a piece of the entries that is not complete
}

func (r *reader) line(line string) error {
	f := strings.Split(line, " ")
	switch {
	case f[0] == wordEntries || r.entries.Len() > 0 && len(f[0]) == 1:
		if f[0] == wordEntries {
			if err := r.flush(); err != nil {
				return err
			}
		}
		r.entries.WriteString(line + "\n")
		return nil
	case f[0] == wordLedger && len(f) == 5:
		return r.head(f[1:])
	case f[0] == wordStore && len(f) == 2:
		return r.from(f[1])
	case line == wordRates:
		r.told = true
		return nil
	case f[0] == wordRate && (len(f) == 5 || len(f) == 8):
		return r.rate(f[1], f[2:])
	}
	return fmt.Errorf("%.80q is no part of a ledger", line)
}

func (r *reader) head(f []string) error {
	length, err := strconv.ParseUint(f[0], 10, 64)
	start, err2 := strconv.ParseInt(f[1], 10, 64)
	last, err3 := strconv.ParseUint(f[2], 10, 64)
	applied, err4 := strconv.ParseUint(f[3], 10, 64)
	if err := errors.Join(err, err2, err3, err4); err != nil {
		return err
	}
	if length == 0 || length > uint64(24*time.Hour) || start < 0 {
		return fmt.Errorf("an interval of %d that began at %d", length, start)
	}
	r.length, r.start, r.last = length, start, last
	if r.alone {
		r.state.Applied = applied
	}
	return nil
}

func (r *reader) rate(name string, f []string) error {
	rate, err := strconv.ParseInt(f[0], 10, 64)
	most, err2 := strconv.Atoi(f[1])
	remainder, err3 := strconv.ParseUint(f[2], 10, 64)
	if err := errors.Join(err, err2, err3, CheckName(name), CheckSpending(money.Amount(rate))); err != nil {
		return err
	}
	if most < 0 {
		return fmt.Errorf("queue %s covers %d slots", name, most)
	}
	a := r.account(name)
	a.Rate, a.most, a.remainder = money.Amount(rate), most, remainder
	if r.alone {
		r.state.remove(name)
		a.Queue = nil
	}
	delete(r.noted, name)
	if len(f) == 6 {
		q, err := parseQueue(name + " " + strings.Join(f[3:], " "))
		if err != nil {
			return err
		}
		if r.noted[name] = q; r.alone {
			r.state.Put(q)
		}
	}
	if a.Rate == 0 && a.remainder == 0 {
		r.tidy(a)
	}
	return nil
}

// from sets the store of the following entries; earlier ones were for the previous store.
func (r *reader) from(store string) error {
	if err := r.flush(); err != nil {
		return err
	}
	r.From(store)
	return nil
}

// flush reads a complete piece of entries.
func (r *reader) flush() error {
	if r.entries.Len() == 0 {
		return nil
	}
	entries, err := ParseEntries([]byte(r.entries.String()))
	r.open = append(r.open, entries...)
	r.entries.Reset()
	return err
}

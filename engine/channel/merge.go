package channel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// storedAtOnce is how many stored sources Next reads at once. Streamed sources
// are all read at once: each has a writer that may wait for its reader.
const storedAtOnce = 4

// A source that waits may begin to fetch before it is read. At most soonMost sources do so, and more
// are told when only half of them are left.
const soonMost = 512

// togetherMost is how many stored sources Next reads at once if they can be read together. After a
// source that can't, it reads aloneMost alone.
const (
	togetherMost = 256
	aloneMost    = 64
)

// together is a source that can be read whole with others of its kind.
type together interface {
	// ReadTogether reads sources whole, one after the other, and closes them. It gives their batches to
	// take. It returns how many it has read: the first that it has not read has to be read alone. An
	// error is that of take.
	ReadTogether(all []job.Source, take func(*job.Batch) error) (int, error)
}

// mergeReady is how many merged batches wait for Next.
const mergeReady = 4

// joinBelow is the size below which batches of stored sources are joined for Next, in bytes: a wide
// shuffle has a million sources of a few records each. Joined batches have at most job.BatchBytes.
const joinBelow = job.BatchBytes / 4

// SourceError names the source of an input that failed.
type SourceError struct {
	From int // the producing node's index in its stage
	Err  error
}

func (e *SourceError) Error() string { return fmt.Sprintf("input from node %d: %v", e.From, e.Err) }

// Unwrap returns the source's own error.
func (e *SourceError) Unwrap() error { return e.Err }

// Merge is an input port over sources, which may be added while it is read. Add, Done, Fail and
// Close may be called from any goroutine. Next and NextSource may be called from one at a time, and
// only one of the two on a Merge.
type Merge struct {
	expected int
	ctx      context.Context // ends the pumps' waits; cancelled by Close and Fail
	cancel   context.CancelFunc
	out      chan *job.Batch // closed when every source ended and Done was called
	wake     chan struct{}   // wakes NextSource after a change
	pumps    sync.WaitGroup
	records  atomic.Int64
	bytes    atomic.Int64

	mu      sync.Mutex
	mode    mergeMode
	added   int
	open    map[job.Source]bool // handed out, or failed, and not closed; Close closes them, and those below
	pumped  map[*pump]bool      // running pumps
	waiting []job.Source        // neither handed out nor pumped yet
	later   int                 // how many at the front of waiting are known to be stored
	soon    int                 // how many at the front of waiting were told that they are read soon
	stored  int                 // running pumps of stored sources
	alone   int                 // how many stored sources are read alone before others are tried together
	done    bool
	ended   bool // out is closed
	err     error
}

type mergeMode uint8

const (
	modeOpen mergeMode = iota
	modeBatches
	modeSources
)

var _ job.Input = (*Merge)(nil)

// NewMerge makes an input that expects the given number of sources.
func NewMerge(sources int) *Merge {
	m := &Merge{expected: sources, open: map[job.Source]bool{}, pumped: map[*pump]bool{}, out: make(chan *job.Batch, mergeReady), wake: make(chan struct{}, 1)}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	return m
}

// Sources returns the number of incoming channels: those expected, or those added if they are more.
func (m *Merge) Sources() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(m.expected, m.added)
}

// Counts returns the records and bytes read so far.
func (m *Merge) Counts() Counts { return Counts{Records: m.records.Load(), Bytes: m.bytes.Load()} }

// Add adds a source to the input, which owns it from then on. After Done or Close the source is
// closed at once.
func (m *Merge) Add(s job.Source) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.done || m.err != nil {
		_ = s.Close()
		return
	}
	m.added++
	m.waiting = append(m.waiting, s)
	m.advance()
}

// Done says that no more sources will be added.
func (m *Merge) Done() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done = true
	m.advance()
}

// Fail makes Next and NextSource return err, because an expected source will never come. Sources
// that were handed out can be read on.
func (m *Merge) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failLocked(err)
}

// Close drops unread batches and closes every source. It waits for the goroutines that read them.
func (m *Merge) Close() error {
	m.Fail(fmt.Errorf("input: %w", ErrClosed))
	m.mu.Lock()
	all := m.waiting
	for s := range m.open {
		all = append(all, s)
	}
	for p := range m.pumped {
		all = append(all, p.sources...)
	}
	m.open, m.waiting, m.later, m.soon = map[job.Source]bool{}, nil, 0, 0
	m.mu.Unlock()
	var errs []error
	for _, s := range all {
		errs = append(errs, s.Close())
	}
	m.pumps.Wait()
	return errors.Join(errs...)
}

// Next returns the next batch of any source, in order of arrival.
func (m *Merge) Next(ctx context.Context) (*job.Batch, error) {
	if err := m.use(modeBatches); err != nil {
		return nil, err
	}
	select {
	case b, ok := <-m.out:
		return m.taken(b, ok)
	case <-m.ctx.Done():
		return nil, m.failure()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (m *Merge) taken(b *job.Batch, ok bool) (*job.Batch, error) {
	if !ok {
		return nil, io.EOF
	}
	m.count(b)
	return b, nil
}

// NextSource returns the next source that can be read.
func (m *Merge) NextSource(ctx context.Context) (job.Source, error) {
	if err := m.use(modeSources); err != nil {
		return nil, err
	}
	for {
		m.mu.Lock()
		switch {
		case m.err != nil:
			defer m.mu.Unlock()
			return nil, m.err
		case len(m.waiting) > 0:
			s := m.takeFirst()
			m.open[s] = true
			next := m.tellSoon()
			m.mu.Unlock()
			readSoon(next)
			taken(s)
			return &counted{Source: s, merge: m}, nil
		case m.done:
			m.mu.Unlock()
			return nil, io.EOF
		}
		m.mu.Unlock()
		select {
		case <-m.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// use fixes the mode in which the input is read.
func (m *Merge) use(mode mergeMode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mode == modeOpen {
		m.mode = mode
		m.advance()
	}
	if m.mode != mode {
		return errors.New("input: use either Next or NextSource on an input, not both")
	}
	return nil
}

// advance starts the sources that can be read now, and ends the merged stream after the last
// source. The caller holds mu.
func (m *Merge) advance() {
	switch m.mode {
	case modeSources:
		select {
		case m.wake <- struct{}{}:
		default:
		}
	case modeBatches:
		all := m.waiting
		m.waiting = all[:m.later]
		for _, s := range all[m.later:] {
			if IsStored(s) {
				m.waiting = append(m.waiting, s)
			} else {
				m.start(s, false)
			}
		}
		clear(all[len(m.waiting):])
		for len(m.waiting) > 0 && m.stored < storedAtOnce {
			m.stored++
			m.start(m.takeFirst(), true)
		}
		m.later = len(m.waiting)
		if m.done && len(m.pumped) == 0 && len(m.waiting) == 0 && m.err == nil && !m.ended {
			m.ended = true
			close(m.out)
		}
	}
}

// takeFirst takes the source that has waited longest. The caller holds mu.
func (m *Merge) takeFirst() job.Source {
	s := m.waiting[0]
	m.waiting[0], m.waiting = nil, m.waiting[1:]
	m.soon = max(m.soon-1, 0)
	return s
}

// tellSoon returns the sources to call readSoon with, without mu. The caller holds mu.
func (m *Merge) tellSoon() []job.Source {
	most := min(len(m.waiting), soonMost)
	if m.soon > soonMost/2 || m.soon == most {
		return nil
	}
	next := slices.Clone(m.waiting[m.soon:most])
	m.soon = most
	return next
}

// readSoon tells sources that they are read soon, if the first one can be told.
func readSoon(next []job.Source) {
	if len(next) > 0 {
		if s, can := next[0].(interface{ ReadSoon(all []job.Source) }); can {
			s.ReadSoon(next)
		}
	}
}

// nextStored takes the stored source that waits longest, for a pump that has ended one; nil when the
// pump has none to read.
func (m *Merge) nextStored(p *pump) job.Source {
	m.mu.Lock()
	p.sources = nil
	if m.err != nil || len(m.waiting) == 0 {
		m.mu.Unlock()
		return nil
	}
	m.alone = max(m.alone-1, 0)
	s := m.takeFirst() // those that wait in modeBatches are stored: see advance
	p.sources, m.later = []job.Source{s}, len(m.waiting)
	next := m.tellSoon()
	m.mu.Unlock()
	readSoon(next)
	return s
}

// takeTogether takes sources for a pump to read together; nil if the next one is to be read alone.
func (m *Merge) takeTogether(p *pump) []job.Source {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil || m.alone > 0 || len(m.waiting) < 2 {
		return nil
	}
	if _, can := m.waiting[0].(together); !can {
		m.alone = aloneMost
		return nil
	}
	n := min(len(m.waiting), togetherMost)
	p.sources = m.waiting[:n:n]
	m.waiting = m.waiting[n:]
	m.later, m.soon = len(m.waiting), max(m.soon-n, 0)
	return p.sources
}

// giveBack lets those of a pump's sources wait again that it has not read together: all but n.
func (m *Merge) giveBack(p *pump, all []job.Source, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.sources = nil
	rest := slices.Clone(all[n:])
	clear(all)
	if len(rest) == 0 {
		return
	}
	m.alone = 1
	if n == 0 {
		m.alone = aloneMost
	}
	if m.err != nil { // Close may have been here
		for _, s := range rest {
			m.open[s] = true
		}
		return
	}
	m.waiting = append(rest, m.waiting...)
	m.later += len(rest)
	m.advance()
}

// readTogether reads stored sources as long as they can be read together.
func (m *Merge) readTogether(p *pump, joined *joined) error {
	take := func(b *job.Batch) error { return m.pass(b, joined) }
	for {
		all := m.takeTogether(p)
		if all == nil {
			return nil
		}
		n, err := all[0].(together).ReadTogether(all, take)
		m.giveBack(p, all, n)
		if err != nil {
			return err
		}
	}
}

// start starts a pump for a source. The caller holds mu.
func (m *Merge) start(s job.Source, stored bool) {
	p := &pump{[]job.Source{s}}
	m.pumped[p] = true
	m.pumps.Add(1)
	go m.pump(p, s, stored)
}

// pump moves the batches of a source, and then of others, into out.
type pump struct {
	sources []job.Source // that it reads; guarded by Merge.mu
}

// taken calls a source's Taken, if it has one: the source is no longer waiting.
func taken(s job.Source) {
	if t, ok := s.(interface{ Taken() }); ok {
		t.Taken()
	}
}

// over forgets a source that needs no close any more.
func (m *Merge) over(s job.Source) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.open, s)
}

// pump moves a source's batches into out. The pump of a stored source continues with the stored
// sources that wait.
func (m *Merge) pump(p *pump, s job.Source, stored bool) {
	defer m.pumps.Done()
	var joined joined
	var err error
	for s != nil && err == nil {
		taken(s)
		if err = m.copyFrom(s, &joined, stored); err != nil {
			err = &SourceError{From: s.From(), Err: err}
			break
		}
		if s = nil; stored {
			if err = m.readTogether(p, &joined); err != nil {
				break
			}
			s = m.nextStored(p)
		}
		if s == nil {
			err = m.send(joined.take())
		}
		if s == nil && stored {
			s = m.nextStored(p) // it came while send waited
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.pumped, p)
	if stored {
		m.stored--
	}
	if err != nil {
		for _, s := range p.sources {
			m.open[s] = true
		}
		m.failLocked(err)
		return
	}
	m.advance()
}

func (m *Merge) copyFrom(s job.Source, joined *joined, stored bool) error {
	for {
		b, err := s.Next(m.ctx)
		if err == io.EOF { //nolint:errorlint // only the bare one is the end: a failure may wrap it
			return s.Close()
		}
		if err != nil {
			return err
		}
		if stored {
			err = m.pass(b, joined)
		} else {
			err = m.send(b)
		}
		if err != nil {
			return err
		}
	}
}

// pass passes a batch of a stored source on to Next, with others if it is small.
func (m *Merge) pass(b *job.Batch, joined *joined) error {
	if len(b.Data) >= joinBelow || len(b.Ends) >= joinBelow/4 {
		if err := m.send(joined.take()); err != nil {
			return err
		}
		return m.send(b)
	}
	var err error
	if !joined.fits(b) {
		err = m.send(joined.take())
	}
	joined.add(b)
	return err
}

// send passes a batch on to Next; nil is none.
func (m *Merge) send(b *job.Batch) error {
	if b == nil {
		return nil
	}
	select {
	case m.out <- b:
		return nil
	case <-m.ctx.Done():
		return m.ctx.Err()
	}
}

// joined is a batch of small batches of one or more sources. The zero value has none.
type joined struct{ batch *job.Batch }

// fits reports whether the joined batch stays small with a further one.
func (j *joined) fits(b *job.Batch) bool {
	return j.batch == nil || len(j.batch.Data)+len(b.Data) <= job.BatchBytes && len(j.batch.Ends)+len(b.Ends) <= job.BatchBytes/4
}

// add takes over a batch. The first one is kept as it is, the records of others are copied to it.
func (j *joined) add(b *job.Batch) {
	if j.batch == nil {
		j.batch = b
		return
	}
	at := uint32(len(j.batch.Data))
	j.batch.Data = roomFor(j.batch.Data, len(b.Data), job.BatchBytes)
	j.batch.Ends = roomFor(j.batch.Ends, len(b.Ends), job.BatchBytes/4)
	j.batch.Data = append(j.batch.Data, b.Data...)
	for _, end := range b.Ends {
		j.batch.Ends = append(j.batch.Ends, at+end)
	}
	job.PutBatch(b)
}

// joinGrowth is the factor by which the memory of a joined batch grows. It is reached in few steps, so
// little is copied.
const joinGrowth = 4

// roomFor returns a list with room for n more elements. The new memory holds at most most elements,
// unless it needs more.
func roomFor[E any](list []E, n, most int) []E {
	if cap(list)-len(list) >= n {
		return list
	}
	return append(make([]E, 0, max(len(list)+n, min(joinGrowth*cap(list), most))), list...)
}

// take returns the joined batch, if there is one, and is empty again.
func (j *joined) take() *job.Batch {
	b := j.batch
	j.batch = nil
	return b
}

func (m *Merge) count(b *job.Batch) {
	m.records.Add(int64(b.Len()))
	m.bytes.Add(int64(len(b.Data)))
}

func (m *Merge) failure() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// failLocked records the first failure and stops everything. The caller holds mu.
func (m *Merge) failLocked(err error) {
	if m.err == nil {
		m.err = err
		m.cancel()
		m.advance()
	}
}

// counted adds the batches read from a source to the input's counts, and the source's number to its
// errors.
type counted struct {
	job.Source
	merge *Merge
}

func (c *counted) Next(ctx context.Context) (*job.Batch, error) {
	b, err := c.Source.Next(ctx)
	switch {
	case err == nil:
		c.merge.count(b)
	case err != io.EOF && ctx.Err() == nil: //nolint:errorlint // as above
		err = &SourceError{From: c.From(), Err: err}
	}
	return b, err
}

// Close closes the source and removes it from the input.
func (c *counted) Close() error {
	c.merge.over(c.Source)
	return c.Source.Close()
}

func (c *counted) Stored() bool { return IsStored(c.Source) }

// IsStored reports whether a source reads a stored channel. Such a source never waits for a running
// producer, and no writer waits for its reader.
func IsStored(s job.Source) bool {
	k, ok := s.(interface{ Stored() bool })
	return ok && k.Stored()
}

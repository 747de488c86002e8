package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/file"
	"github.com/hamadryad/hamadryad/engine/channel/store"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Bounds of reading a stored channel whose launcher can't be reached: it is
// tried again for fetchRetryMax, with waits that double from fetchWaitMin to
// fetchWaitMax. Then the manager hears of it, and decides.
const (
	fetchRetryMax = 30 * time.Second
	fetchWaitMin  = 100 * time.Millisecond
	fetchWaitMax  = 5 * time.Second
)

// producer names one stored output that the group reads.
type producer struct{ connection, from int }

// inputs holds what is known of the producers of a group's file inputs.
type inputs struct {
	group  *group
	queues map[edge]channel.Writer // writing ends of the group's shm channels

	mu      sync.Mutex
	known   map[producer]*wire.Source
	waiting map[producer][]func() // adds the source to its input, once the producer is known
	ports   []*inPort
	changed chan struct{} // closed and made anew at each update
}

func newInputs(g *group) *inputs {
	return &inputs{
		group: g, queues: map[edge]channel.Writer{},
		known: map[producer]*wire.Source{}, waiting: map[producer][]func(){}, changed: make(chan struct{}),
	}
}

// update takes in sources. One for a producer that is known takes its place.
func (in *inputs) update(sources []*wire.Source) {
	if len(sources) == 0 {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, s := range sources {
		p := producer{int(s.Connection), int(s.From)}
		in.known[p] = s
		for _, add := range in.waiting[p] {
			add()
		}
		delete(in.waiting, p)
	}
	close(in.changed)
	in.changed = make(chan struct{})
}

// expect adds the producer's source to the port's input as soon as it is known,
// so that NextSource never yields one that can't be read yet.
func (in *inputs) expect(n *node, port *inPort, c indexed, from int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	p := producer{c.index, from}
	s := &storedSource{
		inputs: in, node: n, producer: p, store: c.Store,
		partition: in.group.w.partition(c.index, from, n.index),
	}
	port.left++
	add := func() {
		port.merge.Add(s)
		port.settleOne()
	}
	if in.known[p] != nil {
		add()
		return
	}
	in.waiting[p] = append(in.waiting[p], add)
}

// opened takes in a new port. It counts as one more source to come until
// allExpected, so that it is not done before all was expected.
func (in *inputs) opened(port *inPort) {
	in.mu.Lock()
	defer in.mu.Unlock()
	port.left = 1
	in.ports = append(in.ports, port)
}

// allExpected says that every source of the port was added or is expected.
func (in *inputs) allExpected(port *inPort) {
	in.mu.Lock()
	defer in.mu.Unlock()
	port.settleOne()
}

// settleOne notes that one source less is to come. The caller holds inputs.mu.
func (p *inPort) settleOne() {
	if p.left--; p.left == 0 {
		p.merge.Done()
	}
}

// fail ends what waits for sources: the attempt is over.
func (in *inputs) fail(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range in.ports {
		p.merge.Fail(err)
	}
}

// current is the newest source of a producer, and a channel that closes when
// there may be a newer one.
func (in *inputs) current(p producer) (*wire.Source, <-chan struct{}) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.known[p], in.changed
}

// storedSource reads one partition of one producer's stored output, wherever it
// is, and waits when it is gone until it is made again.
type storedSource struct {
	inputs    *inputs
	node      *node
	producer  producer
	partition int
	store     string // of the connection: "" for the launchers' stores

	handed atomic.Bool // records of it were given to the program

	mu     sync.Mutex
	closed bool
	at     *wire.Source // what reader reads
	direct bool         // reader opens the file itself
	remote *wire.Source // one whose file is not where it should be on this machine
	reader job.Source
	file   *file.File // open on the job's storage, to be closed with reader
}

func (s *storedSource) From() int { return s.producer.from }

// Stored tells channel.Merge that nothing waits for this source's reader.
func (s *storedSource) Stored() bool { return true }

// Bytes is not known before the file is open.
func (s *storedSource) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader == nil {
		return -1
	}
	return s.reader.Bytes()
}

// Next implements job.BatchReader.
func (s *storedSource) Next(ctx context.Context) (*job.Batch, error) {
	retry := retry{}
	for {
		reader, at, err := s.openCurrent(ctx)
		var b *job.Batch
		if err == nil {
			b, err = reader.Next(ctx)
		}
		switch {
		case err == nil:
			s.handed.Store(true)
			s.node.read[s.node.group.locality(at.Host, at.Rack)].Add(int64(len(b.Data)))
			return b, nil
		case errors.Is(err, io.EOF) || ctx.Err() != nil || s.isClosed():
			return nil, err
		case !isChannelTrouble(err):
			return nil, err
		}
		if err := s.trouble(ctx, at, err, &retry); err != nil {
			return nil, err
		}
	}
}

// retry counts how long an unreachable launcher was tried.
type retry struct {
	since time.Time
	wait  time.Duration
}

// trouble reacts to a source that could not be read. It returns nil when it is
// worth another try.
func (s *storedSource) trouble(ctx context.Context, at *wire.Source, cause error, r *retry) error {
	s.drop()
	newest, changed := s.inputs.current(s.producer)
	replaced := newest != at && newest.Attempt != at.Attempt
	if s.handed.Load() {
		if !replaced {
			s.report(at, cause)
		}
		return &lostError{error: fmt.Errorf("%s: %w; some of its records were read already, so the attempt begins again", s.name(at), cause), producer: at.Attempt}
	}
	if newest != at {
		*r = retry{}
		return nil
	}
	if errors.Is(cause, channel.ErrLost) && s.askRemote(at) {
		return nil
	}
	if errors.Is(cause, channel.ErrUnreachable) && r.again() {
		return pause(ctx, changed, r.wait)
	}
	s.report(at, cause)
	*r = retry{}
	return pause(ctx, changed, 0)
}

// askRemote turns to the launcher's server when the file was not found directly: a
// store that moved away may have left a note of its old folder.
func (s *storedSource) askRemote(at *wire.Source) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.direct || s.remote == at {
		return false
	}
	s.remote = at
	return true
}

// again reports whether there is time for another try, and sets how long to wait
// before it.
func (r *retry) again() bool {
	if r.since.IsZero() {
		r.since, r.wait = time.Now(), fetchWaitMin
		return true
	}
	r.wait = min(2*r.wait, fetchWaitMax)
	return time.Since(r.since) < fetchRetryMax
}

// pause waits for a change; at most wait, where that is not 0. Without a bound it
// is the manager that ends it: by a source, or by stopping the attempt.
func pause(ctx context.Context, changed <-chan struct{}, wait time.Duration) error {
	var late <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		late = t.C
	}
	select {
	case <-changed:
	case <-late:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (s *storedSource) report(at *wire.Source, cause error) {
	g := s.node.group
	g.w.report(&wire.Report{What: &wire.Report_InputLost{InputLost: &wire.InputLost{
		Attempt: g.start.Attempt, Connection: uint32(s.producer.connection), From: uint32(s.producer.from),
		Producer: at.Attempt, Damaged: errors.Is(cause, channel.ErrDamaged) || errors.Is(cause, channel.ErrLost),
		Reason: bounded(s.name(at) + ": " + cause.Error()),
	}}})
}

// name names the stored output in errors.
func (s *storedSource) name(at *wire.Source) string {
	g := s.node.group
	stage := g.w.specs[g.w.graph.Connections[s.producer.connection].FromStage].Name
	return fmt.Sprintf("stored output of %s.%d (attempt %d at %s)", stage, s.producer.from, at.Attempt, at.Address)
}

// openCurrent returns a reader of the newest source. It goes on with the one it
// has: a newer one counts only when this one fails.
func (s *storedSource) openCurrent(ctx context.Context) (job.Source, *wire.Source, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, s.at, channel.ErrClosed
	}
	if s.reader != nil {
		return s.reader, s.at, nil
	}
	s.at, _ = s.inputs.current(s.producer)
	s.direct = false
	g := s.node.group
	name := StoredName(uint32(s.producer.connection), uint32(s.producer.from))
	if s.store != "" {
		st, path, err := g.keptPath(s.store, s.at.Attempt, name)
		if err != nil {
			return nil, s.at, err
		}
		if s.file, err = file.OpenStore(ctx, st, path); err != nil {
			return nil, s.at, err
		}
		s.reader = s.file.Source(s.partition, s.producer.from)
		return s.reader, s.at, nil
	}
	want := store.Want{
		Key:  store.Key{Job: scheduler.JobID(g.start.Job), Attempt: scheduler.AttemptID(s.at.Attempt), Channel: name},
		Addr: s.at.Address, Token: string(s.at.Token), Partition: s.partition, From: s.producer.from, Bytes: -1,
	}
	if folder := g.local[s.at.Address]; folder != "" && s.remote != s.at {
		s.direct = true
		want.Path = AttemptFolder(folder, g.start.Job, s.at.Attempt) + "/" + name
	}
	s.reader = g.w.fetcher.Source(want)
	return s.reader, s.at, nil
}

// drop closes the reader that failed.
func (s *storedSource) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropLocked()
}

func (s *storedSource) dropLocked() {
	if s.reader != nil {
		_ = s.reader.Close() // it is given up: how it ends does not matter
		s.reader = nil
	}
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
}

func (s *storedSource) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Close implements job.Source.
func (s *storedSource) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.dropLocked()
	return nil
}

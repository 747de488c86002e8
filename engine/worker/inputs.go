package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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

// sourcesAhead is how many sources of a port may wait for its program before the
// manager is left to wait with further ones, unless another port lacks some.
const sourcesAhead = 1000

// inputs holds what is known of the producers of a group's file inputs: those that
// were told and are not read yet by all who read them.
type inputs struct {
	group  *group
	queues map[edge]channel.Writer // writing ends of the group's shm channels

	mu      sync.Mutex
	known   map[producer]*given
	told    map[int]*bitset // by connection: the producers that were ever told
	readers []storedReader
	ports   []*inPort
	confirm uint64        // update that the manager waits for to be confirmed; 0: none
	changed chan struct{} // closed and made anew at each update
}

// given is a producer's newest source, and by how many storedSources it is not done with.
type given struct {
	source *wire.Source
	left   int
}

// storedReader is a node's input over a file connection.
type storedReader struct {
	node *node
	port *inPort
	c    indexed
	low  int     // it reads these producers,
	high int     // high not included,
	list []int32 // and these, in order
}

func (r *storedReader) reads(from int) bool {
	if from >= r.low && from < r.high {
		return true
	}
	_, found := slices.BinarySearch(r.list, int32(from))
	return found
}

func newInputs(g *group) *inputs {
	return &inputs{
		group: g, queues: map[edge]channel.Writer{},
		known: map[producer]*given{}, told: map[int]*bitset{}, changed: make(chan struct{}),
	}
}

// update takes in sources. One for a producer that is known takes its place; one
// that was read is known no more, and stays so.
func (in *inputs) update(sources []*wire.Source, confirm uint64) {
	in.add(in.take(sources))
	if confirm != 0 {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.confirm = confirm
		in.confirmSoon()
	}
}

// take notes sources, and makes those that are to be added to ports.
func (in *inputs) take(sources []*wire.Source) (fresh []*storedSource) {
	if len(sources) == 0 {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, s := range sources {
		p := producer{int(s.Connection), int(s.From)}
		told := in.told[p.connection]
		if told == nil {
			told = &bitset{}
			in.told[p.connection] = told
		}
		switch k := in.known[p]; {
		case k != nil:
			k.source = s
		case told.add(p.from):
			in.known[p] = &given{source: s}
			for i := range in.readers {
				fresh = in.sourceFor(fresh, &in.readers[i], p)
			}
		}
	}
	close(in.changed)
	in.changed = make(chan struct{})
	return fresh
}

// sourceFor makes a reader's source of a producer that was not known before. The
// caller holds mu.
func (in *inputs) sourceFor(list []*storedSource, r *storedReader, p producer) []*storedSource {
	if r.c.index != p.connection || !r.reads(p.from) {
		return list
	}
	in.known[p].left++
	r.port.ahead++
	return append(list, &storedSource{
		inputs: in, node: r.node, port: r.port, producer: p, store: r.c.Store,
		partition: in.group.w.partition(p.connection, p.from, r.node.index),
	})
}

// add adds sources to their ports. An input that is over closes them at once, so mu
// is not held.
func (in *inputs) add(list []*storedSource) {
	for _, s := range list {
		s.port.merge.Add(s)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, s := range list {
		s.port.settleOne()
	}
}

// confirmSoon confirms an update as soon as some port needs what follows. So a worker
// holds few of very many sources. The caller holds mu.
func (in *inputs) confirmSoon() {
	if in.confirm == 0 {
		return
	}
	open := false
	for _, p := range in.ports {
		if p.left > 0 && p.ahead < sourcesAhead {
			open = true
		}
	}
	if !open {
		return
	}
	id := in.group.start.Attempt
	in.group.w.report(&wire.Report{What: &wire.Report_SourcesTaken{SourcesTaken: &wire.SourcesTaken{Attempt: id, Confirm: in.confirm}}})
	in.confirm = 0
}

// expect has the port read its producers over a connection, each as soon as it is
// known, so that NextSource never yields one that can't be read yet.
func (in *inputs) expect(n *node, port *inPort, c indexed) {
	low, high, list := in.group.w.writerRange(c.index, n.index)
	r := storedReader{n, port, c, low, high, list}
	in.mu.Lock()
	port.left += high - low + len(list)
	in.readers = append(in.readers, r)
	var known []*storedSource
	for p := range in.known {
		known = in.sourceFor(known, &r, p)
	}
	in.mu.Unlock()
	in.add(known)
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
// there may be a newer one. nil: it was read.
func (in *inputs) current(p producer) (*wire.Source, <-chan struct{}) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if k := in.known[p]; k != nil {
		return k.source, in.changed
	}
	return nil, in.changed
}

// taken notes that a port's program has one source less ahead.
func (in *inputs) taken(port *inPort) {
	in.mu.Lock()
	defer in.mu.Unlock()
	port.ahead--
	in.confirmSoon()
}

// done notes that one of those who read a producer needs it no more.
func (in *inputs) done(p producer) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if k := in.known[p]; k != nil {
		if k.left--; k.left == 0 {
			delete(in.known, p)
		}
	}
}

// bitset is a set of small numbers.
type bitset struct{ words []uint64 }

// add puts a number in, and says whether it was not there.
func (b *bitset) add(i int) bool {
	for len(b.words) <= i/64 {
		b.words = append(b.words, 0)
	}
	bit := uint64(1) << (i % 64)
	if b.words[i/64]&bit != 0 {
		return false
	}
	b.words[i/64] |= bit
	return true
}

// storedSource reads one partition of one producer's stored output, wherever it
// is, and waits when it is gone until it is made again.
type storedSource struct {
	inputs    *inputs
	node      *node
	port      *inPort
	producer  producer
	partition int
	store     string // of the connection: "" for the launchers' stores

	handed atomic.Bool // records of it were given to the program

	mu     sync.Mutex
	closed bool
	ended  bool         // it was read to its end
	at     *wire.Source // what reader reads
	direct bool         // reader opens the file itself
	remote *wire.Source // one whose file is not where it should be on this machine
	reader job.Source
	file   *file.File // open on the job's storage, to be closed with reader
}

func (s *storedSource) From() int { return s.producer.from }

// Stored tells channel.Merge that nothing waits for this source's reader.
func (s *storedSource) Stored() bool { return true }

// Taken is called by channel.Merge when the source is handed out or read.
func (s *storedSource) Taken() { s.inputs.taken(s.port) }

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
		case err == io.EOF: //nolint:errorlint // only the bare one is the end: a failure may wrap it
			s.end()
			return nil, err
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
	if newest == nil {
		return fmt.Errorf("%s: %w", s.name(at), channel.ErrClosed)
	}
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
	switch {
	case s.closed:
		return nil, s.at, channel.ErrClosed
	case s.ended:
		return nil, s.at, io.EOF
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

// end notes that everything was read.
func (s *storedSource) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended && !s.closed {
		s.inputs.done(s.producer)
	}
	s.ended = true
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
	if !s.ended && !s.closed {
		s.inputs.done(s.producer)
	}
	s.closed = true
	s.dropLocked()
	return nil
}

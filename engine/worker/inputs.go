package worker

import (
	"slices"
	"sync"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/store"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/layout"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// producer names one stored output that the group reads.
type producer struct{ connection, from int }

// sourcesAhead is how many sources of a port may wait for its program. Beyond that the manager's
// update is not confirmed, so it sends no more, unless another port has fewer sources waiting.
const sourcesAhead = 1000

// roomOf is how many storedSources are allocated at once. Their memory is free when all are.
const roomOf = 32

// inputs holds the known sources of a group's file inputs: those that were received and that some
// reader has not read yet.
type inputs struct {
	start   *wire.StartAttempt
	layout  *layout.Layout
	kept    *keptFolders
	place   *place
	reports *reports
	fetcher *store.Fetcher
	copies  *store.Copies

	mu      sync.Mutex
	known   knownSources    // each producer is in told
	told    map[int]*bitset // by connection: all producers ever received
	order   []producer      // those received before all readers were there, in order
	whole   bool            // all readers are there
	readers []storedReader
	room    []storedSource // memory for further ones
	ports   []*inPort
	confirm uint64        // update that the manager wants confirmed; 0: none
	changed chan struct{} // closed and replaced at each update
}

// given is a producer's newest source, and the number of storedSources that still need it.
type given struct {
	source *wire.Source
	left   int
}

// storedReader is a node's input over a file connection.
type storedReader struct {
	node    *node
	port    *inPort
	c       layout.Connection
	low     int           // it reads these producers,
	high    int           // high not included,
	list    []int32       // and these, in order
	portion *wire.Portion // its partitions, if the connection is adapted; nil: each producer has one for it
	counted bool          // the manager chose its producers: it reads each that it is told of, high in all
}

// partitions is how many partitions it reads of each producer.
func (r *storedReader) partitions() int {
	if r.portion == nil {
		return 1
	}
	return int(r.portion.High - r.portion.Low)
}

// sources is how many partitions it reads of all producers.
func (r *storedReader) sources() int { return (r.high - r.low + len(r.list)) * r.partitions() }

func (r *storedReader) reads(from int) bool {
	if r.counted || from >= r.low && from < r.high {
		return true
	}
	_, found := slices.BinarySearch(r.list, int32(from))
	return found
}

func newInputs(start *wire.StartAttempt, p *place, r *reports, f *store.Fetcher) *inputs {
	return &inputs{
		start: start, place: p, reports: r, fetcher: f,
		copies: f.Copies(func(folder string, connection int) string { return MergedPrefix(folder, start.Job, uint32(connection)) }),
		told:   map[int]*bitset{}, changed: make(chan struct{}),
	}
}

// built sets the graph, before any reader.
func (in *inputs) built(l *layout.Layout, kept *keptFolders) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.layout, in.kept = l, kept
}

// update takes in sources. A source of a known producer replaces the earlier one. A source of a
// producer that was read is ignored.
func (in *inputs) update(sources []*wire.Source, confirm uint64) {
	in.add(in.takeSources(sources))
	if confirm != 0 {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.confirm = confirm
		in.confirmSoon()
	}
}

// takeSources records sources, and makes the storedSources to add to ports.
func (in *inputs) takeSources(sources []*wire.Source) (fresh []*storedSource) {
	if len(sources) == 0 {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	all := make([]given, len(sources)) // one allocation: there may be a thousand sources for each of a thousand readers
	for i, s := range sources {
		p := producer{int(s.Connection), int(s.From)}
		told := in.told[p.connection]
		if told == nil {
			told = &bitset{}
			in.told[p.connection] = told
		}
		switch k := in.known.of(p); {
		case k != nil:
			k.source = s
		case told.add(p.from):
			all[i].source = s
			in.known.add(p, &all[i])
			if !in.whole {
				in.order = append(in.order, p)
			}
			for r := range in.readers {
				fresh = in.sourceFor(fresh, &in.readers[r], p, &all[i])
			}
		}
	}
	close(in.changed)
	in.changed = make(chan struct{})
	return fresh
}

// sourceFor makes a reader's sources of a new producer, one for each partition that it reads. The caller holds mu.
func (in *inputs) sourceFor(list []*storedSource, r *storedReader, p producer, of *given) []*storedSource {
	if r.c.Index != p.connection || !r.reads(p.from) {
		return list
	}
	first := 0
	if r.portion == nil {
		first = in.layout.Partition(p.connection, p.from, r.node.index)
	} else {
		first = int(r.portion.Low)
	}
	of.left += r.partitions()
	return in.partitionsOf(list, &partitions{in, r.node, r.port, p, of, r.c.Store}, first, r.partitions())
}

// partitions names what a reader reads of one producer, up to the numbers of the partitions.
type partitions struct {
	inputs   *inputs
	node     *node
	port     *inPort
	producer producer
	given    *given // of producer
	store    string // of the connection: "" for the launchers' stores
}

// partitionsAtOnce is how many sources of one producer wait for a port's program. The others are made
// when the last of these is taken: a reader may read very many partitions of very many producers.
const partitionsAtOnce = 64

// partitionsOf makes sources of n partitions from a first one on. The caller holds mu.
func (in *inputs) partitionsOf(list []*storedSource, of *partitions, first, n int) []*storedSource {
	now := min(n, partitionsAtOnce)
	of.port.ahead += now
	for i := range now {
		if len(in.room) == 0 {
			in.room = make([]storedSource, roomOf)
		}
		s := &in.room[0]
		in.room = in.room[1:]
		s.partitions, s.partition = *of, first+i
		if i == now-1 {
			s.rest = n - now
		}
		list = append(list, s)
	}
	return list
}

// addRest adds the sources that were not made with a source that was taken.
func (in *inputs) addRest(s *storedSource) {
	in.mu.Lock()
	list := in.partitionsOf(nil, &s.partitions, s.partition+1, s.rest)
	in.mu.Unlock()
	in.add(list)
}

// add adds sources to their ports. A port whose input is over closes them at once, so mu is not
// held.
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

// confirmSoon confirms an update once a port needs more sources. So a worker holds few of very many
// sources. The caller holds mu.
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
	id := in.start.Attempt
	in.reports.report(&wire.Report{What: &wire.Report_SourcesTaken{SourcesTaken: &wire.SourcesTaken{Attempt: id, Confirm: in.confirm}}})
	in.confirm = 0
}

// readerOf returns what a node reads over a connection.
func (in *inputs) readerOf(n *node, port *inPort, c layout.Connection) storedReader {
	r := storedReader{node: n, port: port, c: c}
	if writers, is := in.counted(c.Index); is {
		r.counted, r.high = true, writers
		if in.layout.WholeReader(c.Index, n.stage) {
			r.portion = &wire.Portion{Connection: uint32(c.Index), High: uint32(in.layout.Partitions(c.Index, 0))}
		}
		return r
	}
	r.low, r.high, r.list = in.layout.WriterRange(c.Index, n.index)
	if p := in.start.Portion; p != nil && int(p.Connection) == c.Index {
		r.portion, r.low, r.high = p, int(p.First), int(p.End)
	}
	return r
}

// counted returns how many producers of a connection each node reads, if the manager chose them.
func (in *inputs) counted(connection int) (int, bool) {
	for _, c := range in.start.InputCounts {
		if int(c.Connection) == connection {
			return int(c.Writers), true
		}
	}
	return 0, false
}

// expect has the port read its producers over a connection, each as soon as it is known. So
// NextSource never returns a source that can't be read yet.
func (in *inputs) expect(n *node, port *inPort, c layout.Connection) {
	in.addReader(in.readerOf(n, port, c))
}

// addReader adds a reader, with those of its sources that are known.
func (in *inputs) addReader(r storedReader) {
	in.mu.Lock()
	r.port.left += r.sources()
	in.readers = append(in.readers, r)
	var known []*storedSource
	for _, p := range in.order {
		if of := in.known.of(p); of != nil { // else it was read already
			known = in.sourceFor(known, &r, p, of)
		}
	}
	in.mu.Unlock()
	in.add(known)
}

// allReaders notes that all readers are there.
func (in *inputs) allReaders() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.whole, in.order = true, nil
}

// opened adds a new port. It counts one extra source as expected until allExpected, so that the
// port is not complete too early.
func (in *inputs) opened(port *inPort) {
	in.mu.Lock()
	defer in.mu.Unlock()
	port.left = 1
	in.ports = append(in.ports, port)
}

// allExpected notes that every source of the port was added or is expected.
func (in *inputs) allExpected(port *inPort) {
	in.mu.Lock()
	defer in.mu.Unlock()
	port.settleOne()
}

// settleOne notes that one expected source fewer is left. The caller holds inputs.mu.
func (p *inPort) settleOne() {
	if p.left--; p.left == 0 {
		p.merge.Done()
	}
}

// fail ends all waits for sources: the attempt is over.
func (in *inputs) fail(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range in.ports {
		p.merge.Fail(err)
	}
}

// current returns a producer's newest source, and a channel that closes when there may be a newer
// one. It is called for a reader that is not done with the producer.
func (in *inputs) current(of *given) (*wire.Source, <-chan struct{}) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return of.source, in.changed
}

// far returns those sources that lie in a launcher's store on another machine.
func (in *inputs) far(all []job.Source) (far []*storedSource) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, s := range all {
		if o, is := s.(*storedSource); is && o.store == "" && in.place.stores[o.given.source.Address] == "" {
			far = append(far, o)
		}
	}
	return far
}

// copied returns where merged copies of sources could be, up to the first that has to be read alone,
// and the sources themselves.
func (in *inputs) copied(all []job.Source) (wanted []store.CopyOf, at []*wire.Source) {
	wanted, at = make([]store.CopyOf, 0, len(all)), make([]*wire.Source, 0, len(all))
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, s := range all {
		o, is := s.(*storedSource)
		if !is || o.inputs != in || o.store != "" || o.alone.Load() {
			break
		}
		newest := o.given.source
		folder := in.place.stores[newest.Address]
		if folder == "" {
			break
		}
		wanted = append(wanted, store.CopyOf{
			Folder: folder, Connection: o.producer.connection, From: o.producer.from,
			Attempt: scheduler.AttemptID(newest.Attempt), Partition: o.partition,
		})
		at = append(at, newest)
	}
	return wanted, at
}

// readWhole notes that sources of one port were read without being taken from it.
func (in *inputs) readWhole(all []job.Source) {
	for _, s := range all {
		if o := s.(*storedSource); o.rest > 0 {
			in.addRest(o)
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, s := range all {
		o := s.(*storedSource)
		o.port.ahead--
		in.doneLocked(o.producer, o.given)
	}
	in.confirmSoon()
}

// taken notes that one source fewer waits for a port's program.
func (in *inputs) taken(port *inPort) {
	in.mu.Lock()
	defer in.mu.Unlock()
	port.ahead--
	in.confirmSoon()
}

// done notes that one of a producer's readers no longer needs it.
func (in *inputs) done(p producer, of *given) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.doneLocked(p, of)
}

// doneLocked is done for a caller that holds mu.
func (in *inputs) doneLocked(p producer, of *given) {
	if of.left--; of.left == 0 {
		in.known.remove(p)
	}
}

// inPort is one input port of a node.
type inPort struct {
	name  string
	merge *channel.Merge
	left  int // expected sources that are not added yet; guarded by inputs.mu
	ahead int // stored sources that were added and not taken; guarded by inputs.mu
}

func newPort(name string) *inPort { return &inPort{name: name} }

// open prepares the port for that many sources.
func (p *inPort) open(sources int) { p.merge = channel.NewMerge(sources) }

// add adds a source that is not a stored one.
func (p *inPort) add(s job.Source) { p.merge.Add(s) }

// bitset is a set of small numbers.
type bitset struct{ words []uint64 }

// add adds a number, and reports whether it was new.
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

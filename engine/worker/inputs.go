package worker

import (
	"slices"
	"sync"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/store"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/layout"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// producer names one stored output that the group reads.
type producer struct{ connection, from int }

// sourcesAhead is how many sources of a port may wait for its program before the
// manager is left to wait with further ones, unless another port lacks some.
const sourcesAhead = 1000

// inputs holds what is known of the producers of a group's file inputs: those that
// were told and are not read yet by all who read them.
type inputs struct {
	start   *wire.StartAttempt
	layout  *layout.Layout
	kept    *keptFolders
	place   *place
	reports *reports
	fetcher *store.Fetcher

	mu      sync.Mutex
	known   map[producer]*given // each is of told
	told    map[int]*bitset     // by connection: the producers that were ever told
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
	c    layout.Connection
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

func newInputs(start *wire.StartAttempt, p *place, r *reports, f *store.Fetcher) *inputs {
	return &inputs{
		start: start, place: p, reports: r, fetcher: f,
		known: map[producer]*given{}, told: map[int]*bitset{}, changed: make(chan struct{}),
	}
}

// built gives it the graph, before any reader.
func (in *inputs) built(l *layout.Layout, kept *keptFolders) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.layout, in.kept = l, kept
}

// update takes in sources. One for a producer that is known takes its place; one
// that was read is known no more, and stays so.
func (in *inputs) update(sources []*wire.Source, confirm uint64) {
	in.add(in.takeSources(sources))
	if confirm != 0 {
		in.mu.Lock()
		defer in.mu.Unlock()
		in.confirm = confirm
		in.confirmSoon()
	}
}

// takeSources notes sources, and makes those that are to be added to ports.
func (in *inputs) takeSources(sources []*wire.Source) (fresh []*storedSource) {
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
	if r.c.Index != p.connection || !r.reads(p.from) {
		return list
	}
	in.known[p].left++
	r.port.ahead++
	return append(list, &storedSource{
		inputs: in, node: r.node, port: r.port, producer: p, store: r.c.Store,
		partition: in.layout.Partition(p.connection, p.from, r.node.index),
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
	id := in.start.Attempt
	in.reports.report(&wire.Report{What: &wire.Report_SourcesTaken{SourcesTaken: &wire.SourcesTaken{Attempt: id, Confirm: in.confirm}}})
	in.confirm = 0
}

// expect has the port read its producers over a connection, each as soon as it is
// known, so that NextSource never yields one that can't be read yet.
func (in *inputs) expect(n *node, port *inPort, c layout.Connection) {
	low, high, list := in.layout.WriterRange(c.Index, n.index)
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

// inPort is one input port of a node.
type inPort struct {
	name  string
	merge *channel.Merge
	left  int // sources that are not added yet; guarded by inputs.mu
	ahead int // stored ones that were added and not taken; guarded by inputs.mu
}

func newPort(name string) *inPort { return &inPort{name: name} }

// open makes the port ready for so many sources.
func (p *inPort) open(sources int) { p.merge = channel.NewMerge(sources) }

// add adds a source that is no stored one.
func (p *inPort) add(s job.Source) { p.merge.Add(s) }

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

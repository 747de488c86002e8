package worker

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/file"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// leftWriteMax is how long the end of a node waits for a write in progress by a goroutine that the
// program left behind.
const leftWriteMax = time.Second

// guard is an output port that stays correct when a goroutine that the program left behind keeps
// writing while the engine ends the port.
type guard struct {
	port   channel.Port
	name   string
	node   *activity
	kept   *outputs        // takes the complete stored files
	counts []*countedBytes // one for each connection
	stored []storedPort    // connections that are stored files

	mu    sync.Mutex // held by each write
	ended atomic.Bool
}

func (g *guard) Partitions() int { return g.port.Partitions() }

func (g *guard) Write(ctx context.Context, partition int, record []byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended.Load() {
		return g.over()
	}
	g.node.note()
	for _, c := range g.counts {
		c.bytes.Add(int64(len(record)))
	}
	return g.port.Write(ctx, partition, record)
}

func (g *guard) WriteBatch(ctx context.Context, partition int, b *job.Batch) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended.Load() {
		return g.over()
	}
	g.node.note()
	for _, c := range g.counts {
		c.bytes.Add(int64(len(b.Data)))
	}
	return g.port.WriteBatch(ctx, partition, b)
}

// addTo adds the bytes written, by kind of channel, and returns their sum.
func (g *guard) addTo(kinds []int64) (sum int64) {
	for _, c := range g.counts {
		n := c.bytes.Load()
		kinds[c.kind] += n
		sum += n
	}
	return sum
}

func (g *guard) over() error {
	return fmt.Errorf("output %q: write after the node returned: %w", g.name, channel.ErrClosed)
}

// close completes the port's streams.
func (g *guard) close(ctx context.Context) error {
	if err := g.lock(); err != nil {
		return err
	}
	defer g.mu.Unlock()
	if err := g.port.Close(ctx); err != nil {
		return err
	}
	for _, s := range g.stored {
		g.kept.keep(s)
	}
	return nil
}

// abort ends the streams as failed. It can't if a goroutine left behind holds the port. The attempt
// has failed then, and the connections end with the process at the latest.
func (g *guard) abort(cause error) {
	if g.lock() == nil {
		g.port.Abort(cause)
		g.mu.Unlock()
	}
}

// lock refuses new writes and waits for a write in progress.
func (g *guard) lock() error {
	g.ended.Store(true)
	if g.mu.TryLock() {
		return nil
	}
	got := make(chan struct{})
	given := make(chan struct{})
	go func() {
		g.mu.Lock()
		select {
		case got <- struct{}{}:
		case <-given:
			g.mu.Unlock()
		}
	}()
	late := time.NewTimer(leftWriteMax)
	defer late.Stop()
	select {
	case <-got:
		return nil
	case <-late.C:
		close(given)
		return fmt.Errorf("output %q: a goroutine of the program still writes though the node returned: wait for it before returning", g.name)
	}
}

// storedPort is the writer of one stored channel file.
type storedPort struct {
	connection, from int
	writer           *file.Writer
}

// outputs are the complete stored files of a group. Safe for concurrent use.
type outputs struct {
	mu  sync.Mutex
	all []*wire.StoredOutput
}

// keep adds a stored file to the report of the end.
func (o *outputs) keep(s storedPort) {
	info := s.writer.Info()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, &wire.StoredOutput{
		Connection: uint32(s.connection), From: uint32(s.from), Bytes: info.Bytes, PartitionBytes: info.PartitionBytes,
	})
}

// list returns the complete stored files.
func (o *outputs) list() []*wire.StoredOutput {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all
}

// countedBytes counts the bytes written into one connection.
type countedBytes struct {
	kind  int // index in Work.channel_bytes
	bytes atomic.Int64
}

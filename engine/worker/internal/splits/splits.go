// Package splits keeps the stored input of a stage's nodes, packed.
//
//	t, err := splits.Pack(spec.Tasks)
//	one := t.Task(12)
package splits

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// Tasks are the inputs of a stage's nodes on storage. There may be a million, of which a worker
// needs its own nodes' tasks only. They are packed to a few bytes each, to leave memory to the
// nodes. Used by one goroutine at a time.
type Tasks struct {
	few    []job.Task // all tasks, if there are at most tasksFew
	hosts  []string   // and racks: packed tasks refer to them by position
	blocks [][]byte   // of blockTasks tasks each, compressed

	expand *zstd.Decoder
	open   taskBlock // the last block read: nodes mostly come in order
}

const (
	// tasksFew is the largest number of tasks that stay unpacked.
	tasksFew = 4096
	// blockTasks is how many tasks are packed together. To read one task, its block is expanded.
	blockTasks = 256
	// blockWindow is about the size of a block, in bytes: compression needs no more memory.
	blockWindow = 64 << 10
)

// Pack packs the tasks of a stage; nil stays nil.
func Pack(list []job.Task) (*Tasks, error) {
	switch {
	case list == nil:
		return nil, nil
	case len(list) <= tasksFew:
		return &Tasks{few: list}, nil
	}
	compress, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(blockWindow), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	defer compress.Close()
	t := &Tasks{}
	if t.expand, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true)); err != nil {
		return nil, fmt.Errorf("expand: %w", err)
	}
	var hosts names
	var b blockWriter
	var packed []byte
	for first := 0; first < len(list); first += blockTasks {
		b.reset()
		for _, task := range list[first:min(first+blockTasks, len(list))] {
			b.add(task, &hosts)
		}
		packed = compress.EncodeAll(b.bytes(), packed[:0])
		t.blocks = append(t.blocks, bytes.Clone(packed))
	}
	t.hosts = hosts.list
	return t, nil
}

// Len is the largest possible number of tasks.
func (t *Tasks) Len() int { return len(t.few) + len(t.blocks)*blockTasks }

// Task is the task of one node.
func (t *Tasks) Task(i int) job.Task {
	if t.blocks == nil {
		return t.few[i]
	}
	if at := i / blockTasks; len(t.open.tasks) == 0 || t.open.at != at {
		data, err := t.expand.DecodeAll(t.blocks[at], t.open.data[:0])
		if err != nil {
			panic(fmt.Sprintf("worker: tasks that this process packed can't be read: %v", err))
		}
		t.open.packBytes(at, data)
	}
	return t.open.task(i%blockTasks, t.hosts)
}

// names numbers strings in order of their first use.
type names struct {
	list      []string
	positions map[string]uint64
}

func (n *names) of(s string) uint64 {
	at, known := n.positions[s]
	if !known {
		if n.positions == nil {
			n.positions = map[string]uint64{}
		}
		at = uint64(len(n.list))
		n.positions[s] = at
		n.list = append(n.list, s)
	}
	return at
}

// blockWriter packs tasks. It reuses its buffers, because all tasks are in memory too while they
// are packed. A block holds first the names that occur only in it, paths and versions. Then each
// task follows, led by its length.
type blockWriter struct {
	names          names
	one, data, all []byte
}

func (b *blockWriter) reset() {
	b.names.list, b.data = b.names.list[:0], b.data[:0]
	clear(b.names.positions)
}

func (b *blockWriter) number(n int64)  { b.one = binary.AppendVarint(b.one, n) }
func (b *blockWriter) place(at uint64) { b.one = binary.AppendUvarint(b.one, at) }

func (b *blockWriter) add(task job.Task, hosts *names) {
	b.one = b.one[:0]
	b.place(uint64(len(task)))
	for _, s := range task {
		b.place(b.names.of(s.Path))
		b.place(b.names.of(s.Version))
		b.number(s.Offset)
		b.number(s.Length)
		b.number(s.Size)
		b.place(uint64(len(s.Places)))
		for _, p := range s.Places {
			b.place(hosts.of(p.Host))
			b.place(hosts.of(p.Rack))
			b.number(p.Bytes)
		}
	}
	b.data = append(binary.AppendUvarint(b.data, uint64(len(b.one))), b.one...)
}

func (b *blockWriter) bytes() []byte {
	b.all = binary.AppendUvarint(b.all[:0], uint64(len(b.names.list)))
	for _, s := range b.names.list {
		b.all = append(binary.AppendUvarint(b.all, uint64(len(s))), s...)
	}
	b.all = append(b.all, b.data...)
	return b.all
}

// taskBlock is an expanded block. Its memory is reused for the next block.
type taskBlock struct {
	at    int // its place among the blocks
	data  []byte
	names [][]byte // of data
	tasks [][]byte
}

func (b *taskBlock) packBytes(at int, data []byte) {
	b.at, b.data, b.names, b.tasks = at, data, b.names[:0], b.tasks[:0]
	r := blockReader{data}
	for range r.place() {
		b.names = append(b.names, r.bytes(r.place()))
	}
	for len(r.data) > 0 {
		b.tasks = append(b.tasks, r.bytes(r.place()))
	}
}

// blockReader reads the output of a blockWriter.
type blockReader struct{ data []byte }

func (r *blockReader) bytes(n uint64) []byte {
	b := r.data[:n:n]
	r.data = r.data[n:]
	return b
}

func (r *blockReader) number() int64 {
	n, length := binary.Varint(r.data)
	r.data = r.data[length:]
	return n
}

func (r *blockReader) place() uint64 {
	n, length := binary.Uvarint(r.data)
	r.data = r.data[length:]
	return n
}

// task unpacks one task of the block.
func (b *taskBlock) task(i int, hosts []string) job.Task {
	r := blockReader{b.tasks[i]}
	task := make(job.Task, r.place())
	var path, version shared
	for i := range task {
		s := &task[i]
		s.Path, s.Version = path.text(b.names, r.place()), version.text(b.names, r.place())
		s.Offset, s.Length, s.Size = r.number(), r.number(), r.number()
		if n := r.place(); n > 0 {
			s.Places = make([]job.Place, n)
		}
		for k := range s.Places {
			s.Places[k].Host, s.Places[k].Rack = hosts[r.place()], hosts[r.place()]
			s.Places[k].Bytes = r.number()
		}
	}
	return task
}

// shared is one string for neighbours with the same name, such as splits of a file.
type shared struct {
	one string
	at  uint64 // its position, counted from 1
}

func (s *shared) text(names [][]byte, at uint64) string {
	if s.at != at+1 {
		s.one, s.at = string(names[at]), at+1
	}
	return s.one
}

package worker

import (
	"bytes"
	"encoding/binary"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// tasks are what the nodes of a stage read from storage, packed: of a million, a worker
// needs those of its own nodes, and the others must not fill its nodes' memory.
type tasks struct {
	names  []string // paths, versions, hosts and racks; blocks refer to them by position
	blocks [][]byte // of blockTasks tasks each: one piece would take twice as much while it grows
	ends   []uint32 // of each task in its block
}

const blockTasks = 1024

// packTasks packs the tasks of a stage; nil stays nil.
func packTasks(list []job.Task) *tasks {
	if list == nil {
		return nil
	}
	t := &tasks{ends: make([]uint32, 0, len(list))}
	var data []byte // of the block at hand
	positions := map[string]uint64{}
	name := func(s string) {
		at, known := positions[s]
		if !known {
			at = uint64(len(t.names))
			positions[s] = at
			t.names = append(t.names, s)
		}
		data = binary.AppendUvarint(data, at)
	}
	number := func(n int64) { data = binary.AppendVarint(data, n) }
	for i, task := range list {
		number(int64(len(task)))
		for _, s := range task {
			name(s.Path)
			name(s.Version)
			number(s.Offset)
			number(s.Length)
			number(s.Size)
			number(int64(len(s.Places)))
			for _, p := range s.Places {
				name(p.Host)
				name(p.Rack)
				number(p.Bytes)
			}
		}
		t.ends = append(t.ends, uint32(len(data)))
		if len(t.ends)%blockTasks == 0 || i == len(list)-1 {
			t.blocks = append(t.blocks, bytes.Clone(data))
			data = data[:0]
		}
	}
	return t
}

// task unpacks the task of one node.
func (t *tasks) task(i int) job.Task {
	start := uint32(0)
	if i%blockTasks > 0 {
		start = t.ends[i-1]
	}
	data := t.blocks[i/blockTasks][start:t.ends[i]]
	number := func() int64 {
		n, length := binary.Varint(data)
		data = data[length:]
		return n
	}
	name := func() string {
		n, length := binary.Uvarint(data)
		data = data[length:]
		return t.names[n]
	}
	task := make(job.Task, number())
	for i := range task {
		s := &task[i]
		s.Path, s.Version = name(), name()
		s.Offset, s.Length, s.Size = number(), number(), number()
		if n := number(); n > 0 {
			s.Places = make([]job.Place, n)
		}
		for k := range s.Places {
			s.Places[k].Host, s.Places[k].Rack = name(), name()
			s.Places[k].Bytes = number()
		}
	}
	return task
}

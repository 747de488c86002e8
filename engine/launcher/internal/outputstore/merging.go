package outputstore

import (
	"cmp"
	"context"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/channel/file"
	"github.com/hamadryad/hamadryad/engine/channel/merged"
	"github.com/hamadryad/hamadryad/engine/channel/store"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Merged copies pay where each reader would make many small reads.
const (
	// mergePartitionsMin is how many partitions a file has at least of which a copy is made.
	mergePartitionsMin = 64
	// mergePartitionBytes bounds the mean of its partitions, in bytes.
	mergePartitionBytes = 16 << 10
	// mergeBytes is about how many bytes one merged file has. It has at most merged.MembersMax members.
	mergeBytes = 64 << 20
	// mergeMembersMin is the least number of its members.
	mergeMembersMin = 8
	// mergeFree is how much of the disk stays free, in bytes.
	mergeFree = 4 << 30
	// mergesWaitingMax bounds the files that wait to be copied, of all jobs.
	mergesWaitingMax = 100_000
)

// merging makes merged copies of stored files, one after the other.
type merging struct {
	work sync.Mutex // held while a merged file is written or removed

	mu      sync.Mutex
	waiting map[mergeOf][]mergeable
	count   int                // of all that wait
	due     []dueMerge         // to be copied, in this order
	written map[mergedFrom]int // number of merged files
	cleared uint64             // how often all were forgotten
	running bool
	ctx     context.Context // ends with clear
	cancel  context.CancelFunc
}

// mergedFrom is what merged files are numbered by.
type mergedFrom struct {
	job        uint64
	connection uint32
}

// mergeOf is what the members of a merged file have in common.
type mergeOf struct {
	mergedFrom
	owner      int
	partitions int
}

// dueMerge has the files copied that fill merged files; all: the rest of them too.
type dueMerge struct {
	mergeOf
	all bool
}

// mergeable is a stored file that waits to be copied.
type mergeable struct {
	merged.Member
	bytes int64
}

// clear forgets all files, and ends the copying that runs.
func (m *merging) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cancel != nil {
		m.cancel()
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.cleared++
	m.waiting, m.written, m.due, m.count = map[mergeOf][]mergeable{}, map[mergedFrom]int{}, nil, 0
}

// forget forgets a job's files.
func (m *merging) forget(job uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for of, list := range m.waiting {
		if of.job == job {
			m.count -= len(list)
			delete(m.waiting, of)
		}
	}
	for of := range m.written {
		if of.job == job {
			delete(m.written, of)
		}
	}
}

// mergeOutputs notes an attempt's stored files that may be copied.
func (s *Store) mergeOutputs(job, attempt uint64, owner int, stored []*wire.StoredOutput) {
	m := &s.merging
	if len(stored) == 0 || s.Dropped(job) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range stored {
		n := int64(len(o.PartitionBytes))
		if n < mergePartitionsMin || o.Bytes > n*mergePartitionBytes || m.count >= mergesWaitingMax {
			continue
		}
		of := mergeOf{mergedFrom{job, o.Connection}, owner, int(n)}
		m.waiting[of] = append(m.waiting[of], mergeable{merged.Member{From: o.From, Attempt: attempt}, o.Bytes})
		m.count++
		if filling(m.waiting[of]) > 0 {
			m.startMerge(s, dueMerge{of, false})
		}
	}
}

// filling is how many of the files, from the first on, fill a merged file. It is 0 where all do not.
func filling(list []mergeable) int {
	bytes := int64(0)
	for i, f := range list {
		if bytes += f.bytes; i+1 == merged.MembersMax || i+1 >= mergeMembersMin && bytes >= mergeBytes {
			return i + 1
		}
	}
	return 0
}

// startMerge has files copied. The caller holds mu.
func (m *merging) startMerge(s *Store, due dueMerge) {
	if !slices.Contains(m.due, due) {
		m.due = append(m.due, due)
	}
	if !m.running {
		m.running = true
		go s.merge()
	}
}

// MergeFor has the files of connections copied that still wait: a reader of them starts.
func (s *Store) MergeFor(job uint64, connections []uint32) {
	m := &s.merging
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []mergeOf
	for of, list := range m.waiting {
		if of.job == job && slices.Contains(connections, of.connection) && len(list) >= mergeMembersMin {
			all = append(all, of)
		}
	}
	slices.SortFunc(all, func(a, b mergeOf) int {
		return cmp.Or(cmp.Compare(a.connection, b.connection), cmp.Compare(a.owner, b.owner), cmp.Compare(a.partitions, b.partitions))
	})
	for _, of := range all {
		m.startMerge(s, dueMerge{of, true})
	}
}

// nextMerge removes the files of the next merged file from those that wait, and returns them. It returns
// no files when nothing is due, and then merge ends.
func (m *merging) nextMerge() (ctx context.Context, of mergeOf, list []mergeable) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.due) > 0 {
		due := m.due[0]
		waiting := m.waiting[due.mergeOf]
		n := filling(waiting)
		if n == 0 && due.all && len(waiting) >= mergeMembersMin {
			n = len(waiting)
		}
		if n == 0 {
			m.due = m.due[1:]
			continue
		}
		if m.count -= n; n == len(waiting) {
			delete(m.waiting, due.mergeOf)
		} else {
			m.waiting[due.mergeOf] = waiting[n:]
		}
		return m.ctx, due.mergeOf, waiting[:n]
	}
	m.running = false
	return nil, of, nil
}

// merge copies files until none are due.
func (s *Store) merge() {
	for {
		ctx, of, list := s.merging.nextMerge()
		if list == nil {
			return
		}
		s.mergeFiles(ctx, of, list)
	}
}

// mergeFiles copies files. One that can't be read, such as that of a dropped attempt, is left out.
func (s *Store) mergeFiles(ctx context.Context, of mergeOf, list []mergeable) {
	m := &s.merging
	m.work.Lock()
	defer m.work.Unlock()
	if ctx.Err() != nil || s.Dropped(of.job) || !s.roomToMerge() {
		return
	}
	folder := worker.MergedFolder(s.folder, of.job)
	if err := os.MkdirAll(folder, 0o711); err != nil { // another user finds the files by name, and may read its own
		s.log.Warn("can't make the folder for merged files", "folder", folder, "error", err)
		return
	}
	var inputs []merged.Input
	defer func() {
		for _, in := range inputs {
			_ = in.Close() // it was only read
		}
	}()
	for _, x := range list {
		l, err := s.open(of.job, x.Attempt, worker.StoredName(of.connection, x.From), of.owner)
		f, err := file.Of(worker.StoredName(of.connection, x.From), l, err)
		if err == nil {
			inputs = append(inputs, merged.Input{Member: x.Member, File: f})
		}
	}
	if len(inputs) < mergeMembersMin {
		return
	}
	owner := of.owner
	if owner == os.Getuid() {
		owner = -1
	}
	path := store.MergedPath(s.MergedPrefix(scheduler.JobID(of.job), of.connection), m.number(of.mergedFrom))
	if _, err := merged.Write(ctx, path, inputs, owner); err != nil {
		if ctx.Err() == nil {
			s.log.Warn("can't make merged copies of stored files", "error", err)
		}
		return
	}
	m.wrote(of.mergedFrom)
}

// roomToMerge reports whether the disk has room for copies.
func (s *Store) roomToMerge() bool {
	var at unix.Statfs_t
	return unix.Statfs(s.folder, &at) == nil && at.Bavail*uint64(at.Bsize) >= mergeFree
}

// number is the number of the next merged file.
func (m *merging) number(of mergedFrom) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.written[of]
}

// wrote counts a merged file.
func (m *merging) wrote(of mergedFrom) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.written[of]++
}

// Merged says where there may be a merged copy of a stored file. It is for store.Server.
func (s *Store) Merged(k store.Key) (store.MergedCopy, bool) {
	connection, from, ok := worker.StoredNode(k.Channel)
	if !ok {
		return store.MergedCopy{}, false
	}
	m := &s.merging
	m.mu.Lock()
	n, cleared := m.written[mergedFrom{uint64(k.Job), connection}], m.cleared
	m.mu.Unlock()
	return store.MergedCopy{Connection: connection, From: int(from), Version: cleared<<32 | uint64(n)}, n > 0
}

// MergedPrefix is the common part of the paths of a connection's merged files. It is for store.Server.
func (s *Store) MergedPrefix(job scheduler.JobID, connection uint32) string {
	return worker.MergedPrefix(s.folder, uint64(job), connection)
}

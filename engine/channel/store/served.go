package store

import (
	"sync"

	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/engine/channel/merged"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// servedSetsMax bounds the connections of jobs whose merged files a Server knows.
	servedSetsMax = 64
	// servedSectionsMax and servedBytes bound the sections that it has in memory.
	servedSectionsMax = 256
	servedBytes       = 32 << 20
)

// MergedCopy says where the merged copy of a stored file is.
type MergedCopy struct {
	Connection uint32 // of the file's job
	From       int    // index of the producing node in its stage
	Version    uint64 // another one where there may be other merged files than before
}

// servedOf names a connection of a job.
type servedOf struct {
	job        scheduler.JobID
	connection uint32
}

// servedCopies are the sections of merged files that a Server read last. Readers of other machines ask
// for one partition of all files, so one section answers dozens of requests. Safe for concurrent use.
type servedCopies struct {
	prefix func(job scheduler.JobID, connection uint32) string // Server.MergedPrefix

	mu       sync.Mutex
	sets     map[servedOf]*servedSet
	sections map[sectionOf]*servedSection
	bytes    int64 // of sections
	uses     int64 // counts what was asked
}

// servedSet are a connection's merged files.
type servedSet struct {
	used int64 // guarded by servedCopies.mu

	mu      sync.Mutex
	version uint64
	files   mergedFiles
	newest  *mergedSet // nil: nobody looked
}

// servedSection is a section. read is called before it is used.
type servedSection struct {
	once sync.Once
	of   sectionOf
	used int64
	*merged.Section
}

// segment returns the blocks of a partition, as they are in its stored file, if a copy has them
// undamaged. It may wait for the disk.
func (c *servedCopies) segment(at MergedCopy, r *request) (Segment, bool) {
	of, partition := servedOf{r.Job, at.Connection}, int(r.partition)
	f, member := c.set(of).as(at.Version, func() string { return c.prefix(of.job, of.connection) }).find(at.From, r.Attempt)
	if f == nil {
		return Segment{}, false
	}
	h := c.section(sectionOf{f, partition})
	if h.Section == nil {
		return Segment{}, false
	}
	s := Segment{}
	s.blocks, s.records = h.Segment(member)
	return s, block.Verify(s.blocks) == nil // else the file is read
}

// set returns a connection's merged files.
func (c *servedCopies) set(of servedOf) *servedSet {
	c.mu.Lock()
	defer c.mu.Unlock()
	set := c.sets[of]
	if set == nil {
		set = &servedSet{}
		if c.sets == nil {
			c.sets = map[servedOf]*servedSet{}
		}
		c.sets[of] = set
	}
	c.uses++
	set.used = c.uses
	if len(c.sets) > servedSetsMax {
		oldest := of
		for other, s := range c.sets {
			if s.used < c.sets[oldest].used {
				oldest = other
			}
		}
		delete(c.sets, oldest)
	}
	return set
}

// as returns the merged files as of a version. It looks for others once for each version.
func (s *servedSet) as(version uint64, prefix func() string) *mergedSet {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.newest == nil || s.version != version {
		s.newest, s.version = s.files.of(prefix()), version
	}
	return s.newest
}

// section returns a section, which is nil if it can't be read.
func (c *servedCopies) section(of sectionOf) *servedSection {
	c.mu.Lock()
	h := c.sections[of]
	if h == nil {
		h = &servedSection{of: of}
		if c.sections == nil {
			c.sections = map[sectionOf]*servedSection{}
		}
		c.sections[of] = h
	}
	c.uses++
	h.used = c.uses
	c.mu.Unlock()
	h.once.Do(func() {
		s, err := of.file.Section(of.partition, nil)
		c.mu.Lock()
		defer c.mu.Unlock()
		if err == nil {
			h.Section = s
		}
		if c.sections[of] != h {
			return // it was dropped meanwhile
		}
		c.bytes += h.size()
		for len(c.sections) > servedSectionsMax || c.bytes > servedBytes && len(c.sections) > 1 {
			c.dropOldest()
		}
	})
	return h
}

// dropOldest forgets the section that was not used for longest. The caller holds mu.
func (c *servedCopies) dropOldest() {
	var oldest *servedSection
	for _, h := range c.sections {
		if oldest == nil || h.used < oldest.used {
			oldest = h
		}
	}
	delete(c.sections, oldest.of)
	c.bytes -= oldest.size()
}

// size is the memory of the section, in bytes; 0: it is not read.
func (h *servedSection) size() int64 {
	if h.Section == nil {
		return 0
	}
	return h.Bytes()
}

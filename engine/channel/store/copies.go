package store

import (
	"slices"
	"strconv"
	"sync"

	"github.com/hamadryad/hamadryad/engine/channel/merged"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// mergedMax bounds the merged files that a process knows. Others are not used.
	mergedMax = 4096
	// mergedNodesMax bounds the numbers of nodes in merged files. Those of further nodes are not used.
	mergedNodesMax = 1 << 22
	// sectionsBytes bounds the sections that one attempt has in memory. What lies in further ones is
	// read from the stored files.
	sectionsBytes = 8 << 20
)

// MergedPath is the path of a merged file of a connection: there are those of the numbers from 0 on,
// without a gap. prefix is the same for all of them.
func MergedPath(prefix string, number int) string { return prefix + "." + strconv.Itoa(number) }

// Copies finds merged copies of stored files of this machine, for one attempt. Safe for concurrent
// use.
type Copies struct {
	fetcher *Fetcher
	prefix  func(folder string, connection int) string

	mu       sync.Mutex
	sets     map[copiesOf]*mergedSet
	sections map[sectionOf]*heldSection
	bytes    int64    // of all sections
	used     [][]byte // memory of sections of which all was read, for other attempts
	usedSum  int
}

// copiesOf names a connection's merged files in a launcher's store.
type copiesOf struct {
	folder     string
	connection int
}

type sectionOf struct {
	file      *merged.File
	partition int
}

// heldSection is a section, or nil if it can't be read.
type heldSection struct {
	*merged.Section
	left  int  // how many members were not asked for yet
	alone bool // a member was asked for by segment, so its blocks may be read for long
}

// sectionMemory has memory of sections that were read.
var sectionMemory sync.Pool

// Close gives back memory. What Segments returned must not be used any more.
func (c *Copies) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.used {
		sectionMemory.Put(&b)
	}
	c.used, c.usedSum = nil, 0
}

// Copies returns the copies for an attempt. prefix gives the common part of paths (MergedPath) of
// a connection's merged files, from a store's folder.
func (f *Fetcher) Copies(prefix func(folder string, connection int) string) *Copies {
	return &Copies{fetcher: f, prefix: prefix, sets: map[copiesOf]*mergedSet{}, sections: map[sectionOf]*heldSection{}}
}

// CopyOf names one partition of a stored file of which there may be a merged copy.
type CopyOf struct {
	Folder     string // of the launcher's store
	Connection int
	From       int // index of the producing node in its stage
	Attempt    scheduler.AttemptID
	Partition  int
}

// Segments appends the segments of what is wanted to list, up to the first of which there is no copy.
func (c *Copies) Segments(list []Segment, all []CopyOf) []Segment {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range all {
		s, found := c.find(&all[i], false)
		if !found {
			break
		}
		list = append(list, s)
	}
	return list
}

// segment returns the segment of what is wanted; false: there is no copy to be read.
func (c *Copies) segment(w *Want) (Segment, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.find(&CopyOf{w.Folder, w.Connection, w.From, w.Attempt, w.Partition}, true)
}

// find is segment; alone: of a single one. The caller holds mu.
func (c *Copies) find(w *CopyOf, alone bool) (s Segment, found bool) {
	set := c.set(copiesOf{w.Folder, w.Connection})
	f, member := set.find(w.From, w.Attempt)
	if f == nil {
		return s, false
	}
	h := c.section(sectionOf{f, w.Partition})
	if h == nil || h.Section == nil {
		return s, false
	}
	h.alone = h.alone || alone
	if h.left--; h.left <= 0 {
		delete(c.sections, sectionOf{f, w.Partition})
		c.bytes -= h.Bytes()
		if b := h.Memory(); !h.alone && c.usedSum+cap(b) <= sectionsBytes {
			c.used = append(c.used, b)
			c.usedSum += cap(b)
		}
	}
	s.blocks, s.records = h.Segment(member)
	return s, true
}

// set returns the merged files of a connection that there were when it was first called for them. The
// caller holds mu.
func (c *Copies) set(of copiesOf) *mergedSet {
	set, known := c.sets[of]
	if !known {
		set = c.fetcher.merged.of(c.prefix(of.folder, of.connection))
		c.sets[of] = set
	}
	return set
}

// section returns a section; nil: there is no memory for a further one. The caller holds mu.
func (c *Copies) section(key sectionOf) *heldSection {
	h := c.sections[key]
	if h != nil || c.bytes >= sectionsBytes {
		return h
	}
	h = &heldSection{left: len(key.file.Members())}
	var memory []byte
	if b, is := sectionMemory.Get().(*[]byte); is {
		memory = *b
	}
	if s, err := key.file.Section(key.partition, memory); err == nil {
		h.Section = s
		c.bytes += s.Bytes()
	}
	c.sections[key] = h
	return h
}

// mergedFiles are the merged files that a process knows. Safe for concurrent use.
type mergedFiles struct {
	mu    sync.Mutex
	sets  map[string]*mergedSet // by prefix
	files int
}

// mergedSet are the merged files of a connection in one launcher's store. It never changes.
type mergedSet struct {
	files []*merged.File
	nodes []mergedNode // by node
}

// mergedNode says where the copy of a node's newest output is.
type mergedNode struct {
	attempt scheduler.AttemptID // 0: there is none
	file    int32
	member  int32
}

func (s *mergedSet) find(from int, attempt scheduler.AttemptID) (*merged.File, int) {
	if from >= len(s.nodes) || s.nodes[from].attempt != attempt {
		return nil, 0
	}
	n := s.nodes[from]
	return s.files[n.file], int(n.member)
}

// of looks for further merged files, and returns all. A file that can't be read ends the search.
func (m *mergedFiles) of(prefix string) *mergedSet {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.sets[prefix]
	if known != nil && len(known.files) > 0 && !known.files[len(known.files)-1].Current() {
		m.files -= len(known.files)
		known = nil // of a launcher that began anew
	}
	if known == nil {
		known = &mergedSet{}
	}
	files, nodes := slices.Clip(known.files), known.nodes
	for m.files < mergedMax {
		f, err := merged.Open(MergedPath(prefix, len(files)))
		if err != nil {
			break
		}
		if len(files) == len(known.files) {
			nodes = slices.Clone(nodes)
		}
		nodes = addMerged(nodes, f, len(files))
		files = append(files, f)
		m.files++
	}
	set := &mergedSet{files, nodes}
	if m.sets == nil {
		m.sets = map[string]*mergedSet{}
	}
	m.sets[prefix] = set
	return set
}

func addMerged(nodes []mergedNode, f *merged.File, number int) []mergedNode {
	for i, member := range f.Members() {
		from := int(member.From)
		if from >= mergedNodesMax {
			continue
		}
		if from >= len(nodes) {
			nodes = append(nodes, make([]mergedNode, from+1-len(nodes))...)
		}
		nodes[from] = mergedNode{scheduler.AttemptID(member.Attempt), int32(number), int32(i)}
	}
	return nodes
}

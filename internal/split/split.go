// Package split plans how stored files are read by tasks: large files are cut, small files on the
// same hosts are packed together. Tasks is the pure rule; Planner applies it to real files.
package split

import (
	"cmp"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// File is a file to be read, with the locations of its bytes.
type File struct {
	storage.Info
	Blocks []storage.Block
	Whole  bool // never cut it
}

const (
	// slack lets the last part of a file be a tenth larger than the others, to avoid a task for a
	// few bytes.
	slack = 1.1
	// openBytes is the cost of opening a file, in bytes that could be read in the time. Without it
	// ten thousand tiny files would be one task.
	openBytes = 64 << 10
	// filesMax bounds the files of one task.
	filesMax = 4096
)

// Tasks plans the tasks that read files, each of about splitBytes bytes. Whole files (all, if
// whole) are never cut. Empty files are left out unless whole. Where no file is left there is one
// task without splits, so a job with empty input still runs and writes its empty output. The order
// of the result is that of the files.
func Tasks(files []File, splitBytes int64, whole bool) []job.Task {
	if splitBytes <= 0 {
		splitBytes = job.SplitBytesDefault
	}
	p := packer{size: splitBytes, open: map[string]*bin{}}
	for _, f := range files {
		switch {
		case f.Size == 0 && !whole:
		case !whole && !f.Whole && float64(f.Size) > float64(slack*float64(splitBytes)):
			p.cut(f)
		default:
			p.pack(part(f, 0, f.Size))
		}
	}
	return p.tasks()
}

// bin is a task being filled.
type bin struct {
	order  int // position among all bins, by first file
	place  string
	weight int64
	task   job.Task
}

type packer struct {
	size int64
	bins []*bin
	open map[string]*bin // the bin being filled, by place
}

// cut gives each part of a large file a task of its own.
func (p *packer) cut(f File) {
	for offset := int64(0); offset < f.Size; {
		length := p.size
		if rest := f.Size - offset; float64(rest) <= float64(slack*float64(p.size)) {
			length = rest
		}
		p.add("").put(part(f, offset, length))
		offset += length
	}
}

// pack puts a small file with others on the same host.
func (p *packer) pack(s job.Split) {
	place := ""
	if len(s.Places) > 0 {
		place = s.Places[0].Host
	}
	b := p.open[place]
	if b == nil || !b.fits(s.Length+openBytes, 1, p.size) {
		b = p.add(place)
		p.open[place] = b
	}
	b.put(s)
}

func (p *packer) add(place string) *bin {
	b := &bin{order: len(p.bins), place: place}
	p.bins = append(p.bins, b)
	return b
}

func (b *bin) fits(weight int64, files int, size int64) bool {
	return len(b.task) == 0 || (b.weight+weight <= size && len(b.task)+files <= filesMax)
}

func (b *bin) put(s job.Split) {
	b.task = append(b.task, s)
	b.weight += s.Length + openBytes
}

// tasks merges the bins that stayed less than half full, across hosts, and returns all.
func (p *packer) tasks() []job.Task {
	var small []*bin
	for _, b := range p.open {
		if b.weight < p.size/2 {
			small = append(small, b)
		}
	}
	slices.SortFunc(small, func(a, b *bin) int { return cmp.Compare(a.order, b.order) })
	var into *bin
	for _, b := range small {
		if into == nil || !into.fits(b.weight, len(b.task), p.size) {
			into = b
			continue
		}
		into.task = append(into.task, b.task...)
		into.weight += b.weight
		b.task = nil
	}
	var tasks []job.Task
	for _, b := range p.bins {
		if len(b.task) > 0 {
			tasks = append(tasks, b.task)
		}
	}
	if len(tasks) == 0 {
		return []job.Task{{}}
	}
	return tasks
}

// part describes a range of a file with the hosts that hold it, most bytes first.
func part(f File, offset, length int64) job.Split {
	s := job.Split{Path: f.Path, Offset: offset, Length: length, Size: f.Size, Version: f.Version}
	for _, b := range f.Blocks {
		held := min(b.Offset+b.Length, offset+length) - max(b.Offset, offset)
		if held <= 0 {
			continue
		}
		for i, host := range b.Hosts {
			at := slices.IndexFunc(s.Places, func(p job.Place) bool { return p.Host == host })
			if at < 0 {
				at = len(s.Places)
				s.Places = append(s.Places, job.Place{Host: host})
			}
			s.Places[at].Bytes += held
			if i < len(b.Racks) {
				s.Places[at].Rack = b.Racks[i]
			}
		}
	}
	slices.SortFunc(s.Places, func(a, b job.Place) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Host, b.Host))
	})
	return s
}

package virtual

import (
	"cmp"
	"math"
	"slices"

	"github.com/hamadryad/hamadryad/plugins/hfsp/binenc"
)

// changes is what changed since the last save.
type changes struct {
	tracked bool // false until the first whole save
	any     bool
	jobs    []*Job
	classes []*class
	left    []uint64 // serials of jobs that left the cluster
}

// changesMax bounds the changes that are tracked one by one. Beyond it, the next save is a whole
// one.
const changesMax = 1 << 16

func (x *changes) job(j *Job) {
	if x.any = true; x.tracked && !j.changed {
		j.changed = true
		x.jobs = append(x.jobs, j)
		x.bound()
	}
}

func (x *changes) gone(j *Job) {
	if x.any = true; x.tracked {
		x.left = append(x.left, j.serial)
		x.bound()
	}
}

func (x *changes) class(k *class) {
	if x.any = true; x.tracked && !k.changed {
		k.changed = true
		x.classes = append(x.classes, k)
		x.bound()
	}
}

func (x *changes) bound() {
	if len(x.jobs)+len(x.classes)+len(x.left) > changesMax {
		x.all()
	}
}

// all makes the next save a whole one.
func (x *changes) all() {
	x.forget()
	x.tracked, x.any = false, true
}

// forget clears the tracked changes.
func (x *changes) forget() {
	for _, j := range x.jobs {
		j.changed = false
	}
	for _, k := range x.classes {
		k.changed = false
	}
	clear(x.jobs)
	clear(x.classes)
	x.jobs, x.classes, x.left, x.any = x.jobs[:0], x.classes[:0], x.left[:0], false
}

// Save returns the changes since the last save, or nil without any. It returns the whole cluster if
// whole is set, and at the first call. The passing of time is no change: after Restore the caller
// must call Advance.
//
// A whole save takes at most so many bytes, besides about 60 for a cluster without jobs. Jobs that
// do not fit are left out: first virtually active ones, then those that came last. Restore does not
// know them until a later save includes them as changed. A job takes about 40 bytes.
func (c *Cluster) Save(whole bool, most int) []byte {
	x := &c.changes
	if whole = whole || !x.tracked; !whole && !x.any {
		return nil
	}
	var w binenc.Writer
	jobs, classes := x.jobs, x.classes
	if whole {
		jobs, classes = c.everything()
		x.forget()
		x.tracked = true
	} else {
		most = math.MaxInt
	}
	c.saveFrame(&w, whole)
	for _, k := range classes {
		if !k.empty() {
			k.save(&w)
		}
	}
	w.Float(endOfClasses)
	for _, j := range jobs {
		before := len(w.Data)
		if j.in == c {
			j.save(&w)
		}
		if len(w.Data) >= most {
			w.Data = w.Data[:before]
			break
		}
	}
	w.Uint(endOfJobs)
	x.forget()
	return w.Data
}

// everything lists all jobs, in the order in which Save writes them, and all classes.
func (c *Cluster) everything() (jobs []*Job, classes []*class) {
	for e := c.late.Front(); e != nil; e = e.Next() {
		jobs = append(jobs, e.Value.(*Job))
	}
	for _, s := range []*side{&c.sharing, &c.bound} {
		for _, k := range s.byRatio.Items {
			classes = append(classes, k)
			jobs = append(append(jobs, k.jobs.Items...), k.virtuallyActive...)
		}
	}
	slices.SortFunc(classes, func(a, b *class) int { return cmp.Compare(a.ratio, b.ratio) })
	slices.SortFunc(jobs, func(a, b *Job) int {
		if a.virtuallyActive != b.virtuallyActive {
			if b.virtuallyActive {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.serial, b.serial)
	})
	return jobs, classes
}

// Marks of the end of a list: no ratio and no serial has these values.
const (
	endOfClasses = -1
	endOfJobs    = 0
)

func (c *Cluster) saveFrame(w *binenc.Writer, whole bool) {
	w.Bool(whole)
	w.Int(int64(c.now))
	w.Int(int64(c.start))
	w.Float(c.seconds)
	w.Float(c.integral)
	w.Uint(uint64(c.capacity))
	w.Uint(c.added)
	w.Uint(c.ended)
	w.Uint(uint64(len(c.changes.left)))
	for _, serial := range c.changes.left {
		w.Uint(serial)
	}
}

func (k *class) save(w *binenc.Writer) {
	w.Float(k.ratio)
	w.Bool(k.bound)
	w.Float(k.from)
	w.Float(k.base)
}

// The states of a job.
const (
	standsLate = iota
	standsLive
	standsVirtuallyActive
	standings
)

func (j *Job) save(w *binenc.Writer) {
	w.Uint(j.serial)
	w.Uint(uint64(j.id.Job))
	w.Uint(uint64(j.id.Stage))
	w.Float(j.spec.Size)
	w.Float(j.spec.Weight)
	w.Uint(uint64(j.spec.Cap))
	w.Float(j.done)
	switch {
	case j.late != nil:
		w.Uint(standsLate)
		w.Int(int64(j.ended))
		w.Uint(j.turn)
		return
	case j.virtuallyActive:
		w.Uint(standsVirtuallyActive)
	default:
		w.Uint(standsLive)
	}
	w.Float(j.tag)
	w.Float(j.mark)
}

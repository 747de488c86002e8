package virtual

import (
	"cmp"
	"math"
	"slices"

	"github.com/hamadryad/hamadryad/plugins/hfsp/binenc"
)

// changes is what is not as it was when the cluster was saved last.
type changes struct {
	tracked bool // since it was saved whole
	any     bool
	jobs    []*Job
	classes []*class
	left    []uint64 // serials of jobs that are in it no more
}

// changesMax is how many changes are kept one by one. With more, the cluster is saved whole.
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

// all has everything saved next time.
func (x *changes) all() {
	x.forget()
	x.tracked, x.any = false, true
}

// forget begins anew.
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

// Save returns what changed since the cluster was saved last, or all that it is, and always
// that the first time; nil when nothing changed. Time that passes is no change: the caller that
// restores a cluster has it advance.
//
// A cluster that is saved whole takes no more bytes than most allows, but for what it is without
// any jobs, 60 or so. What has no room is left out, first virtually active jobs, then
// those that came last: Restore does not know them until they are saved with a change. A job takes
// about 40 bytes.
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

// everything lists all jobs, those first that are saved first, and all classes.
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

// What stands where no more comes: no ratio and no serial is it.
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

// Where a job stands.
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

package state

// readyList links a job's ready bundles, the longest ready first.
type readyList struct {
	first, last int32 // bundle index + 1; 0: none
	count       int
}

func (j *Job) linkReady(b *Bundle) {
	b.prev, b.next = j.ready.last, 0
	if j.ready.last == 0 {
		j.ready.first = int32(b.Index) + 1
	} else {
		j.Bundles[j.ready.last-1].next = int32(b.Index) + 1
	}
	j.ready.last = int32(b.Index) + 1
	j.ready.count++
}

func (j *Job) unlinkReady(b *Bundle) {
	if b.prev == 0 {
		j.ready.first = b.next
	} else {
		j.Bundles[b.prev-1].next = b.next
	}
	if b.next == 0 {
		j.ready.last = b.prev
	} else {
		j.Bundles[b.next-1].prev = b.prev
	}
	b.prev, b.next = 0, 0
	j.ready.count--
}

// AllReady walks the ready bundles, the longest ready first. The one at hand may
// be unlinked meanwhile.
func (j *Job) AllReady() func(func(*Bundle) bool) {
	return func(yield func(*Bundle) bool) {
		for at := j.ready.first; at != 0; {
			b := &j.Bundles[at-1]
			at = b.next
			if !yield(b) {
				return
			}
		}
	}
}

// ReadyCount is how many of its bundles are ready.
func (j *Job) ReadyCount() int { return j.ready.count }

// LongestReady is the bundle that is ready longest; nil: none is.
func (j *Job) LongestReady() *Bundle {
	if j.ready.first == 0 {
		return nil
	}
	return &j.Bundles[j.ready.first-1]
}

// Package queueorder lists the waiting jobs in the order in which a policy would serve them, for
// scheduler.Status. A policy has an order for each kind of slots. Together they make one queue.
//
//	var l queueorder.List
//	for _, kind := range kinds {
//		l.BeginKind()
//		for starts := 0; starts < queueorder.StartsMax; starts++ {
//			job := next(kind) // of a copy of what waits, as if one slot came free after the other
//			if !l.Has(job) {
//				l.Add(job, "it holds 2 of its share of 4.0 map slots")
//			}
//		}
//	}
//	status.Queue = l.Queue()
//
// A job's place is the first that it has for any kind. Of jobs at the same place the one with the
// smaller id comes first. Orders are played when a status is asked for, never in a round.
package queueorder

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/view"
)

// ByPriority orders jobs by priority, the highest first, then by time of submission, then by id.
// The view has a job's new priority as soon as it applies a JobUpdated. Search a sorted list by the
// old priority then, or search all of it.
func ByPriority(a, b *view.Job) int {
	return cmp.Or(cmp.Compare(b.Info.Priority, a.Info.Priority), BySubmission(a, b))
}

// BySubmission orders jobs by time of submission, then by id: neither ever changes.
func BySubmission(a, b *view.Job) int {
	return cmp.Or(cmp.Compare(a.Info.Submitted, b.Info.Submitted), cmp.Compare(a.ID(), b.ID()))
}

// StartsMax bounds how many starts of a kind are simulated. Jobs that would start nothing by then
// follow in the order in which they would be asked.
const StartsMax = 10_000

// List collects orders. The zero value is empty.
type List struct {
	at    map[scheduler.JobID]int // in rows
	rows  []row
	kind  int
	place int
}

type row struct {
	scheduler.Queued
	place int
	kind  int // the last kind that it was added for
}

// BeginKind begins the order of another kind of slot.
func (l *List) BeginKind() {
	l.kind++
	l.place = 0
}

// BeginUnserved begins the jobs that would start nothing now. They come behind all jobs added so
// far.
func (l *List) BeginUnserved() {
	l.kind++
	l.place = len(l.rows)
}

// Has says whether a job was added since BeginKind.
func (l *List) Has(id scheduler.JobID) bool {
	i, known := l.at[id]
	return known && l.rows[i].kind == l.kind
}

// Knows says whether a job was added at all.
func (l *List) Knows(id scheduler.JobID) bool {
	_, known := l.at[id]
	return known
}

// Count is the number of jobs added since BeginKind; after BeginUnserved it continues from all
// jobs.
func (l *List) Count() int { return l.place }

// Full says whether the list has as many jobs as Queue returns. A job behind them is not shown.
func (l *List) Full() bool { return len(l.rows) >= scheduler.QueueMax }

// Add adds a job, which Has must not report, behind those added since BeginKind. A long why is
// truncated.
func (l *List) Add(id scheduler.JobID, why string) {
	l.place++
	if l.at == nil {
		l.at = map[scheduler.JobID]int{}
	}
	i, known := l.at[id]
	if !known {
		i = len(l.rows)
		l.at[id], l.rows = i, append(l.rows, row{place: l.place + 1})
	}
	r := &l.rows[i]
	r.kind = l.kind
	if l.place < r.place {
		r.place, r.Queued = l.place, scheduler.Queued{Job: id, Why: cut(why)}
	}
}

// Queue returns the merged order, the next job first, up to scheduler.QueueMax. It is never nil.
func (l *List) Queue() []scheduler.Queued {
	rows := slices.SortedFunc(slices.Values(l.rows), func(a, b row) int {
		return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.Job, b.Job))
	})
	queue := make([]scheduler.Queued, min(len(rows), scheduler.QueueMax))
	for i := range queue {
		queue[i] = rows[i].Queued
	}
	return queue
}

func cut(why string) string {
	const more = "…"
	if len(why) <= scheduler.WhyBytesMax {
		return why
	}
	n := scheduler.WhyBytesMax - len(more)
	for n > 0 && !utf8.RuneStart(why[n]) {
		n--
	}
	return why[:n] + more
}

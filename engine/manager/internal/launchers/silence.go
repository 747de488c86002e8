package launchers

import (
	"container/heap"
	"time"
)

// silences are the launchers' records by when each may have been silent for too long. A message of
// a launcher only delays that, so its record is checked when it is due and not before.
type silences []silence

type silence struct {
	at     time.Time
	record *launcherRecord
}

// silenceAgain is the period of checking a record that is lost, or not admitted yet.
const silenceAgain = time.Second

func (h silences) Len() int           { return len(h) }
func (h silences) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h silences) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *silences) Push(x any)        { *h = append(*h, x.(silence)) }
func (h *silences) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// watch schedules the checks of a new record. The table is locked.
func (l *Table) watch(r *launcherRecord) { l.checkAgain(r, time.Now()) }

// due takes the due records, and counts them.
func (l *Table) due(now time.Time) (list []*launcherRecord) {
	for len(l.silent) > 0 && l.silent[0].at.Before(now) {
		r := heap.Pop(&l.silent).(silence).record
		l.looked++
		if l.byName[r.name] == r { // else the record was forgotten
			list = append(list, r)
		}
	}
	return list
}

// checkAgain schedules another check of a record.
func (l *Table) checkAgain(r *launcherRecord, at time.Time) { heap.Push(&l.silent, silence{at, r}) }

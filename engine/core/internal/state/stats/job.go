// Package stats counts a job's work as it happens, for its status. A watched job is asked for it
// ten times a second, and may have a million nodes.
//
// # Invariants
//
// The nodes of a stage by phase add up to all of its nodes. What an accepted attempt counted is in
// the sums once, whichever attempt was accepted in its place before. Of the attempts that ended
// the newest are kept, up to a bound.
package stats

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Job is a job's statistics, without those of its stages. The zero value has counted nothing.
type Job struct {
	groups         int // finished
	files          int // that accepted attempts wrote into the job's outputs
	read           [scheduler.LocalityLevels]int64
	local          [scheduler.LocalityLevels]uint32 // finished attempts that read files, by main level
	sharedCounters []*wire.Counter                  // last shared sums; nil: they changed since
	sums           []sum                            // of the accepted attempts' counters, in order of name
	ended          []EndedAttempt                   // the last ended attempts, as a ring
	oldest         int                              // index in ended
}

// sum is one counter over the accepted attempts that counted it.
type sum struct {
	name     string
	value    wide
	attempts int
}

// wide is a 128-bit integer. Sums of int64 never overflow it, so an attempt can always be
// subtracted again.
type wide struct {
	high int64
	low  uint64
}

// add returns the number plus by times value; by is 1 or -1.
func (w wide) add(value int64, by int) wide {
	high, low := uint64(value>>63), uint64(value) // sign extension
	var carry uint64
	if by > 0 {
		low, carry = bits.Add64(w.low, low, 0)
		high, _ = bits.Add64(uint64(w.high), high, carry)
	} else {
		low, carry = bits.Sub64(w.low, low, 0)
		high, _ = bits.Sub64(uint64(w.high), high, carry)
	}
	return wide{int64(high), low}
}

// int64 returns the number, clamped to the range of int64.
func (w wide) int64() int64 {
	switch n := int64(w.low); {
	case w.high == n>>63:
		return n
	case w.high < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// EndedAttempt is what a status shows of an ended attempt.
type EndedAttempt struct {
	ID          scheduler.AttemptID
	Stage       int32
	Index       int32
	Launcher    string
	Outcome     scheduler.AttemptOutcome
	Started     scheduler.Time
	Ended       scheduler.Time
	Suspended   time.Duration // in total
	Speculative bool
	Reason      string
}

// Finished adds finished groups, or subtracts groups that are to run again.
func (j *Job) Finished(groups int) { j.groups += groups }

// Groups returns how many groups finished.
func (j *Job) Groups() int { return j.groups }

// Files returns how many files accepted attempts wrote into the job's outputs.
func (j *Job) Files() int { return j.files }

// Accept adds (1) the counters and files of an accepted attempt, or subtracts (-1) those of an
// attempt that another replaced.
func (j *Job) Accept(m *wire.AttemptEnded, by int) {
	j.files += by * len(m.GetFiles())
	j.sharedCounters = nil
	for _, n := range m.GetCounters() {
		i, found := slices.BinarySearchFunc(j.sums, n.GetName(), func(s sum, name string) int { return cmp.Compare(s.name, name) })
		if !found {
			j.sums = slices.Insert(j.sums, i, sum{name: n.GetName()})
		}
		s := &j.sums[i]
		s.value = s.value.add(n.GetValue(), by)
		if s.attempts += by; s.attempts == 0 {
			j.sums = slices.Delete(j.sums, i, i+1)
		}
	}
}

// Counters lists the sums, in order of name. A sum beyond the range of int64 is clamped, and is
// shown as "or more" or "or less".
func (j *Job) Counters() []*wire.Counter {
	list := make([]*wire.Counter, len(j.sums))
	for i, s := range j.sums {
		list[i] = &wire.Counter{Name: s.name, Value: s.value.int64()}
	}
	return list
}

// SharedCounters is Counters with a shared list, which the caller must not change.
func (j *Job) SharedCounters() []*wire.Counter {
	if j.sharedCounters == nil {
		j.sharedCounters = j.Counters()
	}
	return j.sharedCounters
}

// Read adds the bytes that an attempt read, by locality.
func (j *Job) Read(w scheduler.Work) {
	for level, n := range w.Read {
		j.read[level] += n
	}
}

// Local counts an attempt that read stored files, at the level that supplied most.
func (j *Job) Local(level int) { j.local[level]++ }

// Reads returns the bytes read and the attempts counted, by locality.
func (j *Job) Reads() (read []int64, local []uint32) {
	return slices.Clone(j.read[:]), slices.Clone(j.local[:])
}

// ReadsByLevel is Reads with arrays in place of slices.
func (j *Job) ReadsByLevel() (read [scheduler.LocalityLevels]int64, local [scheduler.LocalityLevels]uint32) {
	return j.read, j.local
}

// KeepEndedAttempt keeps an ended attempt for views; only the newest are kept, up to a bound.
func (j *Job) KeepEndedAttempt(p EndedAttempt, most int) {
	if len(j.ended) < most {
		j.ended = append(j.ended, p)
		return
	}
	j.ended[j.oldest%len(j.ended)] = p
	j.oldest++
}

// Oldest returns the entry that the next ended attempt overwrites; nil: it takes a new one.
func (j *Job) Oldest() *EndedAttempt {
	if len(j.ended) == 0 {
		return nil
	}
	return &j.ended[j.oldest%len(j.ended)]
}

// EndedAttempts lists the kept attempts, the earliest end first.
func (j *Job) EndedAttempts() []EndedAttempt {
	list := make([]EndedAttempt, len(j.ended))
	for i := range j.ended {
		list[i] = j.ended[(j.oldest+i)%len(j.ended)]
	}
	return list
}

// Shows says whether an attempt is kept.
func (j *Job) Shows(id scheduler.AttemptID) bool {
	return slices.ContainsFunc(j.ended, func(p EndedAttempt) bool { return p.ID == id })
}

// SameSums says whether two stats have the same files and counters.
func (j *Job) SameSums(other *Job) bool {
	return j.files == other.files && slices.Equal(j.sums, other.sums)
}

// Clone returns a copy that stays while the stats change.
func (j *Job) Clone() Job {
	f := *j
	f.sums, f.ended = slices.Clone(j.sums), slices.Clone(j.ended)
	return f
}

// Code serialises everything but Accept's sums, which the caller rebuilds.
func (j *Job) Code(w *checkpoint.Codec) {
	checkpoint.List(w, &j.ended, codePast)
	checkpoint.Num(w, &j.oldest)
	checkpoint.Num(w, &j.groups)
	for i := range j.read {
		checkpoint.Num(w, &j.read[i])
		checkpoint.Num(w, &j.local[i])
	}
}

func codePast(w *checkpoint.Codec, p *EndedAttempt) {
	checkpoint.Num(w, &p.ID)
	checkpoint.Num(w, &p.Stage)
	checkpoint.Num(w, &p.Index)
	checkpoint.Str(w, &p.Launcher)
	checkpoint.Num(w, &p.Outcome)
	checkpoint.Num(w, &p.Started)
	checkpoint.Num(w, &p.Ended)
	if w.Format > 1 {
		checkpoint.Num(w, &p.Suspended)
	}
	checkpoint.Flag(w, &p.Speculative)
	checkpoint.Str(w, &p.Reason)
}

package history

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/jobfile"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// journal is the live jobs, in memory and in parts. One goroutine uses it.
type journal struct {
	parts  parts
	jobs   map[scheduler.JobID]*liveJob
	rows   int    // ended attempts in memory
	record uint64 // position: all rows up to this record are in parts, or in files of jobs
}

func (g *journal) job(id scheduler.JobID) *liveJob {
	j := g.jobs[id]
	if j == nil {
		j = &liveJob{id: id}
		g.jobs[id] = j
	}
	return j
}

// open reads the parts. Parts that are damaged are put aside, and their errors returned.
func (g *journal) open() (damaged []error, err error) {
	g.jobs = map[scheduler.JobID]*liveJob{}
	chunks, record, damaged, err := g.parts.open()
	if err != nil {
		return nil, err
	}
	g.record = record
	for _, c := range chunks {
		j := g.job(c.Job)
		j.chunks = append(j.chunks, c)
		j.waits += c.Waits
		if !c.Slow {
			j.kept += c.Rows
		}
	}
	for _, id := range g.ids() {
		g.loadJob(g.jobs[id])
	}
	return damaged, nil
}

// loadJob loads into memory the summary, the slowest attempts and the last waiting reason of a job's chunks.
func (g *journal) loadJob(j *liveJob) {
	for _, c := range j.chunks {
		r, err := g.chunk(c)
		if err != nil {
			continue // sealing the job reports it
		}
		if c.Slow {
			j.slowest, _, _ = r.Attempts(jobfile.Query{})
			slices.SortFunc(j.slowest, slower)
			continue
		}
		if s, err := r.Status(); err == nil && s != nil {
			j.summary = s.GetSummary()
		}
		if course, err := r.Course(); err == nil && len(course.Waits) > 0 {
			j.lastWait = course.Waits[len(course.Waits)-1].Reason
		}
	}
}

func (g *journal) chunk(c chunk) (*jobfile.Reader, error) {
	b, err := g.parts.read(c)
	if err != nil {
		return nil, err
	}
	return jobfile.Decode(fmt.Sprintf("%s, chunk at %d", g.parts.path(c.part), c.at), b)
}

// ids lists the jobs, in order.
func (g *journal) ids() []scheduler.JobID {
	ids := make([]scheduler.JobID, 0, len(g.jobs))
	for id := range g.jobs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// lastRecord is the last record that a job's chunks can have rows of. It is unlimited if the job has no chunks.
func (g *journal) lastRecord(id scheduler.JobID) (record uint64) {
	chunks := g.jobs[id].chunks
	if len(chunks) == 0 {
		return math.MaxUint64
	}
	for _, c := range chunks {
		record = max(record, g.parts.records[c.part])
	}
	return record
}

// write writes a part with the new rows of all live jobs, up to a record of the log. After an error nothing has
// changed.
func (g *journal) write(record uint64) error {
	w := partWriter{head: partHead{Record: record}}
	var took []*liveJob
	for _, id := range g.ids() {
		j := g.jobs[id]
		rows, slow := j.newChunks()
		for _, p := range []*jobfile.Job{rows, slow} {
			if p == nil {
				continue
			}
			if err := w.add(p, p == slow); err != nil {
				return err
			}
		}
		took = append(took, j)
	}
	if len(w.head.Chunks) == 0 && record == g.record {
		return nil
	}
	number, at, err := g.parts.add(&w.head, w.body)
	if err != nil {
		return err
	}
	g.place(w.head.Chunks, number, at)
	for _, j := range took {
		j.clearStored()
	}
	g.rows, g.record = 0, record
	if len(g.parts.live) > partsMax {
		return g.merge()
	}
	return g.parts.sweep()
}

// place adds the chunks of a part to the jobs. They begin at an offset of its file.
func (g *journal) place(chunks []chunkHead, number int, at int64) {
	for _, c := range chunks {
		j := g.jobs[c.Job]
		if c.Slow {
			j.chunks = slices.DeleteFunc(j.chunks, func(old chunk) bool {
				if old.Slow {
					g.parts.live[old.part]--
				}
				return old.Slow
			})
		}
		j.chunks = append(j.chunks, chunk{c, number, at})
		g.parts.live[number]++
		at += int64(c.Bytes)
	}
}

// partWriter collects the chunks of a part.
type partWriter struct {
	head partHead
	body []byte
}

func (w *partWriter) add(j *jobfile.Job, slow bool) error {
	b, err := jobfile.Encode(j)
	if err != nil {
		return err
	}
	w.append(chunkHead{Job: j.ID, Slow: slow, Rows: len(j.Attempts), Waits: len(j.Course.Waits)}, b)
	return nil
}

func (w *partWriter) append(c chunkHead, b []byte) {
	c.Bytes = len(b)
	w.head.Chunks, w.body = append(w.head.Chunks, c), append(w.body, b...)
}

// merge writes one part in place of all. The chunks of a job that has many become one. A damaged chunk is copied as it
// is, since sealing the job reports it. In place of a chunk that is gone stands an error message.
func (g *journal) merge() error {
	w := partWriter{head: partHead{Record: g.record}}
	for number := range g.parts.live {
		w.head.Replaces = append(w.head.Replaces, number)
	}
	slices.Sort(w.head.Replaces)
	for _, id := range g.ids() {
		j := g.jobs[id]
		if len(j.chunks) > chunksMax {
			if whole, wrong := g.gather(j, 0); wrong == nil {
				if err := w.add(whole, false); err != nil {
					return err
				}
				if len(j.slowest) > 0 {
					if err := w.add(&jobfile.Job{ID: id, Attempts: j.slowest}, true); err != nil {
						return err
					}
				}
				continue
			}
		}
		for _, c := range j.chunks {
			b, err := g.parts.read(c)
			switch {
			case err == nil:
				w.append(c.chunkHead, b)
			case isGone(err):
				err = w.add(j.placeholder(c, err), c.Slow)
			}
			if err != nil {
				return err
			}
		}
	}
	number, at, err := g.parts.add(&w.head, w.body)
	if err != nil {
		return err
	}
	for _, j := range g.jobs {
		g.parts.drop(j.chunks)
		j.chunks = nil
	}
	g.place(w.head.Chunks, number, at)
	return g.parts.sweep()
}

// isGone reports whether an error of reading a part is permanent.
func isGone(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, unix.EIO)
}

// placeholder is the chunk that replaces a missing one.
func (j *liveJob) placeholder(c chunk, why error) *jobfile.Job {
	if c.Slow {
		return &jobfile.Job{ID: j.id, Attempts: j.slowest}
	}
	return &jobfile.Job{ID: j.id, Course: jobfile.Course{Lacks: []string{why.Error()}}}
}

// gather joins a job's chunks, except the slowest attempts, and leaves room for more attempts. Chunks that can't be read
// are left out, and their errors returned.
func (g *journal) gather(j *liveJob, more int) (*jobfile.Job, error) {
	rows := more
	for _, c := range j.chunks {
		if !c.Slow {
			rows += c.Rows
		}
	}
	whole := &jobfile.Job{ID: j.id, Attempts: make([]changes.Attempt, 0, min(rows, heldRowsMax))}
	var wrong []error
	for _, c := range j.chunks {
		if c.Slow {
			continue
		}
		r, err := g.chunk(c)
		before := len(whole.Attempts)
		var p *jobfile.Job
		if err == nil {
			p, err = r.WholeAfter(whole.Attempts)
		}
		if err != nil {
			whole.Attempts = whole.Attempts[:before]
			wrong = append(wrong, err)
			continue
		}
		if p.Status != nil {
			whole.Status = p.Status
		}
		if p.Graph != nil {
			whole.Graph = p.Graph
		}
		whole.Course.Join(&p.Course)
		whole.Attempts = p.Attempts
	}
	return whole, errors.Join(wrong...)
}

// wholeJob returns all that is known of a job.
func (g *journal) wholeJob(j *liveJob) *jobfile.Job {
	whole, wrong := g.gather(j, len(j.pending)+len(j.slowest))
	if j.graph != nil {
		whole.Graph = j.graph
	}
	whole.Course.Join(&j.course)
	whole.Attempts = append(append(whole.Attempts, j.pending...), j.slowest...)
	if wrong != nil {
		whole.Course.Lacks = append(whole.Course.Lacks, wrong.Error())
	}
	return whole
}

// forget drops jobs, and removes parts that no other job needs.
func (g *journal) forget(ids []scheduler.JobID) error {
	for _, id := range ids {
		if j := g.jobs[id]; j != nil {
			g.rows -= len(j.pending)
			g.parts.drop(j.chunks)
			delete(g.jobs, id)
		}
	}
	return g.parts.sweep()
}

// addAttempt adds an ended attempt. It returns false if there is no room, and counts it as missed.
func (g *journal) addAttempt(a changes.Attempt, most int) bool {
	j := g.job(a.Job)
	if g.rows >= heldRowsMax {
		j.course.Missed++
		return false
	}
	before := len(j.pending)
	j.addAttempt(a, most)
	g.rows += len(j.pending) - before
	return true
}

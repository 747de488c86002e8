package hfsp

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/hamadryad/hamadryad/plugins/hfsp/binenc"
	"github.com/hamadryad/hamadryad/plugins/hfsp/estimation"
	"github.com/hamadryad/hamadryad/plugins/hfsp/virtual"
	"github.com/hamadryad/hamadryad/plugins/hfsp/work"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// checkpointVersion is the version of the checkpoint's format.
	checkpointVersion = 4
	// checkpointDefault is the size limit of a checkpoint, in bytes, if the manager gives none.
	checkpointDefault = 1 << 20
	// eagerMax is the number of changed stages up to which the checkpoint is written in the same
	// round. With more, it is written once per saveEvery, so that frequent changes are not
	// written each time. A policy that crashes then forgets its samples and virtual time of that
	// interval.
	eagerMax  = 128
	saveEvery = time.Second
)

// A checkpoint is a sequence of records; each begins with one of these types. A record replaces
// the earlier records of the same thing; for a virtual cluster it is the next piece.
const (
	recordEstimator = iota + 1 // its name, before all that it learnt
	recordLearnt
	recordMemory
	recordCluster
	recordStage
)

// saver tracks the content of the checkpoint that the manager keeps.
type saver struct {
	size    int            // bytes; 0: it is written whole next
	at      scheduler.Time // when it was written last
	memory  []byte         // as the checkpoint has it
	pending []*stage       // stages whose record may be out of date
	without int            // live stages left out for want of space
	tasks   binenc.Writer  // memory for what the estimator writes of a stage
}

// look marks a stage to be compared with the checkpoint.
func (s *saver) look(x *stage) {
	if !x.pending {
		x.pending = true
		s.pending = append(s.pending, x)
	}
}

// remember returns the changes since the last checkpoint, to be appended to it, or a whole
// checkpoint if that would grow too large.
func (p *Policy) remember() *scheduler.Checkpoint {
	s := &p.saver
	now := p.view.Now()
	if len(s.pending) > eagerMax && now.Sub(s.at) < saveEvery {
		return nil
	}
	limit := cmp.Or(max(p.environment.Limits.CheckpointBytes, 0), checkpointDefault)
	var w binenc.Writer
	whole := s.size == 0
	if !whole {
		p.saveChanges(&w)
		whole = s.size+len(w.Data) > limit
	}
	if whole {
		w.Data = nil
		s.size = 0
		p.saveAll(&w, limit)
	}
	if s.at = now; len(w.Data) == 0 || len(w.Data) > limit {
		return nil // a policy without memory is better than none
	}
	s.size += len(w.Data)
	return &scheduler.Checkpoint{Version: checkpointVersion, Data: w.Data, Append: !whole}
}

// saveChanges writes the differences from the checkpoint.
func (p *Policy) saveChanges(w *binenc.Writer) {
	p.saveLearnt(w, false)
	p.saveMemory(w)
	for _, k := range p.kinds {
		k.save(w, false, math.MaxInt)
	}
	for _, s := range p.saver.pending {
		if s.pending = false; p.view.Job(s.Job.ID()) == s.Job {
			s.save(w, &p.saver.tasks, p.estimator)
		}
	}
	clear(p.saver.pending)
	p.saver.pending = p.saver.pending[:0]
}

// saveAll writes a whole checkpoint. It uses three quarters of the limit, so that appended changes
// do not soon force another whole one. Virtual clusters take at most half of that. Left out are the
// jobs that virtual.Save omits, and the stages of the jobs that came last. After a restart a stage
// left out counts as new: without samples, or without virtual work.
func (p *Policy) saveAll(w *binenc.Writer, limit int) {
	most := limit / 4 * 3
	p.saver.memory, p.saver.without = nil, 0
	w.Uint(recordEstimator)
	w.Text(p.options.Estimator)
	p.saveLearnt(w, true)
	p.saveMemory(w)
	for _, k := range p.kinds {
		k.save(w, true, max(most/2-len(w.Data), 0))
	}
	for _, s := range p.saver.pending {
		s.pending = false
	}
	clear(p.saver.pending)
	p.saver.pending = p.saver.pending[:0]
	for _, j := range p.view.Jobs() {
		for _, x := range p.index.Stages(j.ID()) {
			s := of(x)
			s.saved = nil
			before := len(w.Data)
			if s.save(w, &p.saver.tasks, p.estimator); len(w.Data) > most {
				w.Data, s.saved = w.Data[:before], nil
				p.saver.without++
			}
		}
	}
}

// saveLearnt writes what the estimator learnt from all stages.
func (p *Policy) saveLearnt(w *binenc.Writer, whole bool) {
	e, ok := p.estimator.(estimation.Keeper)
	if !ok {
		return
	}
	var learnt binenc.Writer
	if e.Save(&learnt, whole); len(learnt.Data) > 0 {
		w.Uint(recordLearnt)
		w.Bytes(learnt.Data)
	}
}

func (p *Policy) saveMemory(w *binenc.Writer) {
	before := len(w.Data)
	w.Uint(recordMemory)
	p.memory.save(w)
	p.saver.memory = keep(w, before, p.saver.memory)
}

// keep returns a written record, or removes it again if it is unchanged.
func keep(w *binenc.Writer, from int, was []byte) []byte {
	now := w.Data[from:]
	if bytes.Equal(now, was) {
		w.Data = w.Data[:from]
		return was
	}
	return append(was[:0], now...)
}

// save writes the next piece of a kind's virtual cluster.
func (k *kind) save(w *binenc.Writer, whole bool, most int) {
	if piece := k.cluster.Save(whole, most); piece != nil {
		w.Uint(recordCluster)
		w.Text(k.name)
		w.Bytes(piece)
	}
}

// save writes a stage's data, if the checkpoint does not have it already. It uses the memory of tasks.
func (s *stage) save(w, tasks *binenc.Writer, by estimation.Estimator) {
	if !s.Came {
		return
	}
	before := len(w.Data)
	w.Uint(recordStage)
	w.Uint(uint64(s.Job.ID()))
	w.Uint(uint64(s.ID()))
	w.Bool(s.over)
	w.Bool(s.Bound.Leads)
	w.Bool(s.Bound.Joins)
	w.Uint(uint64(s.Bound.Leader))
	w.Int(int64(s.skip))
	w.Uint(uint64(s.wait.Level))
	w.Bool(s.wait.Skipped)
	w.Int(int64(s.wait.Since))
	w.Int(int64(s.wait.Waited))
	tasks.Data = tasks.Data[:0]
	if e, ok := by.(estimation.Keeper); ok {
		e.SaveStage(s.tasks, tasks)
	}
	w.Bytes(tasks.Data)
	s.saved = keep(w, before, s.saved)
}

// load reads what save wrote. If by is nil it skips what the estimator learnt, because another
// estimator wrote it. The stage's kind, tasks and slots are known.
func (x *learnt) load(r *binenc.Reader, by estimation.Keeper) error {
	x.over = r.Bool()
	x.bound = work.Bound{Leads: r.Bool(), Joins: r.Bool(), Leader: scheduler.StageID(r.Count(math.MaxInt32))} //nolint:gosec // it is bounded
	x.skip = scheduler.Time(r.Int())
	x.wait.Level = scheduler.Locality(r.Count(int(scheduler.Remote))) //nolint:gosec // it is bounded
	x.wait.Skipped, x.wait.Since, x.wait.Waited = r.Bool(), scheduler.Time(r.Int()), time.Duration(r.Int())
	x.tasks = &estimation.Stage{}
	tasks := binenc.NewReader(r.Bytes())
	if by != nil {
		by.LoadStage(x.tasks, tasks)
	}
	if err := r.Err(); err != nil {
		return err
	}
	return tasks.Err()
}

// recall restores a checkpoint, and returns the events after it. A checkpoint of another
// version, or an unreadable one, is ignored with a note. A policy without memory is better than
// none.
func (p *Policy) recall(s scheduler.Snapshot) []scheduler.Event {
	if s.Checkpoint == nil {
		return s.Events
	}
	x, err := read(s.Checkpoint, p.options)
	if err != nil {
		why := fmt.Appendf(nil, "what was learnt of task lengths is lost: %v", err)
		p.notes = append(p.notes, scheduler.Note{Name: "checkpoint ignored", Body: why})
		return s.Events
	}
	p.estimator, p.memory = x.estimator, x.memory
	for id, known := range x.stages {
		if st := p.stage(id); st != nil {
			t := known.tasks
			t.Kind, t.Tasks, t.Slots, t.Job, t.ID, t.Lot = st.tasks.Kind, st.tasks.Tasks, st.tasks.Slots, st.tasks.Job, st.tasks.ID, st.tasks.Lot
			st.learnt, st.Came = known, true
			st.recallBound()
		}
	}
	for name, c := range x.clusters {
		p.kindOf(name).restore(c, s.Now, p.stage)
	}
	return s.Events[min(s.Since, len(s.Events)):]
}

// recallBound adds what the checkpoint knows of the stages that a stage starts with: a snapshot does not have the bundles
// that have finished.
func (s *stage) recallBound() {
	s.Bound.Leads = s.Bound.Leads || s.bound.Leads
	if s.bound.Joins {
		s.Bound.Joins, s.Bound.Leader = true, s.bound.Leader
	}
}

// recalled is the content of a checkpoint.
type recalled struct {
	estimator estimation.Estimator // the configured one, with what it learnt
	memory    memory
	stages    map[virtual.ID]learnt
	clusters  map[scheduler.SlotKind]*virtual.Cluster
}

// read reads a checkpoint. It skips what an estimator other than the configured one learnt.
func read(c *scheduler.Checkpoint, o options) (*recalled, error) {
	if c.Version != checkpointVersion {
		return nil, fmt.Errorf("it is of version %d, and this policy knows %d", c.Version, checkpointVersion)
	}
	x := &recalled{estimator: o.newEstimator(), stages: map[virtual.ID]learnt{}, clusters: map[scheduler.SlotKind]*virtual.Cluster{}}
	var keeper estimation.Keeper // nil: nothing is there for it
	pieces := map[scheduler.SlotKind][][]byte{}
	for r := binenc.NewReader(c.Data); r.More(); {
		var err error
		switch kind := r.Uint(); kind {
		case recordEstimator:
			if r.Text() == o.Estimator {
				keeper, _ = x.estimator.(estimation.Keeper)
			}
		case recordLearnt:
			learnt := binenc.NewReader(r.Bytes())
			if keeper != nil {
				keeper.Load(learnt)
			}
			err = learnt.Err()
		case recordMemory:
			x.memory.load(r)
		case recordCluster:
			name := r.Text()
			pieces[name] = append(pieces[name], r.Bytes())
		case recordStage:
			id := virtual.ID{Job: scheduler.JobID(r.Uint())}
			id.Stage = scheduler.StageID(r.Count(math.MaxInt32)) //nolint:gosec // it is bounded
			var known learnt
			err = known.load(r, keeper)
			x.stages[id] = known
		default:
			return nil, fmt.Errorf("it has a record of the unknown kind %d", kind)
		}
		if r.Err() != nil {
			err = r.Err()
		}
		if err != nil {
			return nil, err
		}
	}
	for name, all := range pieces {
		cluster, err := virtual.Restore(all...)
		if err != nil {
			return nil, err
		}
		x.clusters[name] = cluster
	}
	return x, nil
}

// stage returns a live stage, or nil.
func (p *Policy) stage(id virtual.ID) *stage {
	if all := p.index.Stages(id.Job); int(id.Stage) < len(all) {
		return of(all[id.Stage])
	}
	return nil
}

// restore restores a saved virtual cluster, without the stages that have ended since.
func (k *kind) restore(c *virtual.Cluster, now scheduler.Time, find func(virtual.ID) *stage) {
	k.cluster = c
	c.Advance(now)
	for j := range c.Jobs() {
		if s := find(j.ID()); s != nil && s.job == nil {
			s.job, s.Came, j.Owner = j, true, s
			if s.parked = j.Spec().Cap == 0 && s.cap() > 0; s.parked {
				k.parked++
			}
		} else {
			c.Remove(j)
		}
	}
}

package state

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// PastRuns are the median running times of stages of jobs that succeeded, for later jobs of the same
// program and name. The zero value is empty. Not safe for concurrent use.
type PastRuns struct {
	byStage map[stageKey]pastRun
	last    uint64 // number of the last record
}

// stageKey names a stage over several jobs. Program is the SHA-256 of the job's program; jobs without
// one are told apart by name alone.
type stageKey struct{ program, job, stage string }

// pastRun is the record of a stage. Records are numbered, so that the oldest is known.
type pastRun struct {
	number uint64
	median time.Duration
}

// Record records the running times of a job that succeeded. most bounds the stages that are kept: the
// oldest records go first.
func (r *PastRuns) Record(j *Job, most int) {
	if r.byStage == nil {
		r.byStage = map[stageKey]pastRun{}
	}
	for i := range j.Plan.Graph.Stages {
		median, known := j.Stages[i].Median(0)
		if !known {
			continue
		}
		r.last++
		r.byStage[j.stageKey(i)] = pastRun{r.last, max(median, shortestRun)}
		for len(r.byStage) > most {
			r.dropOldest()
		}
	}
}

// shortestRun is recorded in place of 0, which would mean unknown: the start and the end of a very short
// attempt come in one report.
const shortestRun = time.Microsecond

func (r *PastRuns) dropOldest() {
	oldest, number := stageKey{}, r.last+1
	for k, x := range r.byStage {
		if x.number < number {
			oldest, number = k, x.number
		}
	}
	delete(r.byStage, oldest)
}

// Expect sets what a submitted job's stages are expected to run, by earlier jobs. Those expected to run
// shorter than a bound may have attempts ahead from the start.
func (r *PastRuns) Expect(j *Job, aheadBelow time.Duration) {
	for i := range j.Plan.Graph.Stages {
		j.Stages[i].pastRun = r.byStage[j.stageKey(i)].median
		d, _ := j.expected(i)
		j.Stages[i].Expect(d, aheadBelow)
	}
}

func (j *Job) stageKey(i int) stageKey {
	return stageKey{j.Spec.GetProgram(), j.Spec.GetName(), j.Stages[i].Name()}
}

// expected returns how long attempts of a stage are expected to run. The author's word comes first.
func (j *Job) expected(i int) (time.Duration, scheduler.EstimateSource) {
	switch said, past := j.Plan.Graph.Stages[i].GetExpectedNs(), j.Stages[i].pastRun; {
	case said > 0:
		return time.Duration(said), scheduler.EstimateAuthor
	case past > 0:
		return past, scheduler.EstimatePastRun
	}
	return 0, scheduler.EstimateNone
}

// clone returns an independent copy.
func (r *PastRuns) clone() PastRuns { return PastRuns{maps.Clone(r.byStage), r.last} }

// Code codes the records, the oldest first.
func (r *PastRuns) Code(w *checkpoint.Codec) {
	type record struct {
		stageKey
		pastRun
	}
	var list []record
	for k, x := range r.byStage {
		list = append(list, record{k, x})
	}
	slices.SortFunc(list, func(a, b record) int { return cmp.Compare(a.number, b.number) })
	checkpoint.Num(w, &r.last)
	checkpoint.List(w, &list, func(w *checkpoint.Codec, x *record) {
		checkpoint.Str(w, &x.program)
		checkpoint.Str(w, &x.job)
		checkpoint.Str(w, &x.stage)
		checkpoint.Num(w, &x.number)
		checkpoint.Num(w, &x.median)
	})
	if w.Reading && len(list) > 0 {
		r.byStage = map[stageKey]pastRun{}
		for _, x := range list {
			r.byStage[x.stageKey] = x.pastRun
		}
	}
}

// codePastRuns codes what a job's stages are expected to run by earlier jobs.
func codePastRuns(w *checkpoint.Codec, j *Job) {
	for i := range j.Plan.Graph.Stages {
		checkpoint.Num(w, &j.Stages[i].pastRun)
	}
}

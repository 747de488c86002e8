package life

import (
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hamadryad/hamadryad/engine/core/codec"
	"github.com/hamadryad/hamadryad/engine/core/course"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// noLimits expands a graph that was let in before, whatever the limits are now.
var noLimits = graph.Limits{
	Stages: math.MaxInt, Nodes: math.MaxInt, Connections: math.MaxInt, Edges: math.MaxInt, GroupNodes: math.MaxInt,
	BundleGroups: math.MaxInt, Slots: math.MaxInt, Memory: math.MaxInt64, NameBytes: math.MaxInt, Places: math.MaxInt,
}

// CodeBefore codes the jobs that are none yet, and those that ended.
func (st *Cluster) CodeBefore(w *codec.Codec) {
	codec.List(w, &st.Prepared, func(w *codec.Codec, p *Prepared) { codec.Num(w, &p.ID); codec.Num(w, &p.At) })
	codec.List(w, &st.Ended, func(w *codec.Codec, p **EndedJob) {
		codec.Opt(w, p, func(w *codec.Codec, e *EndedJob) { codec.Message(w, &e.Status); codec.Message(w, &e.Refused) })
	})
}

// CodeOwners codes to whom the jobs are announced that are none yet.
func (st *Cluster) CodeOwners(w *codec.Codec) {
	for i := range st.Prepared {
		codec.Str(w, &st.Prepared[i].Owner)
	}
}

// CodeJobs codes all jobs with their bundles and attempts. Launchers are known by now.
func (st *Cluster) CodeJobs(w *codec.Codec) {
	ids := slices.Clone(st.Jobs.IDs())
	codec.Nums(w, &ids)
	for _, id := range ids {
		if w.Err != nil {
			return
		}
		j := st.Jobs.Get(id)
		if w.Reading {
			j = &Job{ID: id}
		}
		codeJob(w, st, j)
		if w.Reading && w.Err == nil {
			st.Jobs.Add(id, j)
			for i := range j.Bundles {
				if b := &j.Bundles[i]; j.knows(b) {
					st.Bundles.Set(b.id, b)
				}
			}
			st.NoteWork(j)
			st.NoteFinishing(j)
		}
	}
}

func codeJob(w *codec.Codec, st *Cluster, j *Job) {
	codeSpec(w, st, j)
	codec.Num(w, &j.First)
	if w.Reading && w.Err == nil {
		plan, err := graph.Expand(j.Spec.GetGraph(), 0, noLimits)
		if err != nil {
			w.Fail(fmt.Errorf("%s: %w", j.ID, err))
			return
		}
		j.Plan = plan
		j.Expand()
		for i := range j.Bundles {
			j.Bundles[i].id = j.First + scheduler.BundleID(i)
		}
	}
	codeJobFields(w, j)
	if w.Format > 4 {
		codeKinds(w, j)
	}
	for i := range j.Stages {
		j.Stages[i].Code(w)
	}
	j.Inputs.Code(w)
	for i := range j.Bundles {
		codeBundle(w, st, &j.Bundles[i])
	}
	if w.Err != nil {
		return
	}
	codeReadyOrder(w, j)
	if w.Reading {
		j.StoreRoom.Listed(func(bundle int) {
			if bundle < 0 || bundle >= len(j.Bundles) || j.Bundles[bundle].Phase() != BundleWaiting {
				w.Fail(fmt.Errorf("bundle %d of %s waits for room, and is not waiting", bundle, j.ID))
				return
			}
			j.Bundles[bundle].WaitsForRoom = true
		})
		codeRelink(w, st, j)
	}
}

// codeKinds codes the kinds of slots that stages take.
func codeKinds(w *codec.Codec, j *Job) {
	kinds := map[int]string{}
	for i := range j.Plan.Graph.Stages {
		kind := j.Stages[i].kind
		codec.Str(w, &kind)
		kinds[i] = kind
	}
	if w.Reading && w.Err == nil {
		j.TakeKinds(kinds)
	}
}

// codeSpec codes what was submitted. Of a graph that is a blob it has the hash.
func codeSpec(w *codec.Codec, st *Cluster, j *Job) {
	if !w.Reading && j.Spec.GetGraphBlob() != "" {
		without := &wire.JobSpec{}
		j.Spec.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			if f.Name() != "graph" {
				without.ProtoReflect().Set(f, v)
			}
			return true
		})
		codec.Message(w, &without)
		return
	}
	codec.Message(w, &j.Spec)
	if w.Reading && w.Err == nil && j.Spec.GetGraphBlob() != "" {
		if err := FillGraph(j.Spec, st.Graphs); err != nil {
			w.Fail(fmt.Errorf("%s: %w", j.ID, err))
		}
	}
}

func codeJobFields(w *codec.Codec, j *Job) {
	codec.Num(w, &j.phase)
	codec.Num(w, &j.Client)
	codec.Str(w, &j.Pool)
	codec.Num(w, &j.Priority)
	codec.Num(w, &j.Submitted)
	codec.Num(w, &j.Admitted)
	codec.Num(w, &j.Unfinished)
	codec.Num(w, &j.Outcome)
	codec.Message(w, &j.Failure)
	j.OutputCommit.CodeGranted(w)
	j.Exclusions.CodeSome(w)
	codec.Flag(w, &j.Watched)
	j.OutputCommit.CodeTries(w)
	switch {
	case w.Format > 1:
		codec.Num(w, &j.Roomy)
		codec.Num(w, &j.Opened)
		codec.Num(w, &j.Closed)
		j.OutputCommit.CodeKept(w)
	case w.Reading: // nothing was left to later steps
		j.Opened, j.Closed = len(j.Plan.Bundles), len(j.Bundles)
	}
	codec.Num(w, &j.LastLaunch)
	codec.Nums(w, &j.RanOn)
	j.Exclusions.Code(w)
	codec.Num(w, &j.Unplaceable)
	codec.Str(w, &j.WhyNot)
	codec.Num(w, &j.PolicyWait.Job)
	codec.Num(w, &j.PolicyWait.Reason)
	codec.Str(w, &j.PolicyWait.Detail)
	codec.List(w, &j.Notes, codec.Str[string])
	codec.Num(w, &j.NotesDropped)
	j.Tally.Code(w)
	j.StoreRoom.Code(w)
}

func codeBundle(w *codec.Codec, st *Cluster, b *Bundle) {
	codec.Num(w, &b.phase)
	b.Gate.CodeLate(w)
	codec.Flag(w, &b.Preempted)
	b.Gate.CodeUnmet(w)
	codec.Num(w, &b.Since)
	codec.Num(w, &b.Failures)
	codec.Num(w, &b.Losses)
	b.Exclusions.Code(w)
	codec.Num(w, &b.twice)
	codec.Num(w, &b.Protected)
	codec.List(w, &b.Kept, func(w *codec.Codec, p **Commit) { codec.Opt(w, p, codeCommit) })
	codec.List(w, &b.runs, func(w *codec.Codec, p **Run) {
		codec.Opt(w, p, func(w *codec.Codec, r *Run) {
			r.Bundle = b
			codeRun(w, st, r)
		})
	})
}

func codeCommit(w *codec.Codec, k *Commit) {
	codec.Num(w, &k.Attempt)
	codec.Num(w, &k.Run)
	codec.Blob(w, &k.Token)
	codec.Num(w, &k.Launcher)
	codec.Str(w, &k.Host)
	codec.Str(w, &k.Rack)
	for _, b := range []*bool{&k.Stored, &k.Lost, &k.Spec} {
		codec.Flag(w, b)
	}
	codec.Num(w, &k.Launched)
	codec.Num(w, &k.Started)
	codec.Num(w, &k.Phased)
	codec.Num(w, &k.Ended)
	codec.Num(w, &k.Work.Running)
	for i := range k.Work.Read {
		codec.Num(w, &k.Work.Read[i])
	}
	codec.Num(w, &k.Work.ToRead)
	codec.Num(w, &k.Work.Written)
	codec.Message(w, &k.Report)
}

func codeRun(w *codec.Codec, st *Cluster, r *Run) {
	codec.Num(w, &r.ID)
	codec.Blob(w, &r.Token)
	for _, b := range []*bool{&r.Speculative, &r.PeersSent, &r.granted} {
		codec.Flag(w, b)
	}
	codec.Num(w, &r.live)
	codec.Num(w, &r.stopped)
	codec.Message(w, &r.failure)
	codec.Str(w, &r.lost)
	if w.Format > 3 {
		codec.Flag(w, &r.elsewhere)
	}
	codec.Num(w, &r.Launched)
	if w.Format > 2 {
		codec.Num(w, &r.Ready)
	}
	if w.Format > 1 {
		codec.Num(w, &r.toSuspend)
		codec.Num(w, &r.suspendFor)
	}
	codec.Num(w, &r.suspended)
	codec.List(w, &r.Commits, func(w *codec.Codec, p **Commit) { codec.Opt(w, p, codeCommit) })
	codec.List(w, &r.Attempts, func(w *codec.Codec, p **Attempt) {
		codec.Opt(w, p, func(w *codec.Codec, a *Attempt) {
			a.Run = r
			codeAttempt(w, st, a)
		})
	})
}

func codeAttempt(w *codec.Codec, st *Cluster, a *Attempt) {
	codec.Num(w, &a.ID)
	codec.Num(w, &a.Group)
	a.Launcher = codeLauncherRef(w, st, a.Launcher)
	codec.Str(w, &a.Kind)
	codec.Num(w, &a.Slots)
	codec.Num(w, &a.Memory)
	a.CodePhase(w)
	codec.Flag(w, &a.HasSlots)
	a.CodeAsked(w)
	a.CodeTimes(w)
	codec.Str(w, &a.Address)
	a.CodeStop(w)
	codec.Num(w, &a.Reservation)
	a.Unacked.Code(w)
	a.Reads.Code(w)
	thousandths := int64(a.Progress * 1000)
	codec.Num(w, &thousandths)
	if w.Reading {
		a.Progress = float64(thousandths) / 1000
	}
	codec.Message(w, &a.Work)
	codec.Num(w, &a.Told)
}

// codeReadyOrder codes the order of a job's ready list.
func codeReadyOrder(w *codec.Codec, j *Job) {
	var order []int
	for b := range j.AllReady() {
		order = append(order, b.Index)
	}
	codec.Nums(w, &order)
	if !w.Reading {
		return
	}
	for _, i := range order {
		if i < 0 || i >= len(j.Bundles) || j.Bundles[i].Phase() != BundleReady {
			w.Fail(fmt.Errorf("bundle %d of %s is in the ready list and not ready", i, j.ID))
			return
		}
		j.linkReady(&j.Bundles[i])
	}
}

// codeRelink makes the live attempts in what was read live ones again.
func codeRelink(w *codec.Codec, st *Cluster, j *Job) {
	j.recount()
	j.LastMore = j.MemoryForFiles()
	var live []*Attempt
	for i := range j.Bundles {
		for _, r := range j.Bundles[i].Runs() {
			for _, a := range r.Attempts {
				if a.Phase() != course.Ended {
					live = append(live, a)
				}
			}
		}
	}
	slices.SortFunc(live, func(x, y *Attempt) int { return int(int64(x.ID) - int64(y.ID)) })
	for _, a := range live {
		if !a.Launcher.Up {
			w.Fail(fmt.Errorf("attempt %d lives on launcher %d, which is not up", a.ID, a.Launcher.ID))
			return
		}
		if a.Group < 0 || a.Group >= a.Run.Bundle.Width() {
			w.Fail(fmt.Errorf("attempt %d is of group %d of a bundle of %d", a.ID, a.Group, a.Run.Bundle.Width()))
			return
		}
		a.Locate()
		st.AddAttempt(a)
		a.Launcher.Adopt(&a.Allocation)
		if a.Phase() != course.Assigned && a.Stop() == nil {
			a.Reads.Start()
		}
		if err := j.Inputs.Adopt(&a.Reads, a.ID); err != nil {
			w.Fail(err)
			return
		}
	}
}

package state

import (
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/engine/core/internal/state/phase"
	"github.com/hamadryad/hamadryad/engine/graph"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// noLimits lets a graph that was already accepted expand, whatever the limits are now.
var noLimits = graph.Limits{
	Stages: math.MaxInt, Nodes: math.MaxInt, Connections: math.MaxInt, Edges: math.MaxInt, GroupNodes: math.MaxInt,
	BundleGroups: math.MaxInt, Slots: math.MaxInt, Memory: math.MaxInt64, NameBytes: math.MaxInt, Places: math.MaxInt, AdaptPairs: math.MaxInt,
}

// CodeReservedAndEnded codes reserved ids, the jobs that ended, and the running times of their stages.
func (st *Cluster) CodeReservedAndEnded(w *checkpoint.Codec) {
	st.ReservedIDs.code(w)
	checkpoint.List(w, &st.Ended.list, func(w *checkpoint.Codec, p **EndedJob) {
		checkpoint.Opt(w, p, func(w *checkpoint.Codec, e *EndedJob) {
			checkpoint.Message(w, &e.Status)
			checkpoint.Message(w, &e.Refused)
		})
	})
	if w.Format > 6 {
		st.PastRuns.Code(w)
	}
}

// CodeJobs codes all jobs with their bundles and attempts. Launchers must be coded before.
func (st *Cluster) CodeJobs(w *checkpoint.Codec) {
	ids := slices.Clone(st.Jobs.IDs())
	checkpoint.Nums(w, &ids)
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
			st.AddJob(j)
			for i := range j.Bundles {
				if b := &j.Bundles[i]; j.knows(b) {
					st.Bundles.Set(b.id, b)
				}
			}
			st.RequeueJob(j)
			st.RequeueFinishing(j)
		}
	}
}

func codeJob(w *checkpoint.Codec, st *Cluster, j *Job) {
	codeSpec(w, st, j)
	checkpoint.Num(w, &j.first)
	if w.Reading && w.Err == nil {
		plan, err := graph.Expand(j.Spec.GetGraph(), 0, noLimits)
		if err != nil {
			w.Fail(fmt.Errorf("%s: %w", j.ID, err))
			return
		}
		j.Plan = plan
		j.expand()
		for i := range j.Bundles {
			j.Bundles[i].id = j.first + scheduler.BundleID(i)
		}
	}
	codeJobFields(w, j)
	if w.Format > 4 {
		codeKinds(w, j)
	}
	if w.Format > 6 {
		codePastRuns(w, j)
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
				w.Fail(fmt.Errorf("the bundle at index %d of %s waits for room, and is not waiting", bundle, j.ID))
				return
			}
			j.Bundles[bundle].waitsForStoreRoom = true
		})
		codeRelink(w, st, j)
	}
}

// codeKinds codes the kinds of slots that stages take.
func codeKinds(w *checkpoint.Codec, j *Job) {
	kinds := map[int]string{}
	for i := range j.Plan.Graph.Stages {
		kind := j.Stages[i].kind
		checkpoint.Str(w, &kind)
		kinds[i] = kind
	}
	if w.Reading && w.Err == nil {
		j.TakeKinds(kinds)
	}
}

// codeSpec codes the submitted job. For a graph stored as a blob it codes only the hash.
func codeSpec(w *checkpoint.Codec, st *Cluster, j *Job) {
	if !w.Reading && j.Spec.GetGraphBlob() != "" {
		without := &wire.JobSpec{}
		j.Spec.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			if f.Name() != "graph" {
				without.ProtoReflect().Set(f, v)
			}
			return true
		})
		checkpoint.Message(w, &without)
		return
	}
	checkpoint.Message(w, &j.Spec)
	if w.Reading && w.Err == nil && j.Spec.GetGraphBlob() != "" {
		if err := FillGraph(j.Spec, st.graphs); err != nil {
			w.Fail(fmt.Errorf("%s: %w", j.ID, err))
		}
	}
}

func codeJobFields(w *checkpoint.Codec, j *Job) {
	checkpoint.Num(w, &j.phase)
	j.Submission.code(w)
	checkpoint.Num(w, &j.unfinished)
	checkpoint.Num(w, &j.End.outcome)
	checkpoint.Message(w, &j.End.failure)
	j.OutputCommit.CodeGranted(w)
	j.Exclusions.CodeSome(w)
	checkpoint.Flag(w, &j.Waits.watchingReaders)
	j.OutputCommit.CodeTries(w)
	switch {
	case w.Format > 1:
		checkpoint.Num(w, &j.Waits.roomSince)
		checkpoint.Num(w, &j.Slices.opened)
		checkpoint.Num(w, &j.Slices.closed)
		j.OutputCommit.CodeKept(w)
	case w.Reading: // no work was left to later steps
		j.Slices.opened, j.Slices.closed = j.Slices.bundles, j.Slices.all
	}
	checkpoint.Num(w, &j.lastLaunch)
	checkpoint.Nums(w, &j.RanOn.ids)
	j.Exclusions.Code(w)
	j.Waits.codePlaceable(w)
	j.Notes.code(w)
	j.Stats.Code(w)
	j.StoreRoom.Code(w)
}

func codeBundle(w *checkpoint.Codec, st *Cluster, b *Bundle) {
	checkpoint.Num(w, &b.phase)
	b.Gate.CodeLate(w)
	checkpoint.Flag(w, &b.Protection.preempted)
	b.Gate.CodeUnmet(w)
	checkpoint.Num(w, &b.since)
	checkpoint.Num(w, &b.Tries.failures)
	checkpoint.Num(w, &b.Tries.losses)
	b.Exclusions.Code(w)
	checkpoint.Num(w, &b.speculationOffered)
	checkpoint.Num(w, &b.Protection.until)
	if w.Format > 7 {
		codeAnnounced(w, b)
	}
	checkpoint.List(w, &b.lastCommits, func(w *checkpoint.Codec, p **Commit) { checkpoint.Opt(w, p, codeCommit) })
	checkpoint.List(w, &b.attempts, func(w *checkpoint.Codec, p **BundleAttempt) {
		checkpoint.Opt(w, p, func(w *checkpoint.Codec, r *BundleAttempt) {
			r.Bundle = b
			codeRun(w, st, r)
		})
	})
}

func codeAnnounced(w *checkpoint.Codec, b *Bundle) {
	var list []announcement
	if b.announced != nil {
		list = *b.announced
	}
	checkpoint.List(w, &list, codeAnnouncement)
	if w.Reading && len(list) > 0 {
		kept := list // a variable of its own: only then the others need no memory
		b.announced = &kept
	}
}

func codeAnnouncement(w *checkpoint.Codec, a *announcement) {
	checkpoint.Num(w, &a.bytes)
	checkpoint.List(w, &a.places, func(w *checkpoint.Codec, p *scheduler.Place) {
		checkpoint.Str(w, &p.Host)
		checkpoint.Str(w, &p.Rack)
		checkpoint.Num(w, &p.Bytes)
	})
}

func codeCommit(w *checkpoint.Codec, k *Commit) {
	checkpoint.Num(w, &k.Attempt)
	checkpoint.Num(w, &k.BundleAttempt)
	checkpoint.Blob(w, &k.Token)
	checkpoint.Num(w, &k.Launcher)
	checkpoint.Str(w, &k.Host)
	checkpoint.Str(w, &k.Rack)
	for _, b := range []*bool{&k.Stored, &k.Lost, &k.Spec} {
		checkpoint.Flag(w, b)
	}
	checkpoint.Num(w, &k.Launched)
	checkpoint.Num(w, &k.Started)
	checkpoint.Num(w, &k.Phased)
	checkpoint.Num(w, &k.Ended)
	checkpoint.Num(w, &k.Work.Running)
	for i := range k.Work.Read {
		checkpoint.Num(w, &k.Work.Read[i])
	}
	checkpoint.Num(w, &k.Work.ToRead)
	checkpoint.Num(w, &k.Work.Written)
	checkpoint.Message(w, &k.Report)
	if w.Reading && proto.Size(k.Report) == 0 {
		k.Report = &emptyReport
	}
}

func codeRun(w *checkpoint.Codec, st *Cluster, r *BundleAttempt) {
	checkpoint.Num(w, &r.ID)
	checkpoint.Blob(w, &r.token)
	for _, b := range []*bool{&r.speculative, &r.peersSent, &r.granted} {
		checkpoint.Flag(w, b)
	}
	checkpoint.Num(w, &r.live)
	checkpoint.Num(w, &r.stopped)
	checkpoint.Message(w, &r.failure)
	checkpoint.Str(w, &r.lost)
	if w.Format > 3 {
		checkpoint.Flag(w, &r.elsewhere)
	}
	checkpoint.Num(w, &r.launched)
	if w.Format > 2 {
		checkpoint.Num(w, &r.ready)
	}
	if w.Format > 1 {
		checkpoint.Num(w, &r.toSuspend)
		checkpoint.Num(w, &r.suspendFor)
	}
	checkpoint.Num(w, &r.suspended)
	checkpoint.List(w, &r.commits, func(w *checkpoint.Codec, p **Commit) { checkpoint.Opt(w, p, codeCommit) })
	checkpoint.List(w, &r.Attempts, func(w *checkpoint.Codec, p **Attempt) {
		checkpoint.Opt(w, p, func(w *checkpoint.Codec, a *Attempt) {
			a.BundleAttempt = r
			codeAttempt(w, st, a)
		})
	})
}

func codeAttempt(w *checkpoint.Codec, st *Cluster, a *Attempt) {
	checkpoint.Num(w, &a.ID)
	checkpoint.Num(w, &a.Group)
	a.Launcher = codeLauncherRef(w, st, a.Launcher)
	checkpoint.Str(w, &a.Kind)
	checkpoint.Num(w, &a.Slots)
	checkpoint.Num(w, &a.Memory)
	if w.Format > 6 {
		resources.CodeResources(w, &a.Resources)
	}
	a.CodePhase(w)
	checkpoint.Flag(w, &a.HasSlots)
	if w.Format > 7 {
		checkpoint.Flag(w, &a.Empty)
		a.heldAhead = a.Empty
		checkpoint.Flag(w, &a.outlasted)
	}
	a.CodeAsked(w)
	a.CodeTimes(w)
	checkpoint.Str(w, &a.address)
	a.CodeStop(w)
	checkpoint.Num(w, &a.Reservation)
	a.Unacked.Code(w)
	a.Reads.Code(w)
	thousandths := int64(a.progress * 1000)
	checkpoint.Num(w, &thousandths)
	if w.Reading {
		a.progress = float64(thousandths) / 1000
	}
	checkpoint.Message(w, &a.work)
	checkpoint.Num(w, &a.progressNotified)
}

// codeReadyOrder codes the order of a job's ready list.
func codeReadyOrder(w *checkpoint.Codec, j *Job) {
	var order []int
	for b := range j.Ready.All() {
		order = append(order, b.Index)
	}
	checkpoint.Nums(w, &order)
	if !w.Reading {
		return
	}
	for _, i := range order {
		if i < 0 || i >= len(j.Bundles) || j.Bundles[i].Phase() != BundleReady {
			w.Fail(fmt.Errorf("the bundle at index %d of %s is in the ready list and not ready", i, j.ID))
			return
		}
		j.Ready.add(&j.Bundles[i])
	}
}

// codeRelink links the live attempts just read to their jobs, launchers and inputs.
func codeRelink(w *checkpoint.Codec, st *Cluster, j *Job) {
	j.recount()
	j.lastMore = j.MemoryForFiles()
	var live []*Attempt
	for i := range j.Bundles {
		for _, r := range j.Bundles[i].Attempts() {
			for _, a := range r.Attempts {
				if a.Phase() != phase.Ended {
					live = append(live, a)
				}
			}
		}
	}
	slices.SortFunc(live, func(x, y *Attempt) int { return int(int64(x.ID) - int64(y.ID)) })
	for _, a := range live {
		if !a.Launcher.Up {
			w.Fail(fmt.Errorf("attempt-%d lives on launcher %d, which is not up", a.ID, a.Launcher.ID))
			return
		}
		if a.Group < 0 || a.Group >= a.BundleAttempt.Bundle.Width() {
			w.Fail(fmt.Errorf("attempt-%d is of group %d of a bundle of %d", a.ID, a.Group, a.BundleAttempt.Bundle.Width()))
			return
		}
		a.Locate()
		st.AddAttempt(a)
		a.Launcher.Adopt(&a.Allocation)
		if a.Phase() != phase.Assigned && a.Stop() == nil {
			a.Reads.Start()
		}
		if err := j.Inputs.Adopt(&a.Reads, a.ID); err != nil {
			w.Fail(err)
			return
		}
	}
}

package state

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/core/internal/resources"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// CodeNames codes the hosts' other names. Older checkpoints end before them.
func (st *Cluster) CodeNames(w *checkpoint.Codec) {
	if w.Reading && w.Left() == 0 {
		return
	}
	for _, id := range st.Launchers.IDs() {
		checkpoint.List(w, &st.Launchers.Get(id).names, checkpoint.Str)
	}
}

// CodeIdentities codes the identities of data folders. Older checkpoints end before them.
func (st *Cluster) CodeIdentities(w *checkpoint.Codec) {
	if w.Reading && w.Left() == 0 {
		return
	}
	for _, id := range st.Launchers.IDs() {
		checkpoint.Str(w, &st.Launchers.Get(id).identity)
	}
}

// CodeLaunchers codes all launchers without their stored outputs.
func (st *Cluster) CodeLaunchers(w *checkpoint.Codec) {
	ids := slices.Clone(st.Launchers.IDs())
	checkpoint.Nums(w, &ids)
	for _, id := range ids {
		l := st.Launchers.Get(id)
		if w.Reading {
			l = &Launcher{Launcher: resources.Launcher{ID: id}}
		}
		codeLauncher(w, l)
		if w.Reading && w.Err == nil {
			st.Launchers.Add(id, l)
			st.launchersByName[l.Name] = l
			st.resources.Launchers.Adopt(&l.Launcher)
		}
	}
}

func codeLauncher(w *checkpoint.Codec, l *Launcher) {
	l.CodeName(w)
	checkpoint.Str(w, &l.dataAddress)
	checkpoint.Str(w, &l.httpAddress)
	checkpoint.Num(w, &l.incarnation)
	l.CodeHas(w)
	l.Outstanding.CodeDue(w)
	if w.Format > 7 {
		checkpoint.Num(w, &l.aheadDue)
		checkpoint.Flag(w, &l.holdsAhead)
		checkpoint.Num(w, &l.endedJob)
		checkpoint.Num(w, &l.endedStage)
	}
	l.CodeOffer(w)
}

// CodeOutputs codes the outputs stored on launchers. Jobs must be coded before.
func (st *Cluster) CodeOutputs(w *checkpoint.Codec) {
	for _, lid := range st.Launchers.IDs() {
		l := st.Launchers.Get(lid)
		ids := slices.Collect(l.Outputs.IDs())
		checkpoint.Nums(w, &ids)
		for _, id := range ids {
			o := l.Outputs.Get(id)
			if w.Reading {
				o = &Output{}
			}
			var b scheduler.BundleID
			if o.Bundle != nil {
				b = o.Bundle.id
			}
			checkpoint.Num(w, &b)
			checkpoint.Num(w, &o.Group)
			checkpoint.Num(w, &o.BundleAttempt)
			if !w.Reading || w.Err != nil {
				continue
			}
			if o.Bundle = st.Bundles.Get(b); o.Bundle == nil || !l.Up {
				w.Fail(fmt.Errorf("launcher %d keeps the output of %v, which is not there", lid, b))
				return
			}
			o.Job = o.Bundle.Job
			l.Outputs.Store(id, o)
		}
	}
}

// codeLauncherRef codes a launcher by its id. A forgotten launcher is read as an empty one with
// that id, which nothing else refers to.
func codeLauncherRef(w *checkpoint.Codec, st *Cluster, l *Launcher) *Launcher {
	var id scheduler.LauncherID
	if l != nil {
		id = l.ID
	}
	checkpoint.Num(w, &id)
	if !w.Reading {
		return l
	}
	if l = st.Launchers.Get(id); l == nil {
		l = &Launcher{Launcher: resources.Launcher{ID: id}}
	}
	return l
}

// CodeSuspended codes the order of the suspended queue. Jobs must be coded before.
func (st *Cluster) CodeSuspended(w *checkpoint.Codec) {
	var ids []uint64
	for r := range st.Suspended.All() {
		ids = append(ids, r.ID)
	}
	checkpoint.Nums(w, &ids)
	if !w.Reading {
		return
	}
	for _, id := range ids {
		a := st.Attempts.Get(scheduler.AttemptID(id))
		for _, other := range st.Attempts.All() {
			if a == nil && other.BundleAttempt.ID == id { // its first attempt ended
				a = other
			}
		}
		if a == nil {
			w.Fail(fmt.Errorf("bundle attempt %d is suspended and not there", id))
			return
		}
		st.Suspended.add(a.BundleAttempt)
	}
}

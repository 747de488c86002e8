package state

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/internal/sortedset"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// JobExclusions are the launchers that a whole job excludes, because too many of its attempts
// failed there. The zero value excludes none. Its lists are replaced, never changed in place, so
// copies stay valid. Package resources keeps the launchers that the site excludes.
type JobExclusions struct {
	launchers []scheduler.LauncherID // ascending
	failures  []failures             // in order of launcher
	some      bool                   // some bundle of the job may exclude a launcher
	own       bool                   // a bundle's program failed by itself on several launchers
	refused   []refusal              // by the output store, in order of arrival
	took      bool                   // the output store accepted files from some launcher
	succeeded []scheduler.LauncherID // only of a job array: where elements succeeded, ascending
}

// StoreRefusal is a reason why a store refuses. Its number is the same on all launchers.
type StoreRefusal int32

// refusal is a launcher on which the job's output store refused, and why.
type refusal struct {
	launcher scheduler.LauncherID
	why      StoreRefusal
}

// refusedMax is the number of refusing launchers from which the job itself is at fault.
const refusedMax = 8

// FailedByProgram records that a bundle's program failed by itself on a launcher. It says
// whether the job is at fault from now on, because the bundle also failed on another launcher.
func (j *JobExclusions) FailedByProgram(b *BundleExclusions, on scheduler.LauncherID) bool {
	if j.own || !slices.ContainsFunc(b.launchers(), func(id scheduler.LauncherID) bool { return id != on }) {
		return false
	}
	j.own = true
	return true
}

// Own says whether failures are the job's own fault, and no launcher's.
func (j *JobExclusions) Own() bool { return j.own }

// Refused records that the job's output store refused on a launcher, and why. It returns true if
// the job is at fault: another launcher met the same refusal, or too many launchers did. If the
// store accepted files from some launcher and a bad mount may be the reason, the refused
// launchers are at fault instead.
func (j *JobExclusions) Refused(on scheduler.LauncherID, why StoreRefusal, mount bool) (own bool) {
	own = (!j.took || !mount) && slices.ContainsFunc(j.refused, func(r refusal) bool { return r.launcher != on && r.why == why })
	if slices.ContainsFunc(j.refused, func(r refusal) bool { return r.launcher == on }) {
		return own
	}
	if len(j.refused) == refusedMax {
		return true
	}
	j.refused = append(slices.Clone(j.refused), refusal{on, why})
	return own
}

// Took records a commit of the job on a launcher, and whether the output store accepted its
// files. It returns the other launchers, on which the store had refused.
func (j *JobExclusions) Took(on scheduler.LauncherID, files bool) (bad []scheduler.LauncherID) {
	j.took = j.took || files
	for _, r := range j.refused {
		if r.launcher != on {
			bad = append(bad, r.launcher)
		}
	}
	return bad
}

// failures counts a job's failures on a launcher.
type failures struct {
	launcher scheduler.LauncherID
	count    int
}

// BundleExclusions are the launchers that one bundle excludes beside its job's exclusions: the
// latest on which it failed, up to a bound. The zero value excludes none.
type BundleExclusions struct {
	list *[]scheduler.LauncherID // the latest last; it is not changed, but replaced; nil: none
}

// launchers returns the excluded launchers, the latest last. The caller must not change the list.
func (b *BundleExclusions) launchers() []scheduler.LauncherID {
	if b.list == nil {
		return nil
	}
	return *b.list
}

// set excludes other launchers.
func (b *BundleExclusions) set(launchers []scheduler.LauncherID) {
	b.list = nil
	if len(launchers) > 0 {
		kept := launchers // a variable of its own: only then an empty list needs no memory
		b.list = &kept
	}
}

// Failed records that a bundle's attempt failed on a launcher. The bundle then excludes it,
// among at most max launchers. At the limit-th failure there the whole job excludes it, and the
// result is true.
func (j *JobExclusions) Failed(b *BundleExclusions, on scheduler.LauncherID, max, limit int) bool {
	j.some = true
	b.add(on, max)
	j.failures = slices.Clone(j.failures)
	i, found := slices.BinarySearchFunc(j.failures, on, func(x failures, id scheduler.LauncherID) int { return cmp.Compare(x.launcher, id) })
	if !found {
		j.failures = slices.Insert(j.failures, i, failures{launcher: on})
	}
	if j.failures[i].count++; j.failures[i].count != limit {
		return false
	}
	j.launchers = sortedset.Add(slices.Clone(j.launchers), on)
	return true
}

// FailedElement is Failed for an element of a job array. Elements differ more than the tasks of a
// plain stage: one fails by itself where others succeed. So a program's failure counts only on a
// launcher where no element succeeded. When elements fail by themselves on a second such launcher,
// the fault is the job's. From then on no failure of an element excludes a launcher for the others.
// So the job excludes each launcher at most once, however many elements fail.
func (j *JobExclusions) FailedElement(b *BundleExclusions, on scheduler.LauncherID, byProgram bool, max, limit int) (excludes bool) {
	if byProgram && !j.own {
		j.own = slices.ContainsFunc(j.failures, func(x failures) bool { return x.launcher != on && x.count > 0 && !j.succeededOn(x.launcher) }) && !j.succeededOn(on)
	}
	if j.own || byProgram && j.succeededOn(on) {
		j.FailedAlone(b, on, max)
		return false
	}
	return j.Failed(b, on, max, limit)
}

// ElementSucceeded records that an element of a job array succeeded on a launcher: failures there
// count from 0 again.
func (j *JobExclusions) ElementSucceeded(on scheduler.LauncherID) {
	if !j.succeededOn(on) {
		j.succeeded = sortedset.Add(slices.Clone(j.succeeded), on)
	}
	if i := slices.IndexFunc(j.failures, func(x failures) bool { return x.launcher == on }); i >= 0 && j.failures[i].count > 0 && !j.Excludes(on) {
		j.failures = slices.Clone(j.failures)
		j.failures[i].count = 0
	}
}

func (j *JobExclusions) succeededOn(id scheduler.LauncherID) bool {
	return sortedset.Has(j.succeeded, id)
}

// ElementsAtFault records that the elements of a job array failed on all launchers that could hold
// them.
func (j *JobExclusions) ElementsAtFault() { j.own = true }

// CodeSucceeded codes where elements succeeded, which older checkpoints lack.
func (j *JobExclusions) CodeSucceeded(w *checkpoint.Codec) { checkpoint.Nums(w, &j.succeeded) }

// FailedAlone is Failed for a bundle whose failures say nothing about the job's others.
func (j *JobExclusions) FailedAlone(b *BundleExclusions, on scheduler.LauncherID, max int) {
	j.some = true
	b.add(on, max)
}

func (b *BundleExclusions) add(on scheduler.LauncherID, max int) {
	launchers := b.launchers()
	if slices.Contains(launchers, on) {
		return
	}
	from := 0
	if len(launchers) >= max {
		from = len(launchers) - max + 1
	}
	b.set(append(slices.Clone(launchers[from:]), on))
}

// Some says whether some bundle of the job may exclude a launcher.
func (j *JobExclusions) Some() bool { return j.some }

// Excludes says whether the whole job excludes a launcher.
func (j *JobExclusions) Excludes(id scheduler.LauncherID) bool { return sortedset.Has(j.launchers, id) }

// Excludes says whether the bundle itself excludes a launcher.
func (b *BundleExclusions) Excludes(id scheduler.LauncherID) bool {
	return slices.Contains(b.launchers(), id)
}

// AnyExcluded says whether a bundle or its job excludes any launcher.
func AnyExcluded(j *JobExclusions, b *BundleExclusions) bool {
	return len(b.launchers()) > 0 || len(j.launchers) > 0
}

// Excluded lists the launchers that a bundle and its job exclude, ascending; nil: none.
func Excluded(j *JobExclusions, b *BundleExclusions) []scheduler.LauncherID {
	if !AnyExcluded(j, b) {
		return nil
	}
	list := slices.Clone(j.launchers)
	for _, id := range b.launchers() {
		list = sortedset.Add(list, id)
	}
	return list
}

// Avoided lists the launchers that a launchable bundle may not run on: those that it and its job
// exclude, and those of its live attempts, ascending; nil: none. Launchers that no bundle may run on
// are not among them.
func Avoided(b *Bundle) []scheduler.LauncherID {
	list := Excluded(&b.Job.Exclusions, &b.Exclusions)
	for _, r := range b.Attempts() {
		for _, a := range r.Attempts {
			list = sortedset.Add(list, a.Launcher.ID)
		}
	}
	return list
}

// RelaxExclusions drops exclusions while fits returns false: a launcher with a failure is better
// than none. The bundle's latest failed launcher is dropped last. The result says whether the
// job's own exclusions were dropped, too.
func RelaxExclusions(j *JobExclusions, b *BundleExclusions, fits func() bool) bool {
	if len(b.launchers()) > 0 && !fits() {
		b.set(b.launchers()[len(b.launchers())-1:])
		if !fits() {
			b.set(nil)
		}
	}
	if len(j.launchers) > 0 && !fits() {
		j.launchers, j.failures = nil, nil
		return true
	}
	return false
}

// Check verifies the invariants.
func (j *JobExclusions) Check() error {
	for i, id := range j.launchers {
		if i > 0 && j.launchers[i-1] >= id {
			return fmt.Errorf("the launchers that it avoids are out of order: %v", j.launchers)
		}
	}
	if !j.some && len(j.failures)+len(j.launchers) > 0 {
		return fmt.Errorf("attempts of it failed on %d launchers, and no bundle may avoid one", len(j.failures))
	}
	return nil
}

// CodeSome codes the flag some, which lies apart in a checkpoint.
func (j *JobExclusions) CodeSome(w *checkpoint.Codec) { checkpoint.Flag(w, &j.some) }

// Code codes everything except the flag some.
func (j *JobExclusions) Code(w *checkpoint.Codec) {
	checkpoint.List(w, &j.failures, func(w *checkpoint.Codec, f *failures) { checkpoint.Num(w, &f.launcher); checkpoint.Num(w, &f.count) })
	checkpoint.Nums(w, &j.launchers)
	if w.Format > 3 {
		checkpoint.Flag(w, &j.own)
		j.codeRefused(w)
	}
}

// codeRefused codes the store's refusals. The fourth format had only the launchers.
func (j *JobExclusions) codeRefused(w *checkpoint.Codec) {
	if w.Format > 4 {
		checkpoint.List(w, &j.refused, func(w *checkpoint.Codec, r *refusal) { checkpoint.Num(w, &r.launcher); checkpoint.Num(w, &r.why) })
		checkpoint.Flag(w, &j.took)
		return
	}
	var on []scheduler.LauncherID
	checkpoint.Nums(w, &on)
	for _, id := range on {
		j.refused = append(j.refused, refusal{launcher: id})
	}
}

// Code codes the bundle's exclusions.
func (b *BundleExclusions) Code(w *checkpoint.Codec) {
	launchers := b.launchers()
	checkpoint.Nums(w, &launchers)
	if w.Reading {
		b.set(launchers)
	}
}

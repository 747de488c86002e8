package state

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/internal/sortedset"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// JobExclusions are the launchers that a whole job excludes, because a number of its attempts
// failed there. The zero value excludes none. A list is never changed, only replaced, so that a
// copy stays as it is. Which launchers the site excludes is kept in resources.
type JobExclusions struct {
	launchers []scheduler.LauncherID // ascending
	failures  []failures             // in order of launcher
	some      bool                   // some bundle of it may avoid a launcher
	own       bool                   // a bundle of it failed by its own program on several launchers
	refused   []refusal              // of the store of its outputs, in the order in which they came
	took      bool                   // the store took files of it from some launcher
}

// StoreRefusal is a reason why a store refuses, by a number that is the same on all launchers.
type StoreRefusal int32

// refusal is why the store of a job's outputs refused on a launcher.
type refusal struct {
	launcher scheduler.LauncherID
	why      StoreRefusal
}

// refusedMax bounds the launchers on which the store of a job's outputs may refuse before that
// is the job's own fault.
const refusedMax = 8

// FailedByProgram notes that a program of a bundle failed by itself on a launcher, and says
// whether the failure is the job's own from now on: the bundle failed on another, too.
func (j *JobExclusions) FailedByProgram(b *BundleExclusions, on scheduler.LauncherID) bool {
	if j.own || !slices.ContainsFunc(b.launchers, func(id scheduler.LauncherID) bool { return id != on }) {
		return false
	}
	j.own = true
	return true
}

// Own says whether what fails of the job is its own fault, and no launcher's.
func (j *JobExclusions) Own() bool { return j.own }

// Refused notes that the store of the job's outputs refused on a launcher, and why. It says
// whether that is the job's own fault: when it refused for the same reason on another, or on as
// many as may be. Where the store took files from a launcher, and the reason may be a bad mount,
// those that it refuses have one.
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

// Took notes that a bundle of the job committed on a launcher, and whether the store of the
// outputs took files of it. It lists the other launchers, on which the store refused.
func (j *JobExclusions) Took(on scheduler.LauncherID, files bool) (bad []scheduler.LauncherID) {
	j.took = j.took || files
	for _, r := range j.refused {
		if r.launcher != on {
			bad = append(bad, r.launcher)
		}
	}
	return bad
}

// failures counts those of a job on a launcher.
type failures struct {
	launcher scheduler.LauncherID
	count    int
}

// BundleExclusions are the launchers that one bundle excludes beside those of its job: where it
// failed last, up to a bound. The zero value excludes none.
type BundleExclusions struct {
	launchers []scheduler.LauncherID // the latest last
}

// Failed notes that an attempt of a bundle failed on a launcher. The bundle avoids it from
// now on, among at most max; the job does when it was the limit-th of its failures
// there, and then the result is true.
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

func (b *BundleExclusions) add(on scheduler.LauncherID, max int) {
	if slices.Contains(b.launchers, on) {
		return
	}
	from := 0
	if len(b.launchers) >= max {
		from = len(b.launchers) - max + 1
	}
	b.launchers = append(slices.Clone(b.launchers[from:]), on)
}

// Some says whether some bundle of the job may avoid a launcher.
func (j *JobExclusions) Some() bool { return j.some }

// Excludes says whether the whole job avoids a launcher.
func (j *JobExclusions) Excludes(id scheduler.LauncherID) bool { return sortedset.Has(j.launchers, id) }

// Excludes says whether the bundle avoids a launcher by itself.
func (b *BundleExclusions) Excludes(id scheduler.LauncherID) bool {
	return slices.Contains(b.launchers, id)
}

// AnyExcluded says whether a bundle of a job avoids any launcher.
func AnyExcluded(j *JobExclusions, b *BundleExclusions) bool {
	return len(b.launchers) > 0 || len(j.launchers) > 0
}

// Excluded is all that a bundle of a job avoids, ascending; nil: nothing.
func Excluded(j *JobExclusions, b *BundleExclusions) []scheduler.LauncherID {
	if !AnyExcluded(j, b) {
		return nil
	}
	list := slices.Clone(j.launchers)
	for _, id := range b.launchers {
		list = sortedset.Add(list, id)
	}
	return list
}

// RelaxExclusions forgets what a bundle avoids while fits says that nothing else is left: a launcher
// where it failed is better than none. Where it failed last it avoids as long as it can.
// The result says whether the job forgot, too, what all its bundles avoid.
func RelaxExclusions(j *JobExclusions, b *BundleExclusions, fits func() bool) bool {
	if len(b.launchers) > 0 && !fits() {
		b.launchers = b.launchers[len(b.launchers)-1:]
		if !fits() {
			b.launchers = nil
		}
	}
	if len(j.launchers) > 0 && !fits() {
		j.launchers, j.failures = nil, nil
		return true
	}
	return false
}

// Check looks for what must never be.
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

// CodeSome codes a part that lies apart in a checkpoint.
func (j *JobExclusions) CodeSome(w *checkpoint.Codec) { checkpoint.Flag(w, &j.some) }

// Code codes the rest.
func (j *JobExclusions) Code(w *checkpoint.Codec) {
	checkpoint.List(w, &j.failures, func(w *checkpoint.Codec, f *failures) { checkpoint.Num(w, &f.launcher); checkpoint.Num(w, &f.count) })
	checkpoint.Nums(w, &j.launchers)
	if w.Format > 3 {
		checkpoint.Flag(w, &j.own)
		j.codeRefused(w)
	}
}

// codeRefused codes what the store refused. The fourth format had the launchers alone.
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

// Code codes all of it.
func (b *BundleExclusions) Code(w *checkpoint.Codec) { checkpoint.Nums(w, &b.launchers) }

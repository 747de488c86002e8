package state

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint/codectest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A bundle that failed on two launchers avoids both. If no other launcher is left, it first stops
// avoiding the older one, and then the last.
func TestALauncherWhereItFailedIsBetterThanNone(t *testing.T) {
	var j JobExclusions
	var b, other BundleExclusions
	for _, id := range []scheduler.LauncherID{7, 3} {
		if j.Failed(&b, id, 5, 10) {
			t.Fatalf("after one failure the whole job avoids %d", id)
		}
	}
	if got := Excluded(&j, &b); !slices.Equal(got, []scheduler.LauncherID{3, 7}) || Excluded(&j, &other) != nil {
		t.Errorf("it avoids %v, another bundle %v", got, Excluded(&j, &other))
	}
	RelaxExclusions(&j, &b, func() bool { return !b.Excludes(7) })
	if b.Excludes(7) || !b.Excludes(3) {
		t.Errorf("it forgot the wrong one, and avoids %v", Excluded(&j, &b))
	}
	RelaxExclusions(&j, &b, func() bool { return !AnyExcluded(&j, &b) })
	if AnyExcluded(&j, &b) {
		t.Errorf("nothing else is left, and it avoids %v", Excluded(&j, &b))
	}
}

// The launchers that the whole job avoids are given up last, for all its bundles and from the first
// failure on.
func TestTheJobForgetsAtLast(t *testing.T) {
	var j JobExclusions
	var b BundleExclusions
	j.Failed(&b, 1, 5, 2)
	if !j.Failed(&b, 1, 5, 2) || !j.Excludes(1) {
		t.Fatal("two failures were to be enough")
	}
	if !RelaxExclusions(&j, &b, func() bool { return !j.Excludes(1) }) || j.Excludes(1) {
		t.Error("it still avoids what alone is left")
	}
	if j.Failed(&b, 1, 5, 2) {
		t.Error("what was forgotten counts")
	}
}

// obvious is a simple model: it keeps each failure.
type obvious struct {
	of map[int][]scheduler.LauncherID // by bundle, each launcher once, the latest last
	on map[scheduler.LauncherID]int   // the job's failures
}

// After any failures, a bundle avoids the last launchers where it failed, and the job those with
// enough failures. Copies do not change, and the state is read back as written.
func TestAgainstTheObvious(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most, limit := rapid.IntRange(1, 4).Draw(t, "most"), rapid.IntRange(1, 4).Draw(t, "limit")
		var j JobExclusions
		bundles := make([]BundleExclusions, 3)
		o := obvious{map[int][]scheduler.LauncherID{}, map[scheduler.LauncherID]int{}}
		for range rapid.IntRange(0, 30).Draw(t, "failures") {
			i, on := rapid.IntRange(0, 2).Draw(t, "bundle"), scheduler.LauncherID(rapid.IntRange(1, 6).Draw(t, "on"))
			was, copied, first := codectest.Bytes(t, j.Code), j, bundles[i]
			list := slices.Clone(first.launchers())
			if j.Failed(&bundles[i], on, most, limit) != (o.on[on]+1 == limit) {
				t.Fatalf("failure %d on %d: wrong", o.on[on]+1, on)
			}
			o.on[on]++
			if !slices.Contains(o.of[i], on) {
				o.of[i] = append(o.of[i], on)
				o.of[i] = o.of[i][max(0, len(o.of[i])-most):]
			}
			if !bytes.Equal(codectest.Bytes(t, copied.Code), was) || !slices.Equal(first.launchers(), list) {
				t.Fatal("a copy changed with it")
			}
			if err := j.Check(); err != nil {
				t.Fatal(err)
			}
		}
		for i := range bundles {
			for on := scheduler.LauncherID(1); on <= 6; on++ {
				job, own := o.on[on] >= limit, slices.Contains(o.of[i], on)
				if j.Excludes(on) != job || bundles[i].Excludes(on) != own || slices.Contains(Excluded(&j, &bundles[i]), on) != (job || own) {
					t.Fatalf("bundle %d and launcher %d: %t %t, want %t %t", i, on, j.Excludes(on), bundles[i].Excludes(on), job, own)
				}
			}
		}
		var back JobExclusions
		codectest.Read(t, codectest.Bytes(t, j.Code), back.Code)
		if !bytes.Equal(codectest.Bytes(t, back.Code), codectest.Bytes(t, j.Code)) {
			t.Fatal("it comes back as another state")
		}
	})
}

// A failure on one launcher may be the launcher's fault. A bundle that fails on two launchers is
// its job's fault. For the store of the outputs two launchers are enough, whichever bundles ran
// there.
func TestWhatFailsOnSeveralLaunchersIsTheJobsOwn(t *testing.T) {
	var j JobExclusions
	var b, other BundleExclusions
	for _, x := range []struct {
		b    *BundleExclusions
		on   scheduler.LauncherID
		want bool
	}{{&b, 3, false}, {&b, 3, false}, {&other, 7, false}, {&b, 7, true}, {&other, 3, false}} {
		if got := j.FailedByProgram(x.b, x.on); got != x.want {
			t.Errorf("on %d: %t", x.on, got)
		}
		j.Failed(x.b, x.on, 5, 10)
	}
	if !j.Own() || (&JobExclusions{}).Own() {
		t.Error("it is forgotten whose fault it is")
	}
}

// A store that refuses on two launchers for the same reason is the job's fault. If it is read-only
// on one and missing on another, both have bad mounts. So have all launchers that refuse while the
// store took files from another. Retries after these are bounded, too.
func TestAStoreThatRefuses(t *testing.T) {
	missing, readOnly := StoreRefusal(1), StoreRefusal(2)
	var j JobExclusions
	for _, r := range []refusal{{3, missing}, {3, missing}, {7, readOnly}, {3, missing}} {
		if j.Refused(r.launcher, r.why, true) {
			t.Error("two launchers are to say the same")
		}
	}
	var back JobExclusions
	codectest.Read(t, codectest.Bytes(t, j.Code), back.Code)
	if !j.Refused(7, missing, true) || !back.Refused(9, readOnly, true) {
		t.Error("two launchers say the same, and the job is not at fault")
	}
	if bad := j.Took(9, true); !slices.Equal(bad, []scheduler.LauncherID{3, 7}) {
		t.Errorf("where it refused are %v", bad)
	}
	for on := scheduler.LauncherID(10); on < 10+refusedMax-2; on++ {
		if j.Refused(on, missing, true) {
			t.Errorf("the store took files, and the job is at fault when launcher %d refuses", on)
		}
	}
	if !j.Refused(12, missing, false) {
		t.Error("what no mount is to blame for is refused twice, and the job is not at fault")
	}
	if !j.Refused(30, missing, true) {
		t.Errorf("more than %d launchers may refuse", refusedMax)
	}
	back = JobExclusions{}
	codectest.Read(t, codectest.Bytes(t, j.Code), back.Code)
	if back.Refused(10, missing, true) || !back.Refused(30, missing, true) {
		t.Error("a checkpoint forgets it")
	}
}

// An element of a job array that fails by itself says little of a launcher where others succeed. So
// however many fail, the job excludes a launcher at most once.
func TestElementsThatFailExcludeFew(t *testing.T) {
	const limit = 3
	fail := func(j *JobExclusions, on scheduler.LauncherID, byProgram bool) bool {
		return j.FailedElement(&BundleExclusions{}, on, byProgram, 5, limit)
	}
	// One launcher is bad: nothing succeeds there, and elsewhere all does.
	var bad JobExclusions
	bad.ElementSucceeded(2)
	for i := range 20 {
		if got, want := fail(&bad, 1, true), i == limit-1; got != want {
			t.Errorf("failure %d on the bad launcher excludes it: %t", i+1, got)
		}
		if fail(&bad, 2, true) {
			t.Error("a launcher where elements succeed is excluded")
		}
	}
	if bad.Own() || !bad.Excludes(1) || bad.Excludes(2) {
		t.Errorf("of the bad launcher there is %+v", bad)
	}
	// The program is bad: it fails everywhere.
	var own JobExclusions
	for i := range 20 {
		if fail(&own, scheduler.LauncherID(1+i%4), true) {
			t.Error("a launcher is excluded where the program fails everywhere")
		}
	}
	if !own.Own() {
		t.Error("a program that fails everywhere is not at fault")
	}
	// Other failures count, until an element succeeds there.
	var full JobExclusions
	for range 10 {
		first := fail(&full, 1, false)
		if second := fail(&full, 1, false); first || second {
			t.Error("failures between successes exclude a launcher")
		}
		full.ElementSucceeded(1)
	}
	first, second := fail(&full, 1, false), fail(&full, 1, false)
	if third := fail(&full, 1, false); first || second || !third {
		t.Error("a launcher without room is not excluded")
	}
	// When all launchers were excluded, none is again.
	full.ElementsAtFault()
	for range 10 {
		if fail(&full, 2, false) {
			t.Error("a launcher is excluded of a job whose elements failed everywhere")
		}
	}
}

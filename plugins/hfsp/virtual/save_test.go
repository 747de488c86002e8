package virtual

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// sides are a cluster that goes on and one restored from its saves.
type sides struct {
	*rand.Rand
	one, other         *Cluster
	jobs, others       []*Job // equal ones at equal places
	pieces             [][]byte
	parts, wholes, ids int
}

func newSides(seed uint64) *sides {
	x := &sides{Rand: rand.New(rand.NewPCG(seed, 6))}
	x.one = New(x.IntN(40), 0)
	x.other = New(int(x.one.capacity), 0)
	return x
}

func (x *sides) spec() Spec {
	sizes, weights := []float64{0, 1, 10, 100, 1000, math.Inf(1)}, []float64{1, 1, 1, 2, 0.5, 1. / 3, 1000}
	caps := []int{0, 1, 1, 2, 3, 5, 10, 30, 100}
	return Spec{sizes[x.IntN(len(sizes))] * (0.3 + x.Float64()), weights[x.IntN(len(weights))], caps[x.IntN(len(caps))]}
}

// happens does one thing to both.
func (x *sides) happens() {
	i := 0
	if len(x.jobs) > 0 {
		i = x.IntN(len(x.jobs))
	}
	drop := func() {
		x.jobs, x.others = slices.Delete(x.jobs, i, i+1), slices.Delete(x.others, i, i+1)
	}
	switch what := x.IntN(12); {
	case len(x.jobs) == 0 || what < 3:
		x.ids++
		id, s, done := ID{scheduler.JobID(x.ids), scheduler.StageID(x.IntN(3))}, x.spec(), float64(x.IntN(2))*x.Float64()
		x.jobs, x.others = append(x.jobs, x.one.Add(id, s, done)), append(x.others, x.other.Add(id, s, done))
	case what < 5:
		s := x.spec()
		if x.IntN(2) == 0 {
			s = x.jobs[i].Spec()
			s.Size *= 2 * x.Float64()
		}
		x.one.Set(x.jobs[i], s)
		x.other.Set(x.others[i], s)
	case what == 5:
		size := x.jobs[i].Spec().Size * 2 * x.Float64()
		x.one.FinishReal(x.jobs[i], size)
		x.other.FinishReal(x.others[i], size)
		drop()
	case what == 6:
		x.one.Remove(x.jobs[i])
		x.other.Remove(x.others[i])
		drop()
	case what == 7:
		n := x.IntN(40)
		x.one.SetCapacity(n)
		x.other.SetCapacity(n)
	case what == 8 && x.IntN(10) == 0:
		x.one.rebase()
		x.other.rebase()
	default:
		to := x.one.Now() + scheduler.Time(math.Exp(25*x.Float64()))
		x.one.Advance(to)
		x.other.Advance(to)
	}
}

// restores puts a cluster that was restored in the place of the other one.
func (x *sides) restores(t *testing.T) {
	whole := x.IntN(8) == 0
	piece := x.one.Save(whole, math.MaxInt)
	switch {
	case piece == nil:
	case whole || len(x.pieces) == 0:
		x.pieces = [][]byte{piece}
		x.wholes++
	default:
		x.pieces = append(x.pieces, piece)
		x.parts++
	}
	if x.IntN(3) > 0 {
		return // it continues with the earlier content
	}
	c, err := Restore(x.pieces...)
	if err != nil {
		t.Fatal(err)
	}
	c.Advance(x.one.Now())
	x.other, x.others = c, make([]*Job, len(x.jobs))
	all := slices.Collect(c.Jobs())
	for i, j := range x.jobs {
		at := slices.IndexFunc(all, func(o *Job) bool { return o.serial == j.serial })
		if at < 0 {
			t.Fatalf("job %v is not restored", j.ID())
		}
		x.others[i] = all[at]
	}
	if len(all) != len(x.jobs) {
		t.Fatalf("%d jobs restored, want %d", len(all), len(x.jobs))
	}
	c.check(t)
}

// told returns all that a cluster exposes, to the last bit.
func told(c *Cluster, slots int) string {
	var s strings.Builder
	fmt.Fprintf(&s, "at %d, %d virtually active\n", c.Now(), c.virtuallyActive)
	for j := range c.Order() {
		fmt.Fprintf(&s, "%v %v done %v of it, remaining %v, share %v, late %t, finish %d\n", j.ID(), j.Spec(), j.Done(), j.Remaining(), j.Share(), j.Late(), c.Finish(j))
	}
	for j, n := range c.Allot(slots, Sharing, (*Job).Cap) {
		fmt.Fprintf(&s, "%v gets %d\n", j.ID(), n)
	}
	return s.String()
}

// TestRestoredIsTheSame: a cluster that was saved piece by piece, and restored from the pieces at
// any time, says all that the saved one says, to the last bit, now and after all that happens later.
func TestRestoredIsTheSame(t *testing.T) {
	parts, wholes := 0, 0
	for seed := range uint64(15 * *seeds) { //nolint:gosec // a small number
		x := newSides(seed)
		for step := range 300 {
			x.happens()
			if x.IntN(3) == 0 {
				x.restores(t)
			}
			if x.IntN(4) > 0 {
				continue // what is asked changes nothing either
			}
			slots := x.IntN(100)
			if got, want := told(x.other, slots), told(x.one, slots); got != want {
				t.Fatalf("seed %d, step %d: restored\n%s\nsaved\n%s", seed, step, got, want)
			}
		}
		if got, want := x.other.Save(true, math.MaxInt), x.one.Save(true, math.MaxInt); string(got) != string(want) {
			t.Fatalf("seed %d: what is restored is saved in other bytes", seed)
		}
		parts, wholes = parts+x.parts, wholes+x.wholes
	}
	t.Logf("%d pieces of what changed, %d wholes", parts, wholes)
}

// TestSavedIsSmall: what changed takes the bytes of what changed, time that passes takes none, and a
// whole one no more than it may.
func TestSavedIsSmall(t *testing.T) {
	c := New(100, 0)
	jobs := []*Job{}
	for i := range 1000 {
		jobs = append(jobs, c.Add(ID{Job: scheduler.JobID(i + 1)}, Spec{1000.5 + float64(i), 1, 10}, 0))
	}
	c.Advance(after(0, 1))
	whole := c.Save(false, math.MaxInt)
	if n := len(whole) / len(jobs); n > 50 {
		t.Errorf("%d bytes for each job", n)
	}
	if c.Advance(after(0, 2)); c.Save(false, math.MaxInt) != nil {
		t.Error("time that passes is saved")
	}
	c.Set(jobs[5], Spec{7000, 1, 10})
	if n := len(c.Save(false, math.MaxInt)); n == 0 || n > 100 {
		t.Errorf("one job that changed takes %d bytes", n)
	}
	for _, j := range jobs[:10] {
		c.FinishReal(j, 5000)
	}
	const most = 10_000
	cut := c.Save(true, most)
	if len(cut) > most+60 {
		t.Errorf("%d bytes, at most %d are allowed", len(cut), most)
	}
	back, err := Restore(cut)
	if err != nil {
		t.Fatal(err)
	}
	back.Advance(c.Now())
	got := slices.Collect(back.Jobs())
	if len(got) < most/50 || back.virtuallyActive != 0 {
		t.Errorf("%d jobs and %d virtually active ones in %d bytes", len(got), back.virtuallyActive, len(cut))
	}
	for i, j := range got {
		if was := jobs[10+i]; j.ID() != was.ID() || j.Done() != was.Done() {
			t.Errorf("job %v with %v done is in the place of %v with %v", j.ID(), j.Done(), was.ID(), was.Done())
		}
	}
	c.Set(jobs[999], Spec{10, 1, 10}) // of those that were left out
	if back, err = Restore(cut, c.Save(false, 0)); err != nil || len(slices.Collect(back.Jobs())) != len(got)+1 {
		t.Errorf("a job that changes after it was left out is not there: %v", err)
	}
}

// TestChangesAreBounded: a cluster that is saved once and never again keeps a bounded number of
// changes.
func TestChangesAreBounded(t *testing.T) {
	c := New(1, 0)
	c.Save(false, math.MaxInt)
	last := c.Add(ID{Job: 1}, Spec{1, 1, 1}, 0)
	for i := range changesMax {
		c.Remove(last)
		last = c.Add(ID{Job: scheduler.JobID(i)}, Spec{1, 1, 1}, 0)
	}
	if n := len(c.changes.jobs) + len(c.changes.left) + len(c.changes.classes); n > changesMax {
		t.Errorf("%d changes are kept", n)
	}
	c2, err := Restore(c.Save(false, math.MaxInt))
	if err != nil || len(slices.Collect(c2.Jobs())) != 1 {
		t.Errorf("after too many changes not all is saved: %v", err)
	}
}

// FuzzRestore: bytes that nobody saved are an error or a cluster that works.
func FuzzRestore(f *testing.F) {
	for seed := range uint64(8) {
		x := newSides(seed)
		for range 40 {
			x.happens()
		}
		f.Add(x.one.Save(false, math.MaxInt))
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		c, err := Restore(data)
		if err != nil {
			return
		}
		c.Add(ID{Job: 1}, Spec{10, 1, 3}, 0)
		for range 100 {
			c.Advance(c.Now() + 1e9)
		}
		for j := range c.Order() {
			c.Finish(j)
		}
	})
}

// TestRestoreRefuses: what can't be a cluster is an error.
func TestRestoreRefuses(t *testing.T) {
	c := New(4, 0)
	c.Add(ID{Job: 1}, Spec{10, 1, 3}, 0)
	whole := c.Save(false, math.MaxInt)
	c.Add(ID{Job: 2}, Spec{10, 1, 3}, 0)
	part := c.Save(false, math.MaxInt)
	for name, pieces := range map[string][][]byte{
		"nothing":               {},
		"no bytes":              {nil},
		"a change of nothing":   {part},
		"less than was written": {whole[:len(whole)-1]},
	} {
		if _, err := Restore(pieces...); err == nil {
			t.Errorf("%s is restored", name)
		}
	}
	if _, err := Restore(whole, part); err != nil {
		t.Error(err)
	}
}

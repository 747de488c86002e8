package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/laboratory/workload"
)

// book records what each job holds, from the recorder's calls.
type book struct {
	events []event
}

type event struct {
	at    time.Duration
	job   int
	kind  string
	slots int
}

func (*book) Came(time.Duration, int)  {}
func (*book) Ended(time.Duration, int) {}
func (b *book) Holds(at time.Duration, job int, a *simcluster.Attempt, holds bool) {
	n := max(int(a.Start.Slots), 1)
	if !holds {
		n = -n
	}
	b.events = append(b.events, event{at, job, a.Start.Kind, n})
}

// held returns the slots of a kind that jobs held just after a time.
func (b *book) held(at time.Duration, kind string, jobs func(int) bool) (n float64) {
	for _, e := range b.events {
		if e.at <= at && e.kind == kind && jobs(e.job) {
			n += float64(e.slots)
		}
	}
	return n
}

// The series and spans equal the recorder's input, and both add up to the result's slot time.
func TestRecorderKeepsWhatItIsTold(t *testing.T) {
	for seed := range uint64(4) {
		for p := range policies {
			w, c := random(seed)
			b := &book{}
			result, r := play(t, w, c, p, b)
			checkSeries(t, w, b, r)
			spans, left := r.Spans()
			sum, of, busy := 0.0, 0.0, 0.0
			for i, s := range spans {
				sum += float64(s.Slots) * (s.To - s.From).Seconds()
				if i > 0 && s.From < spans[i-1].From || s.To < s.From || w.Jobs[s.Job].Stages[s.Stage].Kind != s.Kind {
					t.Errorf("seed %d: %+v", seed, s)
				}
			}
			for _, kind := range r.Kinds() {
				for _, x := range r.Jobs(kind).Held() {
					of += x
				}
			}
			for i := range result.Jobs {
				for _, s := range result.Jobs[i].Stages {
					busy += s.Busy.Seconds()
				}
			}
			if left != 0 || math.Abs(sum-busy) > 1e-6 || math.Abs(of-busy) > 1e-6 {
				t.Errorf("seed %d, %s: spans make %v s and series %v s of %v s; %d are left out", seed, policies[p].name, sum, of, busy, left)
			}
		}
	}
}

func checkSeries(t *testing.T, w *workload.Workload, b *book, r *Recorder) {
	t.Helper()
	for _, kind := range r.Kinds() {
		for _, step := range r.Jobs(kind).Steps(math.MaxInt) {
			for j, n := range step.Slots {
				if want := b.held(step.At, kind, func(job int) bool { return job == j }); n != want {
					t.Errorf("at %v job %d holds %v %s slots, want %v", step.At, j, n, kind, want)
				}
			}
		}
		s := r.Pools(kind)
		for _, step := range s.Steps(math.MaxInt) {
			for p, n := range step.Slots {
				if want := b.held(step.At, kind, func(job int) bool { return w.Jobs[job].Pool == s.Parties[p] }); n != want {
					t.Errorf("at %v pool %d holds %v %s slots, want %v", step.At, p, n, kind, want)
				}
			}
		}
	}
}

// However coarse a series has become, the slot time of each party stays what it is, and
// each mean is that of the exact series.
func TestCoarseSeriesKeepTheMeans(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 17))
		parties := []string{"a", "b", "c"}
		exact, coarse := newSeries(parties, math.MaxInt), newSeries(parties, 1+r.IntN(300))
		at, level := time.Duration(r.IntN(1000)), make([]int, len(parties))
		for range 400 {
			at += time.Duration(r.ExpFloat64() * float64(int64(1)<<r.IntN(45))) // so that bins are joined again and again
			p := r.IntN(len(parties))
			by := r.IntN(5) - level[p]
			level[p] += by
			exact.add(at, p, by)
			coarse.add(at, p, by)
		}
		if !exact.Exact() || coarse.Exact() || len(coarse.bins) > BinsMax {
			t.Fatalf("seed %d: exact %v and %v, %d bins", seed, exact.Exact(), coarse.Exact(), len(coarse.bins))
		}
		want := exact.Held()
		near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(a)) }
		if !slices.EqualFunc(want, coarse.Held(), near) {
			t.Errorf("seed %d: %v s of slots became %v", seed, want, coarse.Held())
		}
		for _, s := range []*Series{exact, coarse} {
			steps := s.Steps(20)
			sum := make([]float64, len(parties))
			for i, step := range steps {
				if i > 0 && step.At != steps[i-1].To {
					t.Errorf("seed %d: a step from %v after one to %v", seed, step.At, steps[i-1].To)
				}
				for p, n := range step.Slots {
					sum[p] += n * (step.To - step.At).Seconds()
				}
			}
			if len(steps) > 20 || !slices.EqualFunc(want, sum, near) {
				t.Errorf("seed %d: in %d steps %v s of slots became %v", seed, len(steps), want, sum)
			}
		}
	}
}

// If there are more jobs than the report lists, it lists those with most work, and sums the others.
func TestManyParties(t *testing.T) {
	w := &workload.Workload{}
	var names []string
	for i := range PartiesMax + 6 {
		work := time.Duration(100-i%7) * time.Hour
		if i%10 == 3 { // seven of them
			work = time.Second
		}
		w.Jobs = append(w.Jobs, workload.Job{Stages: []workload.Stage{{Tasks: []workload.Task{{Work: work}}}}})
		names = append(names, string(rune('a'+i)))
	}
	list, of := parties(w, names, "jobs")
	if len(list) != PartiesMax+1 || list[PartiesMax] != "6 other jobs" {
		t.Fatalf("there are %d parties, the last %q", len(list), list[len(list)-1])
	}
	for i, p := range of {
		if p < PartiesMax && list[p] != names[i] || p == PartiesMax && i%10 != 3 {
			t.Errorf("job %d is party %d, %q", i, p, list[p])
		}
	}
}

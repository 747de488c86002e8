package estimation

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/plugins/hfsp/binenc"
)

func ms(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }

var (
	maps    = Kind{"default", false}
	reduces = Kind{"default", true}
)

// near compares sizes.
func near(got, want float64) bool { return math.Abs(got-want) <= 1e-9*max(1, math.Abs(want)) }

func TestSizeOfMaps(t *testing.T) {
	e := New(Defaults())
	s := NewStage(maps, 100, 2)
	want := func(size float64, trained bool) {
		t.Helper()
		if got, is := e.Size(s); !near(got, size) || is != trained {
			t.Errorf("size %v, trained %t, want %v, %t", got, is, size, trained)
		}
	}
	want(100*2*60, false)
	for i := range 5 {
		want(100*2*[]float64{60, 10, 15, 20, 25}[i], false) // the mean of what has passed
		e.Finished(s, uint64(i), Measure{Execute: float64(10 * (i + 1))})
	}
	want(100*2*30, true)
	e.Finished(s, 5, Measure{Execute: 90}) // a later one counts as one more
	want(100*2*40, true)
	s.Tasks = 200
	want(200*2*40, true)
}

// Sizes that are wrong on purpose are so by a factor of the stage, from 1-α to 1+α, before it is trained as after; all
// factors together are even; and another seed draws others.
func TestWrongOnPurpose(t *testing.T) {
	const stages = 2000
	factors := func(seed uint64, alpha float64) (list []float64) {
		set := Defaults()
		set.Error, set.ErrorSeed = alpha, seed
		e, right := New(set), New(Defaults())
		for lot := range uint64(stages) {
			s := NewStage(maps, 3, 1)
			s.Lot = lot
			right.Past = e.Past
			before, _ := e.Size(s)
			was, _ := right.Size(s)
			for task := range uint64(3) {
				e.Finished(s, task, Measure{Execute: 10})
			}
			after, trained := e.Size(s)
			is, _ := right.Size(s)
			if !trained || !near(before/was, after/is) {
				t.Fatalf("seed %d, stage %d: wrong by %v before and %v after, trained %t", seed, lot, before/was, after/is, trained)
			}
			list = append(list, after/is)
		}
		return list
	}
	for _, alpha := range []float64{0.1, 0.7, 1} {
		list := factors(1, alpha)
		if slices.Equal(list, factors(2, alpha)) || !slices.Equal(list, factors(1, alpha)) {
			t.Errorf("α %v: seeds draw the same, or a seed does not twice", alpha)
		}
		slices.Sort(list)
		for i, f := range list { // the sorted factors lie on a straight line
			if even := 1 - alpha + 2*alpha*(float64(i)+0.5)/stages; math.Abs(f-even) > 0.08*alpha {
				t.Fatalf("α %v: %v is where %v would be if they were even", alpha, f, even)
			}
		}
	}
	set := Defaults()
	set.Error, set.Xi = 1, math.Inf(1)
	if size, _ := New(set).Size(NewStage(maps, 3, 1)); !math.IsInf(size, 1) {
		t.Errorf("size %v of a stage that is to wait", size)
	}
}

// Tasks of other stages that finish after a stage came do not change its size.
func TestGuessStays(t *testing.T) {
	e := New(Defaults())
	e.Past.Learn(maps, 10)
	s, other := NewStage(maps, 10, 1), NewStage(maps, 10, 1)
	e.Came(s)
	e.Past.Learn(maps, 30)
	e.Came(s)
	e.Came(other)
	if size, _ := e.Size(s); !near(size, 100) {
		t.Errorf("size %v, want 100", size)
	}
	if size, _ := e.Size(other); !near(size, 200) {
		t.Errorf("the other's size %v, want 200", size)
	}
}

// A stage of which too few samples are known is not taken for smaller than they say.
func TestFewSamplesCountWhenTheyAreLong(t *testing.T) {
	e := New(Defaults())
	s := NewStage(reduces, 11, 1)
	e.Came(s)
	e.Progress(s, 1, Measure{Execute: 70}, 0.14)
	if size, trained := e.Size(s); trained || !near(size, 11*500) {
		t.Errorf("size %v, trained %t, want %v, false", size, trained, 11*500)
	}
	e.Finished(s, 1, Measure{Execute: 20})
	if size, _ := e.Size(s); !near(size, 11*60) {
		t.Errorf("size %v, want %v", size, 11*60)
	}
}

func TestSmallStageIsAllSamples(t *testing.T) {
	e := New(Defaults())
	s := NewStage(maps, 2, 1)
	e.Finished(s, 1, Measure{Execute: 10})
	if _, trained := e.Size(s); trained || e.Need(s) != 2 {
		t.Errorf("trained %t with one of %d samples", trained, e.Need(s))
	}
	e.Finished(s, 2, Measure{Execute: 20})
	if size, trained := e.Size(s); !trained || !near(size, 30) {
		t.Errorf("size %v, trained %t", size, trained)
	}
	s.Tasks = 50 // it grew: there are too few samples for what it is now
	if size, trained := e.Size(s); trained || !near(size, 50*15) {
		t.Errorf("grown: size %v, trained %t", size, trained)
	}
}

func TestSizeOfReduces(t *testing.T) {
	e := New(Defaults())
	s := NewStage(reduces, 10, 1)
	// Weighted with their input: (1·100 + 3·20)/4 = 40 s of shuffling.
	e.Finished(s, 1, Measure{Shuffle: 100, Execute: 50, Bytes: 1000})
	for task := uint64(2); task <= 4; task++ {
		e.Finished(s, task, Measure{Shuffle: 20, Execute: 50, Bytes: 1000})
	}
	if e.Progress(s, 5, Measure{Shuffle: 20, Execute: 59.9}, 0.5) {
		t.Error("progress counts before delta")
	}
	if !e.Progress(s, 5, Measure{Shuffle: 20, Execute: 60}, 0.5) {
		t.Error("progress does not count at delta")
	}
	// The one that runs is expected to execute for 120 s; it has no input, and no weight.
	if size, trained := e.Size(s); !trained || !near(size, 10*(40+64)) {
		t.Errorf("size %v, trained %t, want %v", size, trained, 10*(40+64))
	}
	e.Finished(s, 5, Measure{Shuffle: 20, Execute: 300})
	if size, _ := e.Size(s); !near(size, 10*(40+100)) {
		t.Errorf("size %v, want %v", size, 10*(40+100))
	}
	// Without any input all weigh the same.
	s = NewStage(reduces, 2, 1)
	e.Finished(s, 1, Measure{Shuffle: 10, Execute: 1})
	e.Finished(s, 2, Measure{Shuffle: 30, Execute: 1})
	if size, _ := e.Size(s); !near(size, 2*21) {
		t.Errorf("size %v, want 42", size)
	}
}

func TestOddProgress(t *testing.T) {
	e := New(Defaults())
	s := NewStage(reduces, 1, 1)
	for _, p := range []float64{0, -1, math.NaN(), math.Inf(-1)} {
		if e.Progress(s, 1, Measure{Execute: 100}, p) {
			t.Errorf("progress %v counts", p)
		}
	}
	e.Progress(s, 1, Measure{Execute: 100}, 0.5)
	e.Progress(s, 1, Measure{Execute: 120}, 0.1) // backwards: it is at least a half
	if size, _ := e.Size(s); !near(size, 240) {
		t.Errorf("backwards: size %v, want 240", size)
	}
	e.Progress(s, 1, Measure{Execute: 130}, math.NaN())
	if size, _ := e.Size(s); !near(size, 260) {
		t.Errorf("no number: size %v, want 260", size)
	}
	e.Progress(s, 1, Measure{Execute: 150}, 7)
	if size, _ := e.Size(s); !near(size, 150) {
		t.Errorf("over 1: size %v, want 150", size)
	}
	if !e.Gone(s, 1) || e.Gone(s, 1) {
		t.Error("a sample that is gone goes once")
	}
	if _, trained := e.Size(s); trained {
		t.Error("trained by a task that is gone")
	}
}

func TestOddSamples(t *testing.T) {
	for _, d := range Distributions() {
		for _, c := range []struct {
			name    string
			lengths []float64
			least   float64
			most    float64
		}{
			{"none", nil, 0, 0},
			{"one", []float64{7}, 7, 7},
			{"all equal", []float64{7, 7, 7, 7, 7}, 7, 7},
			{"all nothing", []float64{0, 0, 0}, 0, 0},
			{"no numbers", []float64{math.NaN(), -3, math.Inf(-1)}, 0, 0},
			{"for ever", []float64{math.Inf(1)}, LengthMax, LengthMax},
		} {
			if got := d.Mean(c.lengths); !(got >= c.least && got <= c.most) {
				t.Errorf("%s, %s: %v, want %v to %v", d, c.name, got, c.least, c.most)
			}
		}
	}
}

// A distribution that is there is found: with its quantiles as samples, its mean is returned.
func TestDistributionsAreFound(t *testing.T) {
	draw := func(quantile func(p float64) float64) (all []float64) {
		for i := range 1000 {
			all = append(all, quantile((float64(i)+0.5)/1000))
		}
		return all
	}
	for d, c := range map[Distribution]struct {
		quantile func(p float64) float64
		mean     float64
	}{
		Uniform:     {func(p float64) float64 { return 20 + 60*p }, 50},
		Normal:      {func(p float64) float64 { return 80 + 5*math.Sqrt2*math.Erfinv(2*p-1) }, 80},
		Exponential: {func(p float64) float64 { return -30 * math.Log1p(-p) }, 30},
	} {
		if got := d.Mean(draw(c.quantile)); math.Abs(got-c.mean) > 1e-6 {
			t.Errorf("%s: %v, want %v", d, got, c.mean)
		}
	}
	// An exponential fit looks at the shape: here it is not the samples' mean.
	if got := Exponential.Mean([]float64{1, 1, 1, 1, 100}); math.Abs(got-21) < 1 {
		t.Errorf("exponential: %v is the mean of the samples", got)
	}
}

// Whatever tasks do, a size is a number of 0 or more, or infinite where it may be; it
// grows with the number of tasks; and it is between the shortest and the longest task
// times their number once all are measured.
func TestSizesAreSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 1000), rapid.Just(0.0), rapid.Just(math.NaN()), rapid.Just(math.Inf(1)))
		e := New(Settings{
			Xi:           rapid.OneOf(rapid.Float64Range(1, 10), rapid.Just(math.Inf(1))).Draw(t, "xi"),
			Samples:      rapid.IntRange(1, 8).Draw(t, "samples"),
			Distribution: rapid.SampledFrom(Distributions()).Draw(t, "distribution"),
			Delta:        time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "delta")),
			Default:      time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "default")),
			Error:        rapid.Float64Range(0, 1).Draw(t, "error"),
		})
		s := NewStage(rapid.SampledFrom([]Kind{maps, reduces}).Draw(t, "kind"), rapid.IntRange(0, 50).Draw(t, "tasks"), rapid.IntRange(1, 4).Draw(t, "slots"))
		finished := 0
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			task := rapid.Uint64Range(1, 9).Draw(t, "task")
			m := Measure{seconds.Draw(t, "shuffle"), seconds.Draw(t, "execute"), rapid.Int64().Draw(t, "bytes")}
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				e.Finished(s, task, m)
				finished++
			case 1:
				e.Progress(s, task, m, seconds.Draw(t, "progress"))
			case 2:
				e.Gone(s, task)
			default:
				s.Tasks += rapid.IntRange(0, 5).Draw(t, "more")
			}
			check(t, e, s, finished)
		}
	})
}

func check(t *rapid.T, e *Sampling, s *Stage, finished int) {
	size, trained := e.Size(s)
	if !(size >= 0) || math.IsInf(size, 1) && (trained || !math.IsInf(e.Settings.Xi, 1)) {
		t.Fatalf("size %v, trained %t", size, trained)
	}
	if n := len(s.Samples) + len(s.Running); n > e.Settings.Samples || len(s.Samples)+s.Later > finished {
		t.Fatalf("%d samples of %d, %d and %d later of %d that finished", n, e.Settings.Samples, len(s.Samples), s.Later, finished)
	}
	if finished >= e.Settings.Samples && len(s.Samples) != e.Settings.Samples {
		t.Fatalf("%d samples of %d that finished", len(s.Samples), finished)
	}
	if !slices.IsSortedFunc(s.Running, func(a, b Running) int { return int(a.Task) - int(b.Task) }) {
		t.Fatalf("running samples %v", s.Running)
	}
	var w binenc.Writer
	s.Save(&w)
	read, r := NewStage(s.Kind, s.Tasks, s.Slots), binenc.NewReader(w.Data)
	if read.Load(r); r.Err() != nil || r.More() {
		t.Fatalf("%+v is saved and not read: %v", s, r.Err())
	}
	var again binenc.Writer
	read.Save(&again)
	if got, is := e.Size(read); got != size || is != trained || !slices.Equal(again.Data, w.Data) {
		t.Fatalf("saved %+v, and read %+v: size %v, want %v", s, read, got, size)
	}
	more := *s
	more.Tasks++
	if larger, still := e.Size(&more); still == trained && larger < size {
		t.Fatalf("a task more makes %v of %v", larger, size)
	}
	for _, m := range e.Past {
		if !(m.Seconds >= 0) || math.IsInf(m.Seconds, 0) {
			t.Fatalf("past %+v", m)
		}
	}
}

// TestPast compares the mean with a sum, up to where the oldest lose weight.
func TestPast(t *testing.T) {
	var p Past
	for i := range 1000 {
		p.Learn(maps, float64(i))
		p.Learn(reduces, 5)
	}
	if got, ok := p.Of(maps); !ok || math.Abs(got-499.5) > 1e-6 {
		t.Errorf("mean %v", got)
	}
	if _, ok := p.Of(Kind{"other", false}); ok {
		t.Error("a mean of nothing")
	}
	for range 10 * weightMax {
		p.Learn(reduces, 10)
	}
	if got, _ := p.Of(reduces); got < 9.9 {
		t.Errorf("mean %v: it does not follow what tasks become", got)
	}
	for i := range 2 * kindsMax {
		p.Learn(Kind{string(rune('a'+i%26)) + string(rune(0x4e00+i)), false}, 1)
	}
	if len(p) != kindsMax || !slices.IsSortedFunc(p, func(a, b Mean) int { return compareKinds(a.Kind, b.Kind) }) {
		t.Errorf("%d kinds are kept", len(p))
	}
}

// TestPastIsRead: means are read as they were written, later ones in the place of earlier ones, and what can't be is
// bounded or left out.
func TestPastIsRead(t *testing.T) {
	var w binenc.Writer
	for _, m := range []Mean{
		{reduces, 3, 20.5},
		{maps, 7, 3},
		{reduces, 4, 21},
		{Kind{"none", false}, 0, 3},
		{Kind{"nan", false}, 2, math.NaN()},
		{Kind{"huge", false}, 1 << 30, 1e300},
	} {
		m.Save(&w)
	}
	var p Past
	r := binenc.NewReader(w.Data)
	for r.More() {
		p.Load(r)
	}
	want := Past{{maps, 7, 3}, {reduces, 4, 21}, {Kind{"huge", false}, weightMax, LengthMax}, {Kind{"nan", false}, 2, 0}}
	slices.SortFunc(want, func(a, b Mean) int { return compareKinds(a.Kind, b.Kind) })
	if r.Err() != nil || !slices.Equal(p, want) {
		t.Errorf("%+v, want %+v: %v", p, want, r.Err())
	}
	p.Load(binenc.NewReader(w.Data[:3]))
	if !slices.Equal(p, want) {
		t.Errorf("half a mean counts: %+v", p)
	}
}

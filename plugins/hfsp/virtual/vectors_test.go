package virtual

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/plugins/internal/vectors"
)

// vector is one case of testdata/vectors.
type vector struct {
	ID, Kind, Origin, Source, Note, Policy string
	Capacity                               int
	Jobs                                   []struct {
		Job                     string
		Arrival, Size, Duration float64
		MaxShare                int
	}
	EstimatesInArrivalOrder  []float64
	Weights                  map[string]float64
	Completions, MeanSojourn json.RawMessage // by job and as a number; of several policies, by policy

	Slots                       int
	WaitingTasks, ExpectedSlots map[string]int
}

func TestVectors(t *testing.T) {
	vectors.Run(t, map[string]func(*testing.T, vector){
		"single-server": oneServer, "multi-processor-fluid": manyProcessors, "hfsp-virtual-maxmin": wholeSlots,
	})
}

// parts is how many slots stand for one server, so that up to ten jobs can share it
// evenly.
const parts = 2520

func oneServer(t *testing.T, v vector) {
	var visits []visit
	for i, j := range v.Jobs {
		x := visit{j.Arrival, j.Size * parts, j.Size * parts, 1, parts}
		if v.EstimatesInArrivalOrder != nil {
			x.estimate = v.EstimatesInArrivalOrder[i] * parts
		}
		if v.Weights != nil {
			x.weight = v.Weights[j.Job]
		}
		visits = append(visits, x)
	}
	var completions map[string]float64
	var mean float64
	decode(t, v.Completions, &completions)
	decode(t, v.MeanSojourn, &mean)
	var ends []float64
	switch v.Policy {
	case "PS", "GPS":
		ends = share(parts, visits)
	case "FSP":
		ends = serve(parts, Plain, visits)
	case "FSP_plus_PS", "PSBS":
		ends = serve(parts, Sharing, visits)
	default:
		t.Fatalf("unknown policy %s", v.Policy)
	}
	v.compare(t, v.Policy, visits, ends, completions, mean)
}

func manyProcessors(t *testing.T, v vector) {
	var visits []visit
	for _, j := range v.Jobs {
		size := j.Duration * float64(j.MaxShare)
		visits = append(visits, visit{j.Arrival, size, size, 1, j.MaxShare})
	}
	var completions map[string]map[string]float64
	var means map[string]float64
	decode(t, v.Completions, &completions)
	decode(t, v.MeanSojourn, &means)
	v.compare(t, "PS", visits, share(v.Capacity, visits), completions["PS"], means["PS"])
	v.compare(t, "FSP", visits, serve(v.Capacity, Plain, visits), completions["FSP"], means["FSP"])
	v.compare(t, "FSP, sharing", visits, serve(v.Capacity, Sharing, visits), completions["FSP"], means["FSP"])
}

func decode(t *testing.T, from json.RawMessage, into any) {
	t.Helper()
	if err := json.Unmarshal(from, into); err != nil {
		t.Fatal(err)
	}
}

func (v vector) compare(t *testing.T, policy string, visits []visit, ends []float64, want map[string]float64, mean float64) {
	t.Helper()
	if len(want) != len(ends) {
		t.Fatalf("%s: %d completions, want %d", policy, len(ends), len(want))
	}
	sum := 0.0
	for i, j := range v.Jobs {
		sum += ends[i] - visits[i].at
		if math.Abs(ends[i]-want[j.Job]) > 1e-6 {
			t.Errorf("%s: %s finishes at %v, want %v", policy, j.Job, ends[i], want[j.Job])
		}
	}
	if got := sum / float64(len(ends)); math.Abs(got-mean) > 1e-6 {
		t.Errorf("%s: mean sojourn %v, want %v", policy, got, mean)
	}
}

func wholeSlots(t *testing.T, v vector) {
	names := slices.Sorted(maps.Keys(v.WaitingTasks))
	var sharers []Sharer
	for _, n := range names {
		sharers = append(sharers, Sharer{v.WaitingTasks[n], 1})
	}
	for i, n := range Slots(v.Slots, sharers) {
		if n != v.ExpectedSlots[names[i]] {
			t.Errorf("%s has %d slots, want %d", names[i], n, v.ExpectedSlots[names[i]])
		}
	}
}

// TestFigures: the two figures of section 2.1, and what late jobs do to the others, to
// the third decimal.
func TestFigures(t *testing.T) {
	alike := func(at, size float64) visit { return visit{at, size * parts, size * parts, 1, parts} }
	figure1 := []visit{alike(0, 30), alike(10, 10), alike(15, 10)}
	figure2 := []visit{{0, 30 * 100, 30 * 100, 1, 100}, {10, 10 * 55, 10 * 55, 1, 55}, {13, 10 * 35, 10 * 35, 1, 35}}
	known := []visit{alike(0, 100), alike(20, 1), alike(21, 1), alike(22, 1)}
	wrong := slices.Clone(known)
	wrong[0].estimate = 10 * parts
	for _, test := range []struct {
		name      string
		got, want []float64
	}{
		{"figure 1, PS", share(parts, figure1), []float64{50, 37.5, 42.5}},
		{"figure 1, FSP", serve(parts, Plain, figure1), []float64{50, 20, 30}},
		{"figure 2, PS", share(100, figure2), []float64{39, 24.5, 23.5}},
		{"figure 2, FSP", serve(100, Plain, figure2), []float64{39, 20, 23}},
		{"sizes known, plain", serve(parts, Plain, known), []float64{103, 21, 22, 23}},
		{"sizes known, sharing", serve(parts, Sharing, known), []float64{103, 21, 22, 23}},
		{"size wrong, plain", serve(parts, Plain, wrong), []float64{100, 101, 102, 103}},
		{"size wrong, sharing", serve(parts, Sharing, wrong), []float64{103, 23.667, 25.167, 25.833}},
	} {
		for i, got := range test.got {
			if math.Abs(got-test.want[i]) > 0.0005 {
				t.Errorf("%s: finishes %.3f, want %v", test.name, test.got, test.want)
				break
			}
		}
	}
}

package queueing

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
)

//go:embed vectors/single-server.json
var singleServer []byte

// disciplines are the vectors' disciplines, by name.
var disciplines = map[string]Discipline{
	"FIFO": FIFO, "PS": PS, "GPS": PS, "SRPT": SRPT, "FSP": FSP, "FSP_plus_PS": FSPSharing, "PSBS": FSPSharing,
}

// Vector is a test case of a single server. The authors of HFSP test their simulator with it, or
// computed it with their simulator.
type Vector struct {
	ID, Policy string
	Jobs       []struct {
		Job           string
		Arrival, Size float64
	}
	EstimatesInArrivalOrder []float64
	Weights, Completions    map[string]float64
	MeanSojourn             float64 // 0: unknown
}

// Vectors returns all cases.
func Vectors() ([]Vector, error) {
	var all struct{ Vectors []Vector }
	err := json.Unmarshal(singleServer, &all)
	return all.Vectors, err
}

// exact is how far an end may be off, in the vector's unit: they are written with six digits.
const exact = 1e-6

// Check serves the vector's jobs. The error names the jobs with wrong ends.
func (v *Vector) Check() error {
	d, known := disciplines[v.Policy]
	if !known {
		return fmt.Errorf("%s: there is no discipline %q", v.ID, v.Policy)
	}
	var visits []Visit
	for i, j := range v.Jobs {
		x := Visit{At: j.Arrival, Size: j.Size, Estimate: j.Size, Weight: 1}
		if v.EstimatesInArrivalOrder != nil {
			x.Estimate = v.EstimatesInArrivalOrder[i]
		}
		if v.Weights != nil {
			x.Weight = v.Weights[j.Job]
		}
		visits = append(visits, x)
	}
	ends := Serve(d, visits)
	for i, j := range v.Jobs {
		if math.Abs(ends[i]-v.Completions[j.Job]) > exact {
			return fmt.Errorf("%s: under %s %s ends at %v, not at %v", v.ID, v.Policy, j.Job, ends[i], v.Completions[j.Job])
		}
	}
	if mean := MeanSojourn(visits, ends); v.MeanSojourn != 0 && math.Abs(mean-v.MeanSojourn) > exact {
		return fmt.Errorf("%s: under %s the mean sojourn time is %v, not %v", v.ID, v.Policy, mean, v.MeanSojourn)
	}
	return nil
}

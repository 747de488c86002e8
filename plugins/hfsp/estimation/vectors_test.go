package estimation

import (
	"math"
	"testing"

	"github.com/hamadryad/hamadryad/plugins/internal/vectors"
)

// vector is one case of a file in testdata/vectors.
type vector struct {
	ID, Kind, Origin, Source, Rule string
	NewJobTasks                    int
	DurationModifier               float64
	TrainedJobs                    []struct{ TotalMs, Tasks int }
	DefaultTaskMs                  float64
	ExpectedSerializedMs           float64
	DeltaMs, ElapsedInReduceMs     float64
	FractionOfReduceDone           float64
	ExpectedTaskMs                 float64
}

func TestVectors(t *testing.T) {
	vectors.Run(t, map[string]func(*testing.T, vector){
		"hfsp-initial-size":    initialSize,
		"hfsp-reduce-estimate": reduceEstimate,
	})
}

// initialSize lets the tasks of trained jobs pass, and asks for a new job.
func initialSize(t *testing.T, v vector) {
	e := New(Defaults())
	e.Settings.Xi, e.Settings.Default = v.DurationModifier, ms(v.DefaultTaskMs)
	for _, j := range v.TrainedJobs {
		s := NewStage(Kind{"map", false}, j.Tasks, 1)
		for i := range j.Tasks {
			e.Finished(s, uint64(i+1), Measure{Execute: float64(j.TotalMs) / float64(j.Tasks) / 1000})
		}
	}
	got, trained := e.Size(NewStage(Kind{"map", false}, v.NewJobTasks, 1))
	if math.Abs(got*1000-v.ExpectedSerializedMs) > 0.001 || trained {
		t.Errorf("size %v ms, trained %t, want %v ms", got*1000, trained, v.ExpectedSerializedMs)
	}
}

// reduceEstimate has one task of a stage execute.
func reduceEstimate(t *testing.T, v vector) {
	e := New(Defaults())
	e.Settings.Delta, e.Settings.Samples = ms(v.DeltaMs), 1
	s := NewStage(Kind{"reduce", true}, 1, 1)
	e.Progress(s, 1, Measure{Execute: (v.ElapsedInReduceMs - 1) / 1000}, v.FractionOfReduceDone)
	if _, trained := e.Size(s); trained && v.ElapsedInReduceMs <= v.DeltaMs {
		t.Errorf("trained a millisecond before delta")
	}
	e.Progress(s, 1, Measure{Execute: v.ElapsedInReduceMs / 1000}, v.FractionOfReduceDone)
	got, trained := e.Size(s)
	if math.Abs(got*1000-v.ExpectedTaskMs) > 0.001 || !trained {
		t.Errorf("task %v ms, trained %t, want %v ms", got*1000, trained, v.ExpectedTaskMs)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// row is one line of the report.
type row struct {
	Name     string  `json:"name"`
	Value    float64 `json:"value"` // median
	Unit     string  `json:"unit"`
	Baseline float64 `json:"baseline"` // median, or the stated figure
	Ratio    float64 `json:"ratio"`    // Value / Baseline
	Against  string  `json:"against"`  // description of the baseline
	Runs     int     `json:"runs"`
	Min      float64 `json:"min"`
	Max      float64 `json:"max"`
}

// report prints rows and writes them to a file.
type report struct{ file *os.File }

func newReport(path string) (*report, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	fmt.Printf("%-28s %12s %12s %8s  %-10s %s\n", "row", "median", "baseline", "ratio", "unit", "baseline is")
	return &report{f}, nil
}

func (r *report) close() error { return r.file.Close() }

// add adds the measured values and those of the baseline, which may be one stated figure.
func (r *report) add(name, unit string, values, baseline []float64, against string) error {
	w := row{
		Name: name, Unit: unit, Value: median(values), Baseline: median(baseline), Against: against,
		Runs: len(values), Min: slices.Min(values), Max: slices.Max(values),
	}
	w.Ratio = w.Value / w.Baseline
	fmt.Printf("%-28s %12.4g %12.4g %8.3f  %-10s %s\n", w.Name, w.Value, w.Baseline, w.Ratio, w.Unit, w.Against)
	return json.NewEncoder(r.file).Encode(w)
}

func median(values []float64) float64 {
	s := slices.Sorted(slices.Values(values))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

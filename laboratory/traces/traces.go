// Package traces has the workloads of published experiments, for package workload. README.md names
// their sources.
package traces

import (
	"embed"
	"fmt"

	"github.com/hamadryad/hamadryad/laboratory/workload"
)

//go:embed *.gz
var files embed.FS

// FB2009 is a hundred jobs of Facebook's cluster of 2009, and FB2010 ninety-three of that of
// 2010, as the HFSP paper chose them from SWIM's samples.
const (
	FB2009 = "fb2009-100.jsonl.gz"
	FB2010 = "fb2010-93.jsonl.gz"
)

// Lublin and Alibaba stand for archives that are too large, or not free to be copied. Their models
// are in README.md; nothing in them was recorded. Alibaba is read with the mapping alibaba2018-task.
const (
	Lublin  = "lublin-128.swf.gz"
	Alibaba = "alibaba-day.csv.gz"
)

// Read reads one of these traces.
func Read(name string) (*workload.Workload, error) { return read(name, workload.Options{}) }

// SWIM reads the first of SWIM's samples of Facebook's cluster of 2009, a day with 5,894 jobs. s
// converts its bytes to tasks.
func SWIM(s workload.SWIM) (*workload.Workload, error) {
	return read("FB-2009_samples_24_times_1hr_0.tsv.gz", workload.Options{SWIM: &s})
}

func read(name string, o workload.Options) (*workload.Workload, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("there is no such trace: %w", err)
	}
	defer f.Close()
	o.File = name
	return workload.Read(f, o)
}

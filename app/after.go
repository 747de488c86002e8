package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// afterFlag collects the jobs that have to end before the job starts.
type afterFlag []*wire.JobDependency

// The ends that a dependency may be asked for.
const (
	endOK  = "ok"
	endAny = "any"
)

// String implements flag.Value.
func (f *afterFlag) String() string {
	var all []string
	for _, d := range *f {
		end := endOK
		if d.Any {
			end = endAny
		}
		all = append(all, fmt.Sprintf("%v:%s", scheduler.JobID(d.Job), end))
	}
	return strings.Join(all, ",")
}

// Set implements flag.Value.
func (f *afterFlag) Set(s string) error {
	text, end, named := strings.Cut(s, ":")
	if named && end != endOK && end != endAny {
		return errors.New("write it as JOB, JOB:ok or JOB:any, such as job-12:any")
	}
	id, err := scheduler.ParseJobID(text)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(*f, func(d *wire.JobDependency) bool { return d.Job == uint64(id) }) {
		return fmt.Errorf("%v is named twice: name it once", id)
	}
	*f = append(*f, &wire.JobDependency{Job: uint64(id), Any: end == endAny})
	return nil
}

package app

import (
	"errors"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// elementsFlag is the flag of a job array's indices.
type elementsFlag struct{ job.Elements }

// String implements flag.Value.
func (f *elementsFlag) String() string { return f.Elements.String() }

// Set implements flag.Value.
func (f *elementsFlag) Set(s string) (err error) {
	if f.Count() > 0 {
		return errors.New("it is given twice: write all indices in one list, such as 0-9,20-29")
	}
	f.Elements, err = job.ParseElements(s)
	return err
}

package app

import (
	"fmt"

	"github.com/hamadryad/hamadryad/engine/plan"
)

// slotsFlag collects STAGE=KIND flags.
type slotsFlag plan.Kinds

// String implements flag.Value.
func (f *slotsFlag) String() string {
	return byStage(*f, func(kind string) string { return kind })
}

// Set implements flag.Value.
func (f *slotsFlag) Set(s string) error {
	stage, kind := cutStage(s)
	if stage == "" || kind == "" {
		return fmt.Errorf("write it as STAGE=KIND, such as map=fast")
	}
	return addForStage(f, stage, kind)
}

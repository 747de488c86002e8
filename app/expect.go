package app

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// expectFlag collects STAGE=DURATION flags: how long the stage's tasks are expected to run.
type expectFlag plan.Expected

// String implements flag.Value.
func (f *expectFlag) String() string { return byStage(*f, time.Duration.String) }

// Set implements flag.Value.
func (f *expectFlag) Set(s string) error {
	stage, text := cutStage(s)
	if stage == "" {
		return fmt.Errorf("%q names no stage: write it like map=25s", s)
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > wire.StageExpectedMax {
		return fmt.Errorf("%q is no expected time: write it like map=25s, up to %v", s, wire.StageExpectedMax)
	}
	return addForStage(f, stage, d)
}

package app

import (
	"fmt"
	"strings"
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
	i := strings.LastIndexByte(s, '=')
	if i < 1 {
		return fmt.Errorf("%q names no stage: write it like map=25s", s)
	}
	stage := s[:i]
	d, err := time.ParseDuration(s[i+1:])
	if err != nil || d <= 0 || d > wire.StageExpectedMax {
		return fmt.Errorf("%q is no expected time: write it like map=25s, up to %v", s, wire.StageExpectedMax)
	}
	if _, twice := (*f)[stage]; twice {
		return fmt.Errorf("it is given twice for the same stage")
	}
	if *f == nil {
		*f = expectFlag{}
	}
	(*f)[stage] = d
	return nil
}

package app

import (
	"fmt"
	"strconv"

	"github.com/hamadryad/hamadryad/engine/plan"
)

// attemptsFlag collects [STAGE=]N flags: how often a group of the stage may fail before its job
// does; "" stands for all stages that are not named.
type attemptsFlag plan.Attempts

// String implements flag.Value.
func (f *attemptsFlag) String() string {
	return byStage(*f, func(n uint32) string { return strconv.Itoa(int(n)) })
}

// Set implements flag.Value.
func (f *attemptsFlag) Set(s string) error {
	stage, count := cutStage(s)
	n, err := strconv.ParseUint(count, 10, 32)
	if err != nil || stage != "" && n == 0 {
		return fmt.Errorf("%q is no number of attempts: write it like 2, or map=2", s)
	}
	return addForStage(f, stage, uint32(n))
}

func (f *attemptsFlag) set(stage string, n uint32) {
	if *f == nil {
		*f = attemptsFlag{}
	}
	(*f)[stage] = n
}

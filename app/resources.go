package app

import (
	"fmt"
	"strings"

	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// resourcesFlag collects [STAGE=]KIND:COUNT,... flags.
type resourcesFlag plan.Resources

// String implements flag.Value.
func (f *resourcesFlag) String() string { return byStage(*f, scheduler.Resources.String) }

// Set implements flag.Value.
func (f *resourcesFlag) Set(s string) error {
	stage, amounts := "", s
	if i := strings.LastIndexByte(s, '='); i >= 0 {
		stage, amounts = s[:i], s[i+1:]
	}
	resources, err := scheduler.ParseResources(amounts)
	if err != nil {
		return err
	}
	if _, twice := (*f)[stage]; twice {
		return fmt.Errorf("it is given twice for the same tasks")
	}
	if *f == nil {
		*f = resourcesFlag{}
	}
	(*f)[stage] = resources
	return nil
}

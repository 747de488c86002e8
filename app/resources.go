package app

import (
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// resourcesFlag collects [STAGE=]KIND:COUNT,... flags.
type resourcesFlag plan.Resources

// String implements flag.Value.
func (f *resourcesFlag) String() string { return byStage(*f, scheduler.Resources.String) }

// Set implements flag.Value.
func (f *resourcesFlag) Set(s string) error {
	stage, amounts := cutStage(s)
	resources, err := scheduler.ParseResources(amounts)
	if err != nil {
		return err
	}
	return addForStage(f, stage, resources)
}

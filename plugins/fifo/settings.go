package fifo

import (
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
)

// options are the policy's settings.
type options struct {
	CollectAfter time.Duration     `yaml:"collect-after"`
	Locality     locality.Settings `yaml:"locality"`
}

func parse(c scheduler.Config) (options, error) {
	o := options{
		CollectAfter: settings.CollectAfterDefault,
		Locality:     locality.New(locality.ModeNearest, locality.ModeFlow, locality.ModeNearest, locality.ModeNone),
	}
	if err := settings.Decode(c, &o); err != nil {
		return options{}, err
	}
	checks := settings.Checks{Config: c}
	checks.CollectAfter(o.CollectAfter)
	return o, checks.Err()
}

package fifo

import (
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
)

// collectAfterDefault is long against the usual task, so that slots seldom stand
// empty for a gang that would have fitted anyway.
const collectAfterDefault = 30 * time.Second

// options are the policy's settings.
type options struct {
	CollectAfter time.Duration     `yaml:"collect-after"`
	Locality     locality.Settings `yaml:"locality"`
}

func parse(c scheduler.Config) (options, error) {
	o := options{
		CollectAfter: collectAfterDefault,
		Locality:     locality.New(locality.ModeNearest, locality.ModeFlow, locality.ModeNearest, locality.ModeNone),
	}
	if err := settings.Decode(c, &o); err != nil {
		return options{}, err
	}
	if o.CollectAfter < 0 {
		return options{}, scheduler.Problems{settings.At(c, "collect-after", "must not be negative; 0s lets smaller work pass for ever")}
	}
	return o, nil
}

package dynamicpriority

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/money"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/algorithms/locality"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
)

const (
	// allocDefault is the document's.
	allocDefault = 20 * time.Second
	allocMin     = time.Second
	allocMax     = time.Hour
	// collectAfterDefault is long against the usual task, so that slots seldom stand
	// empty for work that would have fitted anyway.
	collectAfterDefault = 30 * time.Second
	// simulatedBudget and simulatedSpending are of the queues of a simulation.
	simulatedBudget   = "1000000"
	simulatedSpending = "1"
)

// options are the policy's settings; doc.go says what they mean.
type options struct {
	AllocInterval     time.Duration `yaml:"alloc-interval"`
	KillInterval      time.Duration `yaml:"kill-interval"`
	CollectAfter      time.Duration `yaml:"collect-after"`
	SimulatedBudget   string        `yaml:"simulated-budget"`
	SimulatedSpending string        `yaml:"simulated-spending"`

	Locality locality.Settings `yaml:"locality"`

	ShellSettings `yaml:",inline"`

	budget, spending money.Amount // of a simulation
}

// ShellSettings are those of the policy's shell.
type ShellSettings struct {
	Skew           time.Duration `yaml:"skew"`
	TimestampsRise bool          `yaml:"timestamps-rise"`
	AcceptSHA1     bool          `yaml:"accept-sha1"`
	AcceptProven   bool          `yaml:"accept-proven"`
	PollInterval   time.Duration `yaml:"poll-interval"`
}

const (
	skewMin, skewMax = time.Second, time.Hour
	pollMin, pollMax = 100 * time.Millisecond, time.Hour
)

var shellDefaults = ShellSettings{Skew: 5 * time.Minute, AcceptSHA1: true, PollInterval: 5 * time.Second}

// ParseShell reads the settings of the shell out of the policy's.
func ParseShell(c scheduler.Config) (ShellSettings, error) {
	o, err := parse(c)
	return o.ShellSettings, err
}

func parse(c scheduler.Config) (options, error) {
	o := options{
		AllocInterval: allocDefault, CollectAfter: collectAfterDefault,
		Locality:        locality.New(locality.ModeNearest, locality.ModeFlow, locality.ModeNearest, locality.ModeNone),
		SimulatedBudget: simulatedBudget, SimulatedSpending: simulatedSpending, ShellSettings: shellDefaults,
	}
	if err := settings.Decode(c, &o); err != nil {
		return options{}, err
	}
	var wrong scheduler.Problems
	problem := func(key, message string) { wrong = append(wrong, settings.At(c, key, message)) }
	if o.AllocInterval < allocMin || o.AllocInterval > allocMax {
		problem("alloc-interval", fmt.Sprintf("%s is not from %s to %s: write it like 20s", o.AllocInterval, allocMin, allocMax))
	}
	if o.KillInterval < 0 {
		problem("kill-interval", "must not be negative; 0s takes nothing back")
	}
	if o.CollectAfter < 0 {
		problem("collect-after", "must not be negative; 0s lets smaller work pass for ever")
	}
	if o.Skew < skewMin || o.Skew > skewMax {
		problem("skew", fmt.Sprintf("%s is not from %s to %s: write it like 5m", o.Skew, skewMin, skewMax))
	}
	if o.PollInterval < pollMin || o.PollInterval > pollMax {
		problem("poll-interval", fmt.Sprintf("%s is not from %s to %s: write it like 5s", o.PollInterval, pollMin, pollMax))
	}
	var err error
	if o.budget, err = money.Parse(o.SimulatedBudget); err != nil {
		problem("simulated-budget", err.Error())
	}
	if o.spending, err = money.Parse(o.SimulatedSpending); err != nil {
		problem("simulated-spending", err.Error())
	} else if err := account.CheckSpending(o.spending); err != nil {
		problem("simulated-spending", err.Error())
	}
	if len(wrong) > 0 {
		return options{}, wrong
	}
	return o, nil
}

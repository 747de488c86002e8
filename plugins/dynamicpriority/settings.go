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
	// allocDefault is the document's default.
	allocDefault = 20 * time.Second
	allocMin     = time.Second
	allocMax     = time.Hour
	// simulatedBudget and simulatedSpending are the defaults for queues in a simulation.
	simulatedBudget   = "1000000"
	simulatedSpending = "1"
)

// options are the policy's settings; doc.go documents them.
type options struct {
	AllocInterval     time.Duration `yaml:"alloc-interval"`
	KillInterval      time.Duration `yaml:"kill-interval"`
	CollectAfter      time.Duration `yaml:"collect-after"`
	SimulatedBudget   string        `yaml:"simulated-budget"`
	SimulatedSpending string        `yaml:"simulated-spending"`

	Locality locality.Settings `yaml:"locality"`

	ShellSettings `yaml:",inline"`

	budget, spending money.Amount // of each queue in a simulation
}

// ShellSettings are the settings of the policy's shell.
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

// ParseShell parses the shell's settings from the policy's.
func ParseShell(c scheduler.Config) (ShellSettings, error) {
	o, err := parse(c)
	return o.ShellSettings, err
}

func parse(c scheduler.Config) (options, error) {
	o := options{
		AllocInterval: allocDefault, CollectAfter: settings.CollectAfterDefault,
		Locality:        locality.New(locality.ModeNearest, locality.ModeFlow, locality.ModeNearest, locality.ModeNone),
		SimulatedBudget: simulatedBudget, SimulatedSpending: simulatedSpending, ShellSettings: shellDefaults,
	}
	if err := settings.Decode(c, &o); err != nil {
		return options{}, err
	}
	checks := settings.Checks{Config: c}
	within := func(key string, d, low, high time.Duration, example string) {
		checks.That(d >= low && d <= high, key, fmt.Sprintf("%s is not from %s to %s: write it like %s", d, low, high, example))
	}
	within("alloc-interval", o.AllocInterval, allocMin, allocMax, "20s")
	checks.That(o.KillInterval >= 0, "kill-interval", "must not be negative; 0s takes nothing back")
	checks.CollectAfter(o.CollectAfter)
	within("skew", o.Skew, skewMin, skewMax, "5m")
	within("poll-interval", o.PollInterval, pollMin, pollMax, "5s")
	var err error
	if o.budget, err = money.Parse(o.SimulatedBudget); err != nil {
		checks.That(false, "simulated-budget", err.Error())
	}
	if o.spending, err = money.Parse(o.SimulatedSpending); err == nil {
		err = account.CheckSpending(o.spending)
	}
	if err != nil {
		checks.That(false, "simulated-spending", err.Error())
	}
	return o, checks.Err()
}

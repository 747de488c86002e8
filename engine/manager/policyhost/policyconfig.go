package policyhost

import (
	"cmp"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Policy names the plug-in that decides, with its settings.
type Policy struct {
	Place          string // where the configuration names it: FILE:LINE, a variable or "flag"; "": unknown
	Name           string // name under which its checkpoints are kept
	Path           string
	Checksum       string           // SHA-256 in hex, or ""
	Environment    []string         // names of the manager's variables that the plug-in gets beside the usual ones
	Config         scheduler.Config // its settings
	StartTimeout   time.Duration    // 30 s
	FailuresMax    int              // within FailuresWindow, then the fallback takes over; 5
	FailuresWindow time.Duration    // 1 minute
	Memory         int64            // bound of its processes' bytes; 0: half of the machine's
	SlowRound      time.Duration    // a longer round is reported; 1 s
	Store          string           // granted folder, or ""
	Trace          string           // granted trace file, or ""
	Transport      string           // of rounds: policy.TransportAuto, also for "", or policy.TransportGRPC
	// Shadows are policies that decide on the same rounds without effect. Of their fields those of
	// the program and its settings count.
	Shadows []Policy
	// ShadowInterval is how long a shadow waits after a round before it gets the next: all that came
	// meanwhile, joined. 0: it gets each round alone.
	ShadowInterval time.Duration
	// Source is the configuration with this policy, in the form of the program that starts the
	// manager. It is kept in the data folder when the policy runs with it; nil: it is not kept.
	Source []byte
	// InForce puts the rest of the configuration in force. It is called when a policy has accepted
	// these settings, in the order of acceptance, and without a lock. nil: there is no rest.
	InForce func()
	// Shown are its settings as they are shown.
	Shown Shown
}

// Fill puts in the defaults.
func (p *Policy) Fill() {
	p.StartTimeout = cmp.Or(p.StartTimeout, 30*time.Second)
	p.FailuresMax = cmp.Or(p.FailuresMax, 5)
	p.FailuresWindow = cmp.Or(p.FailuresWindow, time.Minute)
	p.SlowRound = cmp.Or(p.SlowRound, time.Second)
}

// Shown is a displayed configuration: each setting with its value and where it was set.
type Shown []*wire.Setting

func sameProgram(a, b Policy) bool {
	a.Config, b.Config = scheduler.Config{}, scheduler.Config{}
	return a.Name == b.Name && a.Path == b.Path && a.Checksum == b.Checksum && a.Memory == b.Memory && slices.Equal(a.Environment, b.Environment) && a.Store == b.Store && a.Trace == b.Trace && a.Transport == b.Transport
}

// SameSettings reports whether two configurations have the same program with the same settings: a
// policy that has accepted the one need not be asked about the other.
func SameSettings(a, b Policy) bool { return sameProgram(a, b) && sameConfig(a.Config, b.Config) }

// sameConfig compares what a policy would see, without the place of the text.
func sameConfig(a, b scheduler.Config) bool {
	return string(a.Text) == string(b.Text) && slices.EqualFunc(a.Files, b.Files, func(x, y scheduler.ConfigFile) bool {
		return x.Name == y.Name && string(x.Data) == string(y.Data)
	})
}

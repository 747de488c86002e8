package manager

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Config is all that a manager is told. Zero durations and sizes mean the
// defaults of the comments.
type Config struct {
	Listen string // gRPC address, 127.0.0.1:0 when empty
	HTTP   string // address of /metrics, 127.0.0.1:0 when empty
	Data   string // folder; made when missing

	NoSync       bool  // do not wait for the disk (eventlog.Options.NoSync)
	LogFileBytes int64 // eventlog.SegmentBytesDefault
	LogKeep      int   // eventlog.KeepSegmentsDefault
	LogKeepBytes int64 // eventlog.KeepBytesDefault
	BlobBytes    int64 // programs and plans; 16 GiB

	Heartbeat         time.Duration // 500 ms
	Lease             time.Duration // 10 s
	LauncherLostAfter time.Duration // 20 s

	Core   core.Settings // core.DefaultSettings with the site's changes
	Policy Policy
	// Fallback makes the policy that takes over in this process when the plug-in
	// keeps failing. It must not be nil.
	Fallback func() scheduler.TaskScheduler
	// Updates brings changed settings while the manager runs; nil: none come.
	Updates <-chan Update
	// Ready is called once, when the manager answers at these addresses; nil: not.
	Ready func(grpc, http string)
	Log   *slog.Logger // nil: slog.Default
}

// Policy says which plug-in decides.
type Policy struct {
	Name           string // by which its checkpoints are kept
	Path           string
	Checksum       string           // SHA-256 in hex, or ""
	Config         scheduler.Config // its settings
	StartTimeout   time.Duration    // 30 s
	FailuresMax    int              // within FailuresWindow, then the fallback takes over; 5
	FailuresWindow time.Duration    // 1 minute
	Store          string           // granted folder, or ""
	Trace          string           // granted trace file, or ""
}

// Update is a changed configuration. What is not in it takes effect at the next
// start.
type Update struct {
	Core   core.Settings
	Policy Policy
}

func (c *Config) fill() error {
	c.Listen = cmp.Or(c.Listen, "127.0.0.1:0")
	c.HTTP = cmp.Or(c.HTTP, "127.0.0.1:0")
	c.BlobBytes = cmp.Or(c.BlobBytes, 16<<30)
	c.Heartbeat = cmp.Or(c.Heartbeat, 500*time.Millisecond)
	c.Lease = cmp.Or(c.Lease, 10*time.Second)
	c.LauncherLostAfter = cmp.Or(c.LauncherLostAfter, 20*time.Second)
	c.Policy.fill()
	if c.Log == nil {
		c.Log = slog.Default()
	}
	c.Core.Heartbeat = c.Heartbeat
	switch {
	case c.Data == "":
		return fmt.Errorf("the manager needs a folder for its data: set manager.data")
	case c.Fallback == nil:
		return fmt.Errorf("the manager needs a policy to fall back to")
	case c.Policy.Path == "":
		return fmt.Errorf("the manager needs the path of a policy plug-in: set policy.path or policy.name")
	case c.Heartbeat >= c.Lease || c.Lease >= c.LauncherLostAfter:
		return fmt.Errorf("heartbeat (%v) must be less than lease (%v), and lease less than launcherLostAfter (%v)", c.Heartbeat, c.Lease, c.LauncherLostAfter)
	}
	return c.Core.Check()
}

func (p *Policy) fill() {
	p.StartTimeout = cmp.Or(p.StartTimeout, 30*time.Second)
	p.FailuresMax = cmp.Or(p.FailuresMax, 5)
	p.FailuresWindow = cmp.Or(p.FailuresWindow, time.Minute)
}

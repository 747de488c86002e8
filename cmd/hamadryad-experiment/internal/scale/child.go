package scale

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// childVariable is how a process is told that it is to play one run and print what it took.
const childVariable = "HAMADRYAD_SCALE_RUN"

// run is what one process plays.
type run struct {
	Trace     string // an embedded trace, or the path of one of SWIM's; "": what synthetic makes
	Policy    string
	Plugin    string // path of the policy's program; "": in process
	Launchers int
	Profile   string // file for a profile of the processor; "": none
}

// measured is what it took.
type measured struct {
	Workload    string // its name
	Launchers   int
	Tasks       int
	Wall        time.Duration
	Processor   time.Duration // of this process and of the plug-in
	Rounds      uint64
	Decisions   uint64 // that were accepted
	Peak        int64  // most bytes of memory that the process held, as the system counts them
	PluginPeak  int64  // and the plug-in; 0: there was none
	PerLauncher int64  // bytes of what lives when all launchers have joined, by launchers
	PerTask     int64  // and of what came to live until the last job came, by tasks
}

func (m *measured) roundsPerSecond() float64 { return float64(m.Rounds) / m.Wall.Seconds() }

// perDecision is how many microseconds one took, with all that belongs to it.
func (m *measured) perDecision() float64 {
	return float64(m.Wall.Microseconds()) / float64(max(m.Decisions, 1))
}

// measure plays a run in a process of its own.
func (l *Lab) measure(ctx context.Context, r run) (m measured, err error) {
	if l.Profile != "" {
		if err := os.MkdirAll(l.Profile, 0o755); err != nil {
			return m, err
		}
		r.Profile = filepath.Join(l.Profile, r.file()+".prof")
	}
	said, err := json.Marshal(r)
	if err != nil {
		return m, err
	}
	cmd := exec.CommandContext(ctx, l.Self)
	cmd.Env = append(os.Environ(), childVariable+"="+string(said))
	cmd.Stderr = l.Log
	out, err := cmd.Output()
	if err != nil {
		return m, fmt.Errorf("%s under %s on %d launchers: %w", r.Trace, r.Policy, r.Launchers, err)
	}
	return m, json.Unmarshal(out, &m)
}

// file is a run's name in a file's.
func (r *run) file() string {
	where := "in-process"
	if r.Plugin != "" {
		where = "plug-in"
	}
	return fmt.Sprintf("%s-%s-%s-%d", filepath.Base("./"+r.Trace), r.Policy, where, r.Launchers)
}

// Child plays one run and prints what it took, when the environment says so; false: it
// does not. A program that makes measurements calls it before all else, and ends then.
func Child(ctx context.Context) (mine bool, err error) {
	said := os.Getenv(childVariable)
	if said == "" {
		return false, nil
	}
	var r run
	if err := json.Unmarshal([]byte(said), &r); err != nil {
		return true, fmt.Errorf("%s: %w", childVariable, err)
	}
	m, err := r.play(ctx)
	if err != nil {
		return true, err
	}
	return true, json.NewEncoder(os.Stdout).Encode(m)
}

package isolate

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/isolate/cgroup"
	"github.com/hamadryad/hamadryad/engine/isolate/seccomp"
)

// As which user workers run. The empty string is None.
const (
	None      = "none"      // as the launcher's user
	Submitter = "submitter" // as the machine's user of the submitter's name
)

// Settings of a launcher. The zero value is None.
type Settings struct {
	User     string
	LeastUID int      // users with smaller ids may not run; 0: LeastUIDDefault. Root never may
	Allow    []string // names of users who may run; none: all whom the other settings allow
	Deny     []string // names of users who may not run

	// Groups are names of the machine's groups. A worker is in those of them that its user is in,
	// and in its user's own group. It is in no others.
	Groups []string
	// Calls are system calls that workers may make although isolation refuses them (seccomp.Check).
	Calls []string

	TemporaryBytes int64 // that the /tmp of a worker holds; 0: TemporaryDefault
	Processes      int   // of a user on the machine, and of a worker with limits by cgroup2, threads included; 0: ProcessesDefault
	OpenFiles      int   // of one process; 0: OpenFilesDefault

	// Cgroup is where workers have groups with limits: cgroup.Auto, cgroup.None or a folder; "":
	// cgroup.Auto. It applies whatever user workers run as, and so does Processes in these groups.
	Cgroup string
}

// Defaults of Settings.
const (
	LeastUIDDefault  = 1000
	TemporaryDefault = 64 << 20
	ProcessesDefault = 4096
	OpenFilesDefault = 65536
)

// Least values of Settings: with less no worker starts.
const (
	temporaryMin = 1 << 20
	processesMin = 64
	openFilesMin = 64
)

// On reports whether workers run as their submitters.
func (s Settings) On() bool { return s.User == Submitter }

// MostProcesses is Processes, or its default.
func (s Settings) MostProcesses() int { return s.withDefaults().Processes }

// Name is the value of User, as in the configuration.
func (s Settings) Name() string {
	if s.On() {
		return Submitter
	}
	return None
}

// withDefaults fills in the defaults.
func (s Settings) withDefaults() Settings {
	for _, d := range []struct {
		at    *int
		value int
	}{{&s.LeastUID, LeastUIDDefault}, {&s.Processes, ProcessesDefault}, {&s.OpenFiles, OpenFilesDefault}} {
		if *d.at == 0 {
			*d.at = d.value
		}
	}
	if s.TemporaryBytes == 0 {
		s.TemporaryBytes = TemporaryDefault
	}
	return s
}

// Check reports settings that make no sense on any machine.
func (s Settings) Check() error {
	given := s
	s = s.withDefaults()
	switch {
	case given.User != "" && given.User != None && given.User != Submitter:
		return fmt.Errorf("launcher.isolation.user: %q: use %s or %s", s.User, None, Submitter)
	case s.LeastUID < 1:
		return fmt.Errorf("launcher.isolation.leastUID: %d: use 1 or more, since root never runs a worker", s.LeastUID)
	case s.TemporaryBytes < temporaryMin:
		return fmt.Errorf("launcher.isolation.temporary: %d bytes: use at least %d", s.TemporaryBytes, temporaryMin)
	case s.Processes < processesMin:
		return fmt.Errorf("launcher.isolation.processes: %d: use at least %d, since a worker has threads", s.Processes, processesMin)
	case s.OpenFiles < openFilesMin:
		return fmt.Errorf("launcher.isolation.openFiles: %d: use at least %d", s.OpenFiles, openFilesMin)
	}
	for _, name := range s.Allow {
		if slices.Contains(s.Deny, name) {
			return fmt.Errorf("launcher.isolation: user %q is on both lists, allow and deny: leave one", name)
		}
	}
	if err := seccomp.Check(s.Calls); err != nil {
		return fmt.Errorf("launcher.isolation.calls: %w", err)
	}
	if err := cgroup.Check(s.Cgroup); err != nil {
		return err
	}
	if !s.On() && len(s.Allow)+len(s.Deny) > 0 {
		return errors.New("launcher.isolation: there is a list of users, but workers run as the launcher does: set launcher.isolation.user to submitter, or leave the list out")
	}
	return nil
}

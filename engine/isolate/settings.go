package isolate

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/engine/isolate/cgroup"
	"github.com/hamadryad/hamadryad/engine/isolate/seccomp"
)

// As whom workers run. The empty string is None.
const (
	None      = "none"      // as the launcher does
	Submitter = "submitter" // as the user of the machine whose name is that of who submitted
)

// Settings of a launcher. The zero value is None.
type Settings struct {
	User     string
	LeastUID int      // smaller user ids run nothing; 0: LeastUIDDefault. Root never does
	Allow    []string // names of users that may run; none: all that the other settings let
	Deny     []string // names of users that may not

	// Groups are names of groups of the machine: a worker is in those of them that its user is in,
	// beside the user's own. It is in no others.
	Groups []string
	// Calls are system calls that workers may make although isolated ones may not (seccomp.Check).
	Calls []string

	TemporaryBytes int64 // that the /tmp of a worker holds; 0: TemporaryDefault
	Processes      int   // of a user on the machine, and of a worker with limits by cgroup2, threads included; 0: ProcessesDefault
	OpenFiles      int   // of one process; 0: OpenFilesDefault

	// Cgroup is where workers have groups with limits: cgroup.Auto, cgroup.None or a folder; "":
	// cgroup.Auto. It counts whoever they run as, and so does Processes there.
	Cgroup string
}

// Defaults of Settings.
const (
	LeastUIDDefault  = 1000
	TemporaryDefault = 64 << 20
	ProcessesDefault = 4096
	OpenFilesDefault = 65536
)

// Least values of Settings: with less no worker begins.
const (
	temporaryMin = 1 << 20
	processesMin = 64
	openFilesMin = 64
)

// On reports whether workers run as those who submitted.
func (s Settings) On() bool { return s.User == Submitter }

// MostProcesses is Processes, or its default.
func (s Settings) MostProcesses() int { return s.withDefaults().Processes }

// Name is how users are chosen, as in the configuration.
func (s Settings) Name() string {
	if s.On() {
		return Submitter
	}
	return None
}

// withDefaults fills in what is not said.
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

package wire

import (
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// NewInput is an input of the core: a request, a report or an answer.
func NewInput[M interface {
	*Prepare | *Submit | *KillJob | *UpdateJob | *LauncherJoin | *LauncherLost | *DrainLauncher | *PolicyStart | *PolicyStarted |
		*PolicyAnswer | *PolicyFailed | *SettingsChange | *Note | *PolicyRequest | *ManagerStart | *SiteSettings |
		*AddSchedule | *ChangeSchedule | *ScheduleDue | *TakeRun | *EndRun | *RetryElements
}](what M,
) *Input {
	switch m := any(what).(type) {
	case *Prepare:
		return &Input{What: &Input_Prepare{m}}
	case *Submit:
		return &Input{What: &Input_Submit{m}}
	case *KillJob:
		return &Input{What: &Input_KillJob{m}}
	case *UpdateJob:
		return &Input{What: &Input_UpdateJob{m}}
	case *LauncherJoin:
		return &Input{What: &Input_LauncherJoin{m}}
	case *LauncherLost:
		return &Input{What: &Input_LauncherLost{m}}
	case *DrainLauncher:
		return &Input{What: &Input_Drain{m}}
	case *PolicyStart:
		return &Input{What: &Input_PolicyStart{m}}
	case *PolicyStarted:
		return &Input{What: &Input_PolicyStarted{m}}
	case *PolicyAnswer:
		return &Input{What: &Input_PolicyAnswer{m}}
	case *PolicyFailed:
		return &Input{What: &Input_PolicyFailed{m}}
	case *SettingsChange:
		return &Input{What: &Input_Settings{m}}
	case *Note:
		return &Input{What: &Input_Note{m}}
	case *PolicyRequest:
		return &Input{What: &Input_Request{m}}
	case *ManagerStart:
		return &Input{What: &Input_ManagerStart{m}}
	case *RetryElements:
		return &Input{What: &Input_RetryElements{m}}
	case *SiteSettings:
		return &Input{What: &Input_Site{m}}
	case *AddSchedule:
		return &Input{What: &Input_AddSchedule{m}}
	case *ChangeSchedule:
		return &Input{What: &Input_ChangeSchedule{m}}
	case *ScheduleDue:
		return &Input{What: &Input_ScheduleDue{m}}
	case *TakeRun:
		return &Input{What: &Input_TakeRun{m}}
	case *EndRun:
		return &Input{What: &Input_EndRun{m}}
	}
	panic("a message that is no input")
}

// NewReport is the input for a launcher's report.
func NewReport(launcher uint64, r *Report) *Input {
	var whole struct { // one allocation: most inputs are reports
		input  Input
		what   Input_Report
		report LauncherReport
	}
	whole.report.Launcher, whole.report.Report = launcher, r
	whole.what.Report, whole.input.What = &whole.report, &whole.what
	return &whole.input
}

// Tick is an input that only says that time passed.
func Tick() *Input { return &Input{What: &Input_Tick{Tick: true}} }

// NewPolicyStart is the input that starts a generation of a policy. The event log records its
// settings. Settings that can't be written are left out, and the policy will not start with them.
func NewPolicyStart(m *PolicyStart, with scheduler.Config) *Input {
	if c, err := schedwire.NewConfig(with); err == nil {
		m.Config, _ = proto.Marshal(c)
		if m.Config == nil { // an empty config: it is known that there are no settings
			m.Config = []byte{}
		}
	}
	return NewInput(m)
}

// Settings are the settings with which a generation is started. known is false if the log does not
// have them, as that of an older version. The error says that the message can't be read.
func (x *PolicyStart) Settings() (c scheduler.Config, known bool, err error) {
	if x.Config == nil {
		return c, false, nil
	}
	var m schedwire.Config
	if err := proto.Unmarshal(x.Config, &m); err != nil {
		return c, false, err
	}
	c, err = m.Decode()
	return c, err == nil, err
}

// NewPolicyStarted is the input that describes a started generation of the policy.
func NewPolicyStarted(generation uint64, d scheduler.Description) *Input {
	return NewInput(&PolicyStarted{
		Generation: generation, Name: d.Name, Version: d.Version, Abilities: uint32(d.Abilities), ProgressEveryNs: int64(d.ProgressEvery),
	})
}

package wire

import "github.com/hamadryad/hamadryad/sdk/scheduler"

// NewInput is an input of the core: what somebody asks, tells or answers.
func NewInput[M interface {
	*Prepare | *Submit | *KillJob | *UpdateJob | *LauncherJoin | *LauncherLost | *DrainLauncher | *PolicyStart | *PolicyStarted |
		*PolicyAnswer | *PolicyFailed | *SettingsChange | *Note | *PolicyRequest | *ManagerStart | *SiteSettings
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
	case *SiteSettings:
		return &Input{What: &Input_Site{m}}
	}
	panic("a message that is no input")
}

// NewReport is the input of what a launcher reports.
func NewReport(launcher uint64, r *Report) *Input {
	return &Input{What: &Input_Report{&LauncherReport{Launcher: launcher, Report: r}}}
}

// Tick is the input that says only that time passed.
func Tick() *Input { return &Input{What: &Input_Tick{Tick: true}} }

// NewPolicyStarted says what a generation of the policy is that has started.
func NewPolicyStarted(generation uint64, d scheduler.Description) *Input {
	return NewInput(&PolicyStarted{
		Generation: generation, Name: d.Name, Version: d.Version, Abilities: uint32(d.Abilities), ProgressEveryNs: int64(d.ProgressEvery),
	})
}

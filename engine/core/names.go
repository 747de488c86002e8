package core

import "github.com/hamadryad/hamadryad/engine/core/step"

// What the core's callers need lies in package step, and has its names here.
type (
	Settings        = step.Settings
	Stats           = step.Stats
	Action          = step.Action
	ToLauncher      = step.ToLauncher
	Welcome         = step.Welcome
	CutLauncher     = step.CutLauncher
	AskPolicy       = step.AskPolicy
	StartPolicy     = step.StartPolicy
	PolicyGone      = step.PolicyGone
	Reply           = step.Reply
	SettingsVerdict = step.SettingsVerdict
	JobsChanged     = step.JobsChanged
	LogLine         = step.LogLine
	Level           = step.Level
	Attr            = step.Attr
)

// Whose word a SettingsVerdict is.
const (
	Judged     = step.Judged
	Unanswered = step.Unanswered
	Untold     = step.Untold
)

// The levels of log lines.
const (
	Info  = step.Info
	Warn  = step.Warn
	Error = step.Error
)

// DefaultSettings returns the settings of a site that sets none.
func DefaultSettings() Settings { return step.DefaultSettings() }

// ParseSettings reads settings from JSON, over the defaults, and checks them.
func ParseSettings(b []byte) (Settings, error) { return step.ParseSettings(b) }

// Stats returns the counts.
func (c *Core) Stats() Stats {
	s := c.step.Stats
	s.Running, s.Suspended, s.JobsLive = c.attempts.Len(), c.suspended.Len(), c.jobs.Len()
	for _, id := range c.jobs.IDs() {
		s.Ready += c.jobs.Get(id).ready.count
	}
	return s
}

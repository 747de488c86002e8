package core

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/ids"
	"github.com/hamadryad/hamadryad/engine/core/internal/lifecycle"
	"github.com/hamadryad/hamadryad/engine/core/internal/membership"
	"github.com/hamadryad/hamadryad/engine/core/internal/outbound"
	"github.com/hamadryad/hamadryad/engine/core/internal/rounds"
	"github.com/hamadryad/hamadryad/engine/core/internal/state"
	"github.com/hamadryad/hamadryad/engine/core/internal/step"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// What callers of the core need is declared in internal packages, and has its names here.
type (
	Graphs       = state.Graphs
	Draft        = lifecycle.Draft
	Losses       = lifecycle.Losses
	LauncherInfo = outbound.LauncherInfo
	PolicyState  = rounds.PolicyState

	Settings         = step.Settings
	UserLimits       = step.UserLimits
	UserLimit        = step.UserLimit
	Stats            = step.Stats
	Action           = step.Action
	ToLauncher       = step.ToLauncher
	Welcome          = step.Welcome
	Assigned         = step.Assigned
	AskPolicy        = step.AskPolicy
	StartPolicy      = step.StartPolicy
	PolicyGone       = step.PolicyGone
	PolicyStalls     = step.PolicyStalls
	Reply            = step.Reply
	SettingsVerdict  = step.SettingsVerdict
	JobsChanged      = step.JobsChanged
	SchedulesChanged = step.SchedulesChanged
	Changes          = step.Changes
	LogLine          = step.LogLine
	Level            = step.Level
	Attr             = step.Attr
)

// ReasonGivenUp is sessions.GivenUp.
const ReasonGivenUp = membership.ReasonGivenUp

// How a SettingsVerdict came about.
const (
	VerdictAnswered = step.VerdictAnswered
	VerdictTimedOut = step.VerdictTimedOut
	VerdictNotAsked = step.VerdictNotAsked
)

// The levels of log lines.
const (
	Info  = step.Info
	Warn  = step.Warn
	Error = step.Error
)

// SuspensionBounds are step.SuspensionBounds.
var SuspensionBounds = step.SuspensionBounds

// Term is ids.Term.
func Term(last uint64, age time.Duration) uint64 { return ids.Term(last, age) }

// SeenMax is ids.SeenMax.
func SeenMax(now time.Time) (term, job, attempt uint64) { return ids.SeenMax(now) }

// LastJobByAge is ids.LastJobByAge.
func LastJobByAge(above uint64, age time.Duration) scheduler.JobID {
	return scheduler.JobID(ids.LastJobByAge(above, age))
}

// JobsAboveUnknown is ids.AboveUnknown.
func JobsAboveUnknown(now scheduler.Time) uint64 { return ids.AboveUnknown(now) }

// NewDraft checks a submission and makes the draft of its job. The message must not be
// changed afterwards.
func NewDraft(s Settings, of *wire.JobSpec, graphs Graphs) *Draft {
	return lifecycle.NewDraft(s, of, graphs)
}

// DefaultSettings returns the settings of a site that sets none.
func DefaultSettings() Settings { return step.DefaultSettings() }

// ParseSettings reads settings from JSON, over the defaults, and checks them.
func ParseSettings(b []byte) (Settings, error) { return step.ParseSettings(b) }

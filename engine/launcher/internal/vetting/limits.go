package vetting

import (
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// kind of message that a worker sends.
type kind int

const (
	kindReady kind = iota
	kindStarted
	kindPhase
	kindProgress
	kindEnded
	kindInputLost
	kindCommit
	kindSourcesTaken
	kindFilesWanted
	kindLimit
	kindRepeated // anything that contains nothing new
	kinds
)

// Bounds in bytes of the reports of each kind. A frame of any kind but an end has at most
// ControlBytesMax bytes, including unknown fields.
const (
	ControlBytesMax      = wire.WorkerControlBytesMax
	StartedBytesMax      = 1 << 10
	PhaseBytesMax        = 64
	ProgressBytesMax     = 4 << 10
	EndedBytesMax        = wire.ReportBytesMax
	InputLostBytesMax    = 32 << 10
	CommitBytesMax       = 64
	SourcesTakenBytesMax = 64
	FilesWantedBytesMax  = 64
	LimitBytesMax        = 4 << 10
	// EndEntriesMax bounds the stored outputs, files and counters of an end together: two bytes
	// of an entry take fifty times as much memory.
	EndEntriesMax = 1 << 20
)

// Rates. A worker that sends more than the burst at once, and then more than the rate, is ended. An
// honest worker sends progress and phase twice a second, and hardly ever repeats itself. Bursts
// exceed what a socket holds while a machine is suspended. Each lost input is reported once, so
// those reports are only slowed to the rate.
const (
	ReportBurst        = 1000
	ReportsPerSecond   = 20
	RepeatedBurst      = 1000
	RepeatedPerSecond  = 10
	InputLostBurst     = 10_000
	InputLostPerSecond = 1000
	// These come once for an attempt, or once for each message of the manager.
	AnswerBurst      = 100_000
	AnswersPerSecond = 50_000
)

// limit is the bound of one kind of message.
type limit struct {
	name             string // in errors
	bytes            int
	burst, perSecond int
}

var limits = [kinds]limit{
	kindReady:        {"its readiness", ControlBytesMax, AnswerBurst, AnswersPerSecond},
	kindStarted:      {"a report of its start", StartedBytesMax, AnswerBurst, AnswersPerSecond},
	kindPhase:        {"a report of its phase", PhaseBytesMax, ReportBurst, ReportsPerSecond},
	kindProgress:     {"a report of progress", ProgressBytesMax, ReportBurst, ReportsPerSecond},
	kindEnded:        {"the report of its end", EndedBytesMax, AnswerBurst, AnswersPerSecond},
	kindInputLost:    {"a report of a lost input", InputLostBytesMax, InputLostBurst, InputLostPerSecond},
	kindCommit:       {"a request to commit", CommitBytesMax, AnswerBurst, AnswersPerSecond},
	kindSourcesTaken: {"a confirmation of its inputs", SourcesTakenBytesMax, AnswerBurst, AnswersPerSecond},
	kindFilesWanted:  {"a request for output files", FilesWantedBytesMax, AnswerBurst, AnswersPerSecond},
	kindLimit:        {"its time limit", LimitBytesMax, AnswerBurst, AnswersPerSecond},
	kindRepeated:     {"what it had said before", 0, RepeatedBurst, RepeatedPerSecond},
}

// bucket counts messages against a rate. The zero value is full.
type bucket struct {
	spent float64 // of the burst
	at    time.Time
}

func (b *bucket) refill(l limit, now time.Time) {
	if passed := now.Sub(b.at).Seconds(); passed > 0 {
		b.spent, b.at = max(b.spent-passed*float64(l.perSecond), 0), now
	}
}

// takeToken counts one message; false if it exceeds the rate.
func (b *bucket) takeToken(l limit, now time.Time) bool {
	b.refill(l, now)
	if b.spent >= float64(l.burst) {
		return false
	}
	b.spent++
	return true
}

// wait counts one message, and returns how long it has to wait to keep to the rate.
func (b *bucket) wait(l limit, now time.Time) time.Duration {
	b.refill(l, now)
	b.spent++
	return time.Duration(max(b.spent-float64(l.burst), 0) / float64(l.perSecond) * float64(time.Second))
}

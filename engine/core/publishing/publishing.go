// Package publishing is what a job's last group has come to: the one that publishes the
// job's outputs, or cleans away what a job leaves that failed or was killed. It decides
// what follows when that group did not come to its end.
//
// # What holds
//
// All of a job is done when it publishes, so it is tried again for long, ever later, while
// that may help. Once publishing was granted, outputs may be there: then nothing of what
// follows may count on it that they are not. Parts that could not be published for good
// stay, for a person to publish them.
package publishing

import (
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/codec"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Publishing is that of one job. The zero value is that of a job that has not come to it.
// Not safe for concurrent use.
type Publishing struct {
	granted  bool // outputs may be there
	keep     bool // it failed for good: its parts stay
	outlived bool // a life of the manager, whose log may have lost that it was granted
	tries    int  // that were in vain
	till     scheduler.Time
	why      string   // it waits until then
	kept     []string // folders with parts that stay, of a job that is over
}

// Limits are the settings that it obeys.
type Limits struct {
	Publish, Clean  int           // tries
	Failures        int           // of the group, before it was granted
	Losses          int           // likewise; one more ends it
	After, AfterMax time.Duration // until the next try, doubling to AfterMax
}

// End is how a try ended that did not come to its end.
type End struct {
	Failure  *wire.Failure // nil: it did not fail
	Lost     string        // why it was lost; "": it was not
	Failures int           // of the group so far, with this one
	Losses   int           // likewise
	// Elsewhere says that the failure may be that of its launcher, and another is to try.
	Elsewhere bool
}

// Vain says whether the try counts: it was not merely taken back.
func (e *End) Vain() bool { return e.Failure != nil || e.Lost != "" }

func (e *End) why() string {
	if e.Failure != nil {
		return e.Failure.Message
	}
	return e.Lost
}

// What is what is to be done.
type What uint8

const (
	Again       What = iota // the same once more, at once
	Later                   // the same, after Verdict.Wait
	Fail                    // the job failed, and nothing of it is worth keeping
	Keep                    // the job failed, and its parts stay
	LeaveTraces             // the job is over, and its temporary folders are left behind
)

// Verdict is what follows on a try.
type Verdict struct {
	What What
	Why  string        // of Keep and LeaveTraces
	Wait time.Duration // of Later
}

// Clean has it clean from now on.
func (p *Publishing) Clean() { p.tries = 0 }

// Over says what follows on a try, while the group cleans or publishes.
func (p *Publishing) Over(now scheduler.Time, cleaning bool, e End, l Limits) Verdict {
	if e.Vain() {
		p.tries++
	}
	kind := e.Failure.GetKind()
	if e.Elsewhere && !cleaning && p.tries < l.Publish {
		return Verdict{What: Again}
	}
	switch {
	case cleaning && p.tries >= l.Clean:
		return Verdict{What: LeaveTraces, Why: fmt.Sprintf("cleaning failed %d times: %s", p.tries, e.why())}
	case cleaning:
		return Verdict{What: Again}
	case kind == wire.ErrorKind_ERROR_KIND_INVALID && !p.granted: // the parts do not fit together
		return Verdict{What: Fail}
	case kind == wire.ErrorKind_ERROR_KIND_OUTPUT, kind == wire.ErrorKind_ERROR_KIND_INVALID, kind == wire.ErrorKind_ERROR_KIND_DENIED:
		return Verdict{What: Keep, Why: e.why()}
	case e.Vain() && (p.tries >= l.Publish || !p.granted && (e.Failures >= l.Failures || e.Losses > l.Losses)):
		return Verdict{What: Keep, Why: fmt.Sprintf("publishing failed %d times, the last time: %s", p.tries, e.why())}
	case e.Failure != nil, p.tries > 1 && e.Vain():
		return Verdict{What: Later, Wait: p.wait(now, e.why(), l)}
	}
	return Verdict{What: Again}
}

// wait has it wait, ever longer.
func (p *Publishing) wait(now scheduler.Time, why string, l Limits) time.Duration {
	wait := l.After << min(p.tries-1, 30)
	if wait <= 0 || wait > l.AfterMax {
		wait = l.AfterMax
	}
	p.till = now.Add(wait)
	p.why = fmt.Sprintf("publishing failed %d times, the last time: %s; it is tried again within %v, up to %d times", p.tries, why, wait, l.Publish)
	return wait
}

// Due says whether it waits for nothing more.
func (p *Publishing) Due(now scheduler.Time) bool { return now >= p.till }

// WhyLater is why it waits, or waited last; "" when it never did.
func (p *Publishing) WhyLater() string { return p.why }

// Grant notes that publishing was granted.
func (p *Publishing) Grant() { p.granted = true }

// Outlive notes that a life of the manager ended.
func (p *Publishing) Outlive() { p.outlived = true }

// MayBeThere says whether outputs may be there already.
func (p *Publishing) MayBeThere() bool { return p.granted || p.outlived }

// KeepParts has the job's parts stay.
func (p *Publishing) KeepParts() { p.keep = true }

// Keeps says whether they do.
func (p *Publishing) Keeps() bool { return p.keep }

// KeepIn notes a folder in which parts stay.
func (p *Publishing) KeepIn(folder string) { p.kept = append(slices.Clone(p.kept), folder) }

// Kept lists the folders in which parts stay. The caller must not change it.
func (p *Publishing) Kept() []string { return p.kept }

// CodeGranted, CodeTries and CodeKept code its parts, which lie apart in a checkpoint.
func (p *Publishing) CodeGranted(w *codec.Codec) { codec.Flag(w, &p.granted) }

// CodeTries codes how often it was tried, and until when it waits.
func (p *Publishing) CodeTries(w *codec.Codec) {
	codec.Num(w, &p.tries)
	codec.Num(w, &p.till)
	if w.Format > 1 {
		codec.Flag(w, &p.keep)
		codec.Str(w, &p.why)
	}
}

// CodeKept codes where parts stay.
func (p *Publishing) CodeKept(w *codec.Codec) { codec.List(w, &p.kept, codec.Str[string]) }

// CodeOutlived codes whether it outlived a life of the manager.
func (p *Publishing) CodeOutlived(w *codec.Codec) { codec.Flag(w, &p.outlived) }

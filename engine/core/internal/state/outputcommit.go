package state

import (
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// OutputCommit is the progress of a job's last group, which publishes the outputs or cleans up
// after a failure or a kill. It decides what follows a failure of that group. The zero value
// means that the last group has not started.
//
// All work of a job is done when it publishes, so publishing is retried for long, with growing
// waits. Once publishing was granted, outputs may exist under their final names. Nothing that
// follows may assume otherwise. Parts that can't be published stay, for a person to publish
// them.
type OutputCommit struct {
	granted  bool // outputs may have been published
	keep     bool // publishing failed for good: its parts stay
	survived bool // the manager restarted, and its log may have lost the grant
	tries    int  // failed tries
	till     scheduler.Time
	why      string   // reason of the wait
	kept     []string // folders with the remaining parts of an ended job
}

// CommitLimits are the settings for retries of the last group.
type CommitLimits struct {
	Publish, Clean  int           // tries
	Failures        int           // of the group, before the grant
	Losses          int           // likewise; one more ends the tries
	After, AfterMax time.Duration // until the next try, doubling to AfterMax
}

// FailedCommit describes a try that did not succeed.
type FailedCommit struct {
	Failure  *wire.Failure // nil: it did not fail
	Lost     string        // why it was lost; "": it was not
	Failures int           // of the group so far, including this one
	Losses   int           // likewise
	// Elsewhere says that the launcher may be at fault: retry on another.
	Elsewhere bool
}

// Counts says whether the try counts as failed or lost. A withdrawn try does not.
func (e *FailedCommit) Counts() bool { return e.Failure != nil || e.Lost != "" }

func (e *FailedCommit) why() string {
	if e.Failure != nil {
		return e.Failure.Message
	}
	return e.Lost
}

// CommitAction is the next action after a failed try.
type CommitAction uint8

const (
	RetryCommit      CommitAction = iota // retry at once
	RetryCommitLater                     // retry after Verdict.Wait
	FailJob                              // fail the job and keep nothing of it
	FailKeepingParts                     // fail the job and keep its parts
	LeaveTemporary                       // end the job and leave its temporary folders
)

// CommitVerdict is the decision after a failed try.
type CommitVerdict struct {
	Action CommitAction
	Why    string        // of Keep and LeaveTraces
	Wait   time.Duration // of Later
}

// Clean switches to cleaning, with a new count of tries.
func (p *OutputCommit) Clean() { p.tries = 0 }

// Next decides what follows a failed try, while the group cleans or publishes.
func (p *OutputCommit) Next(now scheduler.Time, cleaning bool, e FailedCommit, l CommitLimits) CommitVerdict {
	if e.Counts() {
		p.tries++
	}
	kind := e.Failure.GetKind()
	if e.Elsewhere && !cleaning && p.tries < l.Publish {
		return CommitVerdict{Action: RetryCommit}
	}
	switch {
	case cleaning && p.tries >= l.Clean:
		return CommitVerdict{Action: LeaveTemporary, Why: fmt.Sprintf("cleaning failed %d times: %s", p.tries, e.why())}
	case cleaning:
		return CommitVerdict{Action: RetryCommit}
	case kind == wire.ErrorKind_ERROR_KIND_INVALID && !p.granted: // the parts are inconsistent
		return CommitVerdict{Action: FailJob}
	case kind == wire.ErrorKind_ERROR_KIND_OUTPUT, kind == wire.ErrorKind_ERROR_KIND_INVALID, kind == wire.ErrorKind_ERROR_KIND_DENIED:
		return CommitVerdict{Action: FailKeepingParts, Why: e.why()}
	case e.Counts() && (p.tries >= l.Publish || !p.granted && (e.Failures >= l.Failures || e.Losses > l.Losses)):
		return CommitVerdict{Action: FailKeepingParts, Why: fmt.Sprintf("publishing failed %d times, the last time: %s", p.tries, e.why())}
	case e.Failure != nil, p.tries > 1 && e.Counts():
		return CommitVerdict{Action: RetryCommitLater, Wait: p.wait(now, e.why(), l)}
	}
	return CommitVerdict{Action: RetryCommit}
}

// wait starts the wait before the next try; waits grow with each.
func (p *OutputCommit) wait(now scheduler.Time, why string, l CommitLimits) time.Duration {
	wait := l.After << min(p.tries-1, 30)
	if wait <= 0 || wait > l.AfterMax {
		wait = l.AfterMax
	}
	p.till = now.Add(wait)
	p.why = fmt.Sprintf("publishing failed %d times, the last time: %s; it is tried again within %v, up to %d times", p.tries, why, wait, l.Publish)
	return wait
}

// Due says whether the wait is over.
func (p *OutputCommit) Due(now scheduler.Time) bool { return now >= p.till }

// RetryReason returns the reason of the current or last wait; "": it never waited.
func (p *OutputCommit) RetryReason() string { return p.why }

// Grant records that publishing was granted.
func (p *OutputCommit) Grant() { p.granted = true }

// SurviveRestart records that the manager restarted.
func (p *OutputCommit) SurviveRestart() { p.survived = true }

// MayBeThere says whether outputs may already be published.
func (p *OutputCommit) MayBeThere() bool { return p.granted || p.survived }

// KeepParts makes the job's parts stay.
func (p *OutputCommit) KeepParts() { p.keep = true }

// Keeps says whether the job's parts stay.
func (p *OutputCommit) Keeps() bool { return p.keep }

// KeepIn records a folder in which parts stay.
func (p *OutputCommit) KeepIn(folder string) { p.kept = append(slices.Clone(p.kept), folder) }

// Kept lists the folders in which parts stay. The caller must not change it.
func (p *OutputCommit) Kept() []string { return p.kept }

// CodeGranted, CodeTries and CodeKept code its parts, which lie apart in a checkpoint.
func (p *OutputCommit) CodeGranted(w *checkpoint.Codec) { checkpoint.Flag(w, &p.granted) }

// CodeTries codes how often it was tried, and until when it waits.
func (p *OutputCommit) CodeTries(w *checkpoint.Codec) {
	checkpoint.Num(w, &p.tries)
	checkpoint.Num(w, &p.till)
	if w.Format > 1 {
		checkpoint.Flag(w, &p.keep)
		checkpoint.Str(w, &p.why)
	}
}

// CodeKept codes where parts stay.
func (p *OutputCommit) CodeKept(w *checkpoint.Codec) {
	checkpoint.List(w, &p.kept, checkpoint.Str[string])
}

// CodeSurvived codes whether the manager restarted meanwhile.
func (p *OutputCommit) CodeSurvived(w *checkpoint.Codec) { checkpoint.Flag(w, &p.survived) }

// filesPlace is a cached position in the list of a job's files. The next file requested mostly
// follows it.
type filesPlace struct {
	number               uint64 // of the file, counted from 0
	bundle, group, index int
}

// FilesFrom lists the output files of a job's accepted attempts, starting at a number, as many
// as one command holds. It is empty unless the files are to be published or kept.
func (st *Cluster) FilesFrom(j *Job, from uint64) []*wire.CommittedFile {
	if j.Phase() != JobPublishing && !j.OutputCommit.Keeps() {
		return nil
	}
	at := j.filesAt
	if from < at.number {
		at = filesPlace{}
	}
	var list []*wire.CommittedFile
	left := st.step.Set.CommandBytes
	for ; at.bundle < len(j.Plan.Bundles); at.bundle, at.group = at.bundle+1, 0 {
		kept := j.Bundles[at.bundle].lastCommits
		for ; at.group < len(kept); at.group, at.index = at.group+1, 0 {
			files := kept[at.group].Report.Files
			if skip := min(from-at.number, uint64(len(files)-at.index)); skip > 0 {
				at.number, at.index = at.number+skip, at.index+int(skip)
			}
			for ; at.index < len(files); at.index++ {
				if left <= 0 {
					j.filesAt = at
					return list
				}
				f := files[at.index]
				list = append(list, f)
				left -= fileBytes + len(f.Temporary) + len(f.Name)
				at.number, from = at.number+1, from+1
			}
		}
	}
	return list
}

// FilesTotal returns how many files FilesFrom lists in all.
func (j *Job) FilesTotal() uint64 {
	if j.Phase() != JobPublishing && !j.OutputCommit.Keeps() {
		return 0
	}
	return uint64(j.Stats.Files())
}

// fileBytes is about the size of a file's entry in a message, without its texts.
const fileBytes = 32

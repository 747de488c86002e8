package state

import (
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/engine/core/internal/checkpoint"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// OutputCommit is how far a job's last group has come: the group that publishes the outputs, or
// cleans up after a job that failed or was killed. It decides what follows when that group fails.
// The zero value is that of a job whose last group has not started.
//
// All work of a job is done when it publishes, so publishing is retried for long, with growing
// waits. Once it was granted, outputs may exist under their names, and nothing that follows may
// assume that they don't. Parts that can't be published stay, for a person to publish them.
type OutputCommit struct {
	granted  bool // outputs may be there
	keep     bool // it failed for good: its parts stay
	survived bool // the manager restarted, and its log may have lost the grant
	tries    int  // that failed
	till     scheduler.Time
	why      string   // it waits until then
	kept     []string // folders with parts that stay, of a job that is over
}

// CommitLimits are the settings that it obeys.
type CommitLimits struct {
	Publish, Clean  int           // tries
	Failures        int           // of the group, before it was granted
	Losses          int           // likewise; one more ends it
	After, AfterMax time.Duration // until the next try, doubling to AfterMax
}

// FailedCommit is how a try ended that did not come to its end.
type FailedCommit struct {
	Failure  *wire.Failure // nil: it did not fail
	Lost     string        // why it was lost; "": it was not
	Failures int           // of the group so far, with this one
	Losses   int           // likewise
	// Elsewhere says that the failure may be that of its launcher, and another is to try.
	Elsewhere bool
}

// Counts says whether the try counts: it was not merely taken back.
func (e *FailedCommit) Counts() bool { return e.Failure != nil || e.Lost != "" }

func (e *FailedCommit) why() string {
	if e.Failure != nil {
		return e.Failure.Message
	}
	return e.Lost
}

// CommitAction is what is to be done.
type CommitAction uint8

const (
	RetryCommit      CommitAction = iota // the same once more, at once
	RetryCommitLater                     // the same, after Verdict.Wait
	FailJob                              // the job failed, and nothing of it is worth keeping
	FailKeepingParts                     // the job failed, and its parts stay
	LeaveTemporary                       // the job is over, and its temporary folders are left behind
)

// CommitVerdict is what follows on a try.
type CommitVerdict struct {
	Action CommitAction
	Why    string        // of Keep and LeaveTraces
	Wait   time.Duration // of Later
}

// Clean has it clean from now on.
func (p *OutputCommit) Clean() { p.tries = 0 }

// Next says what follows on a try, while the group cleans or publishes.
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
	case kind == wire.ErrorKind_ERROR_KIND_INVALID && !p.granted: // the parts do not fit together
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

// wait has it wait, ever longer.
func (p *OutputCommit) wait(now scheduler.Time, why string, l CommitLimits) time.Duration {
	wait := l.After << min(p.tries-1, 30)
	if wait <= 0 || wait > l.AfterMax {
		wait = l.AfterMax
	}
	p.till = now.Add(wait)
	p.why = fmt.Sprintf("publishing failed %d times, the last time: %s; it is tried again within %v, up to %d times", p.tries, why, wait, l.Publish)
	return wait
}

// Due says whether it waits for nothing more.
func (p *OutputCommit) Due(now scheduler.Time) bool { return now >= p.till }

// RetryReason is why it waits, or waited last; "" when it never did.
func (p *OutputCommit) RetryReason() string { return p.why }

// Grant notes that publishing was granted.
func (p *OutputCommit) Grant() { p.granted = true }

// SurviveRestart notes that the manager was restarted.
func (p *OutputCommit) SurviveRestart() { p.survived = true }

// MayBeThere says whether outputs may be there already.
func (p *OutputCommit) MayBeThere() bool { return p.granted || p.survived }

// KeepParts has the job's parts stay.
func (p *OutputCommit) KeepParts() { p.keep = true }

// Keeps says whether they do.
func (p *OutputCommit) Keeps() bool { return p.keep }

// KeepIn notes a folder in which parts stay.
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

// CodeSurvived codes whether it outlived a life of the manager.
func (p *OutputCommit) CodeSurvived(w *checkpoint.Codec) { checkpoint.Flag(w, &p.survived) }

// filesPlace is the place of a file among a job's bundles. It is kept because the next file that is
// asked for mostly follows it.
type filesPlace struct {
	number               uint64 // of the file, counted from 0
	bundle, group, index int
}

// FilesFrom lists the files that a job's accepted attempts wrote into its outputs, from a number on and
// as many as one command holds. It lists none unless they are to be published or kept.
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

// FilesTotal is how many files FilesFrom lists in all.
func (j *Job) FilesTotal() uint64 {
	if j.Phase() != JobPublishing && !j.OutputCommit.Keeps() {
		return 0
	}
	return uint64(j.Stats.Files())
}

// fileBytes is about what a file to publish takes in a message beside its texts.
const fileBytes = 32

package simulate

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/internal/atomicfile"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/workload"
)

// attemptsPerGroup bounds the rows that the writer of attempts holds in memory.
const attemptsPerGroup = 32 << 10

// attemptRow is a row of the file of --attempts. docs/SIMULATOR.md describes its columns.
type attemptRow struct {
	Policy        string            `parquet:"policy,dict"`
	Seed          uint64            `parquet:"seed"`
	Job           string            `parquet:"job,dict"`
	JobNumber     uint64            `parquet:"job_number"`
	User          string            `parquet:"user,dict"`
	Pool          string            `parquet:"pool,dict"`
	Class         string            `parquet:"class,dict"`
	Stage         string            `parquet:"stage,dict"`
	Task          int32             `parquet:"task"`
	Tasks         int32             `parquet:"tasks"`
	Bundle        uint64            `parquet:"bundle"`
	Group         int32             `parquet:"bundle_group"`
	BundleAttempt uint64            `parquet:"bundle_attempt"`
	Attempt       uint64            `parquet:"attempt"`
	Launcher      string            `parquet:"launcher,dict"`
	Speculative   bool              `parquet:"speculative"`
	Kind          string            `parquet:"kind,dict"`
	Slots         int32             `parquet:"slots"`
	Memory        int64             `parquet:"memory_bytes"`
	Resources     []attemptResource `parquet:"resources,list"`
	Ready         *float64          `parquet:"ready_s,optional"`
	Launched      float64           `parquet:"launched_s"`
	Started       *float64          `parquet:"started_s,optional"`
	Executing     *float64          `parquet:"executing_s,optional"`
	Ended         float64           `parquet:"ended_s"`
	Suspended     float64           `parquet:"suspended_s"`
	Outcome       string            `parquet:"outcome,dict"`
	Reason        string            `parquet:"reason,dict"`
	PreemptedFor  *string           `parquet:"preempted_for,optional,dict"`
	Locality      *string           `parquet:"locality,optional,dict"`
	ReadNode      int64             `parquet:"read_node_local_bytes"`
	ReadRack      int64             `parquet:"read_rack_local_bytes"`
	ReadRemote    int64             `parquet:"read_remote_bytes"`
	Shuffled      int64             `parquet:"shuffled_bytes"`
	Written       int64             `parquet:"written_bytes"`
}

// attemptResource is an amount of a countable resource.
type attemptResource struct {
	Kind  string `parquet:"kind,dict"`
	Count int32  `parquet:"count"`
}

// newAttemptRow is the row of an attempt of a run.
func newAttemptRow(policy string, seed uint64, w *workload.Workload, a *simulation.Attempt) attemptRow {
	j := &w.Jobs[a.Job]
	row := attemptRow{
		Policy: text(policy), Seed: seed, Job: text(j.ID), JobNumber: uint64(a.Number), User: text(j.User), Pool: text(j.Pool), Class: text(j.Class),
		Stage: text(j.Stages[a.Stage].Name), Task: int32(a.Task), Tasks: int32(a.Tasks), Bundle: uint64(a.Bundle), Group: int32(a.Group), //nolint:gosec // tasks are fewer than workload.TasksMax
		BundleAttempt: a.Run, Attempt: uint64(a.ID), Launcher: text(a.Launcher), Speculative: a.Speculative,
		Kind: text(a.Kind), Slots: int32(a.Slots), Memory: a.Memory, //nolint:gosec // slots are fewer than workload.SlotsMax
		Ready: known(a.Ready), Launched: a.Launched.Seconds(), Started: known(a.Started), Executing: known(a.Executing), Ended: a.Ended.Seconds(), Suspended: a.Suspended.Seconds(),
		Outcome: a.Outcome.String(), Reason: text(a.Reason),
		ReadNode: a.Read[0], ReadRack: a.Read[1], ReadRemote: a.Read[2], Shuffled: a.Shuffled, Written: a.Written,
	}
	for _, r := range a.Resources.Counts() {
		row.Resources = append(row.Resources, attemptResource{text(r.Kind), int32(r.Count)}) //nolint:gosec // counts are bounded by the cluster's check
	}
	if a.For >= 0 {
		row.PreemptedFor = new(string)
		*row.PreemptedFor = text(w.Jobs[a.For].ID)
	}
	if a.HasInput {
		row.Locality = new(string)
		*row.Locality = a.Near.String()
	}
	return row
}

// known is a time in seconds; nil: it was not reached.
func known(d time.Duration) *float64 {
	if d == simulation.Never {
		return nil
	}
	s := d.Seconds()
	return &s
}

// text is a text that readers of Parquet accept.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// attemptsFile writes the attempts of several runs, one run after the other.
type attemptsFile struct {
	rows *parquet.GenericWriter[attemptRow]

	mu     sync.Mutex
	turn   int           // the run that may write
	passed chan struct{} // is closed when the turn changes
	held   int           // rows of the row group
	most   int           // of these
}

// withAttempts calls do with the file of --attempts, which appears when do returns without an
// error; nil: none was asked for.
func (c *command) withAttempts(do func(*attemptsFile) error) error {
	if c.attempts == "" {
		return do(nil)
	}
	if info, err := os.Stat(c.attempts); err == nil && info.IsDir() {
		return client.Misuse("--attempts %s: it is a folder: name a file, such as %s", c.attempts, filepath.Join(c.attempts, "attempts.parquet"))
	}
	if err := os.MkdirAll(filepath.Dir(c.attempts), 0o755); err != nil {
		return fmt.Errorf("--attempts: %w", err)
	}
	return atomicfile.ReplaceBy(c.attempts, func(f *os.File) error {
		if err := f.Chmod(0o644); err != nil { // results are no secret
			return err
		}
		file := newAttemptsFile(f)
		if err := do(file); err != nil {
			return err
		}
		return file.rows.Close()
	})
}

func newAttemptsFile(w io.Writer) *attemptsFile {
	return &attemptsFile{
		rows:   parquet.NewGenericWriter[attemptRow](w, parquet.Compression(&parquet.Zstd)),
		passed: make(chan struct{}),
		most:   attemptsPerGroup,
	}
}

// attemptsOf collects the attempts of a run. Runs write in the order of their numbers, from 0.
type attemptsOf struct {
	file *attemptsFile
	run  int
	list []attemptRow
	err  error
}

// of collects the attempts of a run; nil: nobody asked for attempts.
func (f *attemptsFile) of(run int) *attemptsOf {
	if f == nil {
		return nil
	}
	return &attemptsOf{file: f, run: run}
}

// watch has the attempts of a run be collected.
func (a *attemptsOf) watch(policy string, o *simulation.Options) {
	if a == nil {
		return
	}
	w, seed := o.Workload, o.Cluster.Seed
	o.Attempts = func(one *simulation.Attempt) {
		a.list = append(a.list, newAttemptRow(policy, seed, w, one))
		if len(a.list) >= a.file.most {
			a.writeEarly()
		}
	}
}

// writeEarly writes the rows that are collected so far, if all earlier runs are written. A later call of
// write returns its error.
func (a *attemptsOf) writeEarly() {
	a.file.mu.Lock()
	defer a.file.mu.Unlock()
	if a.file.turn == a.run && a.err == nil {
		a.err = a.put()
	}
}

// put writes the collected rows.
func (a *attemptsOf) put() error {
	f := a.file
	for rows := a.list; len(rows) > 0; {
		n := min(len(rows), f.most-f.held)
		if _, err := f.rows.Write(rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
		if f.held += n; f.held == f.most {
			if err := f.rows.Flush(); err != nil {
				return err
			}
			f.held = 0
		}
	}
	clear(a.list)
	a.list = a.list[:0]
	return nil
}

// write writes the attempts when those of all runs before are written. So at most as many runs are
// in memory as are played at a time.
func (a *attemptsOf) write(ctx context.Context) error {
	if a == nil {
		return nil
	}
	f := a.file
	for {
		f.mu.Lock()
		if f.turn == a.run {
			break
		}
		passed := f.passed
		f.mu.Unlock()
		select {
		case <-passed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	defer f.mu.Unlock()
	if a.err == nil {
		a.err = a.put()
	}
	a.list = nil
	f.turn++
	close(f.passed)
	f.passed = make(chan struct{})
	return a.err
}

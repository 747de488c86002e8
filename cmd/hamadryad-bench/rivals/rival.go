// Package rivals runs Ray, Dask and Spark on the same work as this project, for hamadryad-bench. Each
// has a small program in Python in a folder beside this file.
//
//	ray, err := rivals.Prepare(ctx, "cmd/hamadryad-bench/rivals", rivals.Systems[0], os.Stderr)
//	rows, err := rivals.Compare(ctx, plan, ours, []rivals.Contender{ray})
//
// Prepare installs the pinned packages into an environment in the user's cache folder. A system that
// cannot be installed, that fails or whose output is wrong has no figure, and an error says why.
package rivals

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/internal/minihdfs/kit"
)

const (
	programMax = 15 * time.Minute // of one run of a rival's program
	stopMax    = 20 * time.Second // of a program that was asked to end
	// errorBytes of a program's output are in the error when it fails.
	errorBytes = 2 << 10
)

// System is another system that can be compared. Its folder has its program and its packages.
type System struct{ Name, Title string }

// Systems are all systems, in the order of the table.
var Systems = []System{{"ray", "Ray"}, {"dask", "Dask"}, {"spark", "Spark"}}

// Rival is an installed system. Close removes its scratch folder.
type Rival struct {
	system  System
	version string
	python  string
	source  string // folder with work.py and the systems' folders
	scratch string // its programs' home and folder of temporary files
}

// Prepare installs a system where it is missing, and asks its program for its version. Source is the
// folder of this package.
func Prepare(ctx context.Context, source string, s System, log io.Writer) (*Rival, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return nil, err
	}
	python, err := kit.Python(ctx, "rival-"+s.Name, os.DirFS(filepath.Join(source, s.Name)), log)
	if err != nil {
		return nil, err
	}
	return prepare(ctx, source, python, s)
}

func prepare(ctx context.Context, source, python string, s System) (*Rival, error) {
	// Ray has sockets in this folder: its name is short, since a socket's is bounded.
	scratch, err := os.MkdirTemp("", "rival")
	if err != nil {
		return nil, err
	}
	r := &Rival{s, "", python, source, scratch}
	got, err := r.run(ctx, "version")
	if err == nil && got.Version == "" {
		err = errors.New("its program does not tell its version")
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.version = got.Version
	return r, nil
}

// Close removes what the system's programs have left in their scratch folder.
func (r *Rival) Close() error { return os.RemoveAll(r.scratch) }

// Name is the system's short name.
func (r *Rival) Name() string { return r.system.Name }

// Title is the system's name and version.
func (r *Rival) Title() string { return r.system.Title + " " + r.version }

// Noop measures tasks that do nothing.
func (r *Rival) Noop(ctx context.Context, tasks int) (seconds float64, err error) {
	got, err := r.sums(ctx, tasks, "noop", strconv.Itoa(tasks))
	return got.Seconds, err
}

// Jobs measures small jobs of one program, one after another.
func (r *Rival) Jobs(ctx context.Context, jobs, tasks int) (seconds []float64, err error) {
	got, err := r.sums(ctx, tasks, "jobs", strconv.Itoa(jobs), strconv.Itoa(tasks))
	if err == nil && len(got.Times) != jobs {
		err = fmt.Errorf("its program has the times of %d jobs, not of %d", len(got.Times), jobs)
	}
	return got.Times, err
}

// Programs measures programs that each run one small job on a running cluster.
func (r *Rival) Programs(ctx context.Context, programs, tasks int) (seconds []float64, err error) {
	cluster, address, err := r.cluster(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cluster.Close()) }()
	for i := range programs + 1 {
		start := time.Now()
		if _, err := r.sums(ctx, tasks, "job", address, strconv.Itoa(tasks)); err != nil {
			return nil, err
		}
		if i > 0 { // the first one starts what the cluster keeps
			seconds = append(seconds, time.Since(start).Seconds())
		}
	}
	return seconds, nil
}

// WordCount counts the words of a file into a folder.
func (r *Rival) WordCount(ctx context.Context, in, out string) (Took, error) {
	return r.measureRun(ctx, "wordcount", in, out)
}

// Sort sorts the records of a file into a folder.
func (r *Rival) Sort(ctx context.Context, in, out string) (Took, error) {
	return r.measureRun(ctx, "sort", in, out)
}

func (r *Rival) measureRun(ctx context.Context, args ...string) (Took, error) {
	start := time.Now()
	got, err := r.run(ctx, args...)
	return Took{Whole: time.Since(start).Seconds(), Running: got.Seconds}, err
}

// result is what a program tells on its last line.
type result struct {
	Version string    `json:"version"`
	Address string    `json:"address"`
	Seconds float64   `json:"seconds"`
	Times   []float64 `json:"times"`
	Sum     int       `json:"sum"` // of the numbers of all tasks
}

// sums runs a program, and checks that each of so many tasks has returned its number.
func (r *Rival) sums(ctx context.Context, tasks int, args ...string) (result, error) {
	got, err := r.run(ctx, args...)
	if want := tasks * (tasks - 1) / 2; err == nil && got.Sum != want {
		err = fmt.Errorf("the tasks' results add up to %d, not to %d: they have not all run", got.Sum, want)
	}
	return got, err
}

// run runs a program of the system to its end.
func (r *Rival) run(ctx context.Context, args ...string) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, programMax)
	defer cancel()
	cmd := r.command(ctx, args...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	end(cmd)
	if err != nil {
		text := problems.Bytes()
		return result{}, fmt.Errorf("%s %s: %w\n%s", r.system.Title, strings.Join(args, " "), errors.Join(err, ctx.Err()), text[max(0, len(text)-errorBytes):])
	}
	return parse(out.String())
}

// parse reads a program's last line.
func parse(output string) (got result, err error) {
	output = strings.TrimRight(output, "\n")
	last := output[strings.LastIndex(output, "\n")+1:]
	if err := json.Unmarshal([]byte(last), &got); err != nil {
		return result{}, fmt.Errorf("its program's last line is no result: %q: %w", last[:min(len(last), errorBytes)], err)
	}
	return got, nil
}

// command is a program of the system, which nothing of the user's home reaches or changes.
func (r *Rival) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.python, append([]string{filepath.Join(r.source, r.system.Name, "rival.py")}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+r.source, "PYTHONDONTWRITEBYTECODE=1",
		"RIVAL_FOLDER="+r.scratch, "HOME="+r.scratch,
		"RAY_USAGE_STATS_ENABLED=0", "SPARK_LOCAL_IP=127.0.0.1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = stopMax
	return cmd
}

// end kills what a program has left running.
func end(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // mostly, nothing is left to kill
	}
}

package streaming

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// run runs a command to its end. The function in writes its input, and line gets each line of its
// output.
func (j *Job) run(t *mapreduce.Task, p program, input []setting, in func(io.Writer) error, line func([]byte) error) error {
	n := t.Node()
	r := reports{t: t, prefix: j.settings.reporter}
	c := job.Command{Args: p.command(j.files), Env: j.environment(n.Info(), input), Quiet: j.settings.quiet}
	err := n.Run(t.Context(), c, job.Pipes{
		In:  in,
		Out: func(from io.Reader) error { return eachLine(from, lineMax, line) },
		Err: r.line,
	})
	var exit *exec.ExitError
	if errors.As(err, &exit) && j.settings.failureIsIgnored {
		n.Log().Warn("The command failed, which does not count (stream.non.zero.exit.is.failure)", "command", p.words[0], "error", err)
		err = nil
	}
	select {
	case <-n.Stopping():
		// The command may have taken the signal for the end of its input.
		return errors.Join(errors.New("the task was asked to stop before its command had ended"), err)
	default:
	}
	if err == nil {
		err = t.Context().Err()
	}
	if err == nil {
		err = r.err
	}
	return err
}

// environment returns the variables that are added to the worker's environment for a command. Later
// ones win: the command line's settings, the task's, then -cmdenv.
func (j *Job) environment(info job.Info, input []setting) []string {
	var c configuration
	for _, list := range [][]setting{j.constants(), j.conf, taskSettings(info), input} {
		for _, s := range list {
			_ = c.set(s.name, s.value) // Parse has accepted only valid settings
		}
	}
	return append(c.environment(), j.env...)
}

// taskSettings describe the task to a command. Scripts parse Hadoop's ids of jobs and tasks, so
// ours have the same form.
func taskSettings(info job.Info) []setting {
	letter := "m"
	if info.Stage == "reduce" {
		letter = "r"
	}
	_, number, _ := strings.Cut(info.Job, "-")
	id, _ := strconv.ParseUint(number, 10, 64) // 0 for a job id of another form
	task := fmt.Sprintf("0_%04d_%s_%06d", id, letter, info.Index)
	c := []setting{
		{"mapreduce.job.id", info.Job},
		{"mapreduce.task.id", "task_" + task},
		{"mapreduce.task.attempt.id", fmt.Sprintf("attempt_%s_%d", task, info.Attempt)},
		{"mapreduce.task.partition", strconv.Itoa(info.Index)},
		{"mapreduce.task.ismap", strconv.FormatBool(letter == "m")},
	}
	if letter == "m" {
		c = append(c, setting{"mapreduce.job.maps", strconv.Itoa(info.Nodes)})
	}
	return c
}

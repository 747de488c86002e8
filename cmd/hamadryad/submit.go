package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/commandarray"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// arrayFlags are flags of programs (package app) that submit takes for a job array of a command.
var arrayFlags = []struct{ name, usage string }{
	{"after", "`JOB[:ok|any]` that has to end before the array starts; may be repeated"},
	{"attempts", "`N` times that each element may be tried; left out: as often as the site says"},
	{"deadline", "`TIME` by which the array should be over, such as 2026-11-30T08:00Z, or 6h from now"},
	{"env", "`NAME[=VALUE]` of an environment variable for the command; may be repeated"},
	{"expect", "`array=DURATION` that each element is expected to run, such as array=25s"},
	{"memory", "`SIZE` that each element may use, such as 1GiB"},
	{"name", "`NAME` of the job for people"},
	{"pool", "`POOL` (or queue) of the scheduling policy"},
	{"priority", "`PRIORITY` of the job, a number; larger is more urgent"},
	{"property", "`NAME=VALUE` for the scheduling policy; may be repeated"},
	{"resources", "`KIND:COUNT` of countable resources that each element takes, such as gpu:1"},
	{"slots", "`array=KIND` of slots that the elements take, such as array=fast"},
	{"time-limit", "`DURATION` that the array may run, such as 2h"},
}

// Flags of submit that are no flags of programs.
const (
	arrayFlag  = "array"
	outputFlag = "output"
	filesFlag  = "files"
	quietFlag  = "quiet"
)

func (c *cli) submitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "submit PROGRAM ARGS...",
		Short: "Run a program that submits jobs, or a command as a job array",
		Long: `Runs PROGRAM with HAMADRYAD_MANAGER set to the manager's address. The program is
the job: it submits itself, follows the job and prints its results.

With --array, PROGRAM is any command. It runs on the launchers' machines, once for each
index, as an element of one job. HAMADRYAD_ELEMENT has the index, as SLURM_ARRAY_TASK_ID of
Slurm. Each run has a folder of its own that is empty and removed afterwards. A command
that is written as a relative path, such as ./run.sh, is copied there; --files names more
files. What an element prints is in its log, "hamadryad logs 'job-12[7]'", or with --output
in the file element-7 of that folder. An element fails when its command's exit code is not
0. It is tried again as --attempts says; then it is given up, and the others go on. The
folder has the others' files then. "hamadryad retry" runs elements again while the job runs.`,
		Example: `  hamadryad --manager 10.0.0.1:7070 submit ./wordcount /data/texts /data/out
  hamadryad submit --array 0-99 --output out ./simulate.sh --steps 1000
  hamadryad submit --array 0-99:5%10 --pool research --memory 2GiB python3 /data/fit.py`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed(arrayFlag) {
				return c.submitArray(cmd.Flags(), args)
			}
			var alone error
			cmd.Flags().Visit(func(f *pflag.Flag) {
				if cmd.InheritedFlags().Lookup(f.Name) == nil {
					alone = errors.Join(alone, client.Misuse("--%s is for a command with --array; a program's own flags stand behind the program", f.Name))
				}
			})
			if alone != nil {
				return alone
			}
			path, err := exec.LookPath(args[0])
			if err != nil {
				return client.Misuse("%w: name an executable file, such as ./%s", err, args[0])
			}
			env, err := c.ofPrograms()
			if err != nil {
				return err
			}
			return syscall.Exec(path, args, env)
		},
	}
	cmd.Flags().SetInterspersed(false) // flags behind the program are the program's
	cmd.Flags().String(arrayFlag, "", "run the command once for each of `INDICES`: 0-99, each fifth (0-99:5), or a list (1,3,7-9); 0-99%10 runs at most 10 at once")
	cmd.Flags().String(outputFlag, "", "`FOLDER` (path or URL) with a file of what each element printed, such as element-7; it appears when all have ended")
	cmd.Flags().StringArray(filesFlag, nil, "`FILE` that is copied to the command's folder; may be repeated")
	cmd.Flags().Bool(quietFlag, false, "print nothing but errors")
	cmd.Flags().Bool("no-speculation", false, "never run a second attempt of a slow element beside the first")
	cmd.Flags().Bool("fail-at-deadline", false, "the array fails at its deadline")
	for _, f := range arrayFlags {
		cmd.Flags().StringArray(f.name, nil, f.usage)
	}
	return cmd
}

// submitArray continues this process as the program of a job array.
func (c *cli) submitArray(flags *pflag.FlagSet, command []string) error {
	indices, _ := flags.GetString(arrayFlag)
	if _, err := job.ParseElements(indices); err != nil {
		return client.Misuse("--array: %w", err)
	}
	env, err := c.ofPrograms()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program's own file: %w", err)
	}
	args := []string{self, commandArrayWord}
	if !flags.Changed("name") {
		args = append(args, "--name="+filepath.Base(command[0]))
	}
	args = append(args, arrayArguments(flags)...)
	return syscall.Exec(self, append(args, command...), env)
}

// arrayArguments are the arguments of package commandarray before the command.
func arrayArguments(flags *pflag.FlagSet) []string {
	var engine, builder []string
	flags.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, is := f.Value.(pflag.SliceValue); is {
			values = list.GetSlice()
		}
		for _, v := range values {
			switch {
			case f.Name == outputFlag:
				builder = append(builder, "--output="+v)
			case f.Name == filesFlag:
				builder = append(builder, "--file="+v)
			case f.Name == arrayFlag, f.Value.Type() == "bool", slices.ContainsFunc(arrayFlags, func(a struct{ name, usage string }) bool { return a.name == f.Name }):
				engine = append(engine, "--"+f.Name+"="+v)
			}
		}
	})
	return slices.Concat(engine, []string{"--"}, builder, []string{"--"})
}

// commandArrayWord is the first argument of a process that is the program of a job array.
const commandArrayWord = "command-array"

// beCommandArray does the work of such a process, or of a worker of the job, and then does not
// return.
func beCommandArray() {
	commandarray.Worker()
	if len(os.Args) > 1 && os.Args[1] == commandArrayWord {
		commandarray.Main("hamadryad submit", os.Args[2:])
	}
}

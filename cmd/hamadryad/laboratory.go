package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/engine/client"
)

// laboratoryProgram runs the commands of the laboratory. It is a program of its own: with it, the
// manager's program would have a sixth more to load, mostly for columns of Parquet.
const laboratoryProgram = "hamadryad-laboratory"

// laboratory is a command that laboratoryProgram runs in place of this process.
func laboratory(use, short string) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if name := managersFlag(cmd, args); name != "" {
				return client.Misuse("%s says which manager to ask, or who asks, and %q asks none: leave it out", name, cmd.CommandPath())
			}
			return becomeLaboratory(cmd, args)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			return laboratoryCompletions(cmd, append(args, begun))
		},
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if err := becomeLaboratory(cmd, []string{"--help"}); err != nil {
			cmd.PrintErrln(err)
		}
	})
	return cmd
}

// managersFlag is the first word of a command of the laboratory, if it is a flag of all commands that ask
// a manager; "": it is none. Flags in front of the command come first.
func managersFlag(cmd *cobra.Command, args []string) string {
	if len(args) == 0 {
		return ""
	}
	word, _, _ := strings.Cut(args[0], "=")
	name, long := strings.CutPrefix(word, "--")
	if f := cmd.Root().PersistentFlags().Lookup(name); !long || f == nil {
		return ""
	}
	return word
}

// becomeLaboratory replaces this process. It returns why it could not.
func becomeLaboratory(cmd *cobra.Command, args []string) error {
	path, err := laboratoryPath()
	if err != nil {
		return err
	}
	standardError.Flush(lastLinesMax)
	if err := syscall.Exec(path, append([]string{laboratoryProgram}, laboratoryWords(cmd, args)...), os.Environ()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// laboratoryWords are the words of a command line behind the program's name.
func laboratoryWords(cmd *cobra.Command, args []string) []string {
	return append(strings.Fields(cmd.CommandPath())[1:], args...)
}

// laboratoryPath finds the program beside this one, or where programs are.
func laboratoryPath() (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", err
	}
	if own, err = filepath.EvalSymlinks(own); err != nil {
		return "", err
	}
	beside := filepath.Join(filepath.Dir(own), laboratoryProgram)
	_, err = os.Stat(beside)
	if !errors.Is(err, fs.ErrNotExist) {
		return beside, err
	}
	path, err := exec.LookPath(laboratoryProgram)
	if err != nil {
		return "", &client.ExitError{Code: client.ExitOther, Err: fmt.Errorf("the program %s, which plays workloads, is neither in %s nor in a folder of $PATH: install it beside this one", laboratoryProgram, filepath.Dir(own))}
	}
	return path, nil
}

// laboratoryCompletions are the completions that the program has for a command line.
func laboratoryCompletions(cmd *cobra.Command, words []string) ([]string, cobra.ShellCompDirective) {
	path, err := laboratoryPath()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var out bytes.Buffer
	complete := exec.CommandContext(cmd.Context(), path, append([]string{cobra.ShellCompRequestCmd}, laboratoryWords(cmd, words)...)...)
	complete.Stdout = &out
	if err := complete.Run(); err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	var directive cobra.ShellCompDirective
	if _, err := fmt.Sscanf(lines[len(lines)-1], ":%d", &directive); err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return lines[:len(lines)-1], directive
}

// Package usage reports wrong calls of commands: the missing or superfluous argument, and the
// command's usage. It does so for all commands, in place of the library's messages.
package usage

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/internal/suggest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Error is a mistake in how a command was called.
type Error struct {
	cmd *cobra.Command
	why error
}

// newError is a mistake in how a command was called; it ends with client.ExitUsage.
func newError(cmd *cobra.Command, why error) *Error {
	return &Error{cmd, &client.ExitError{Code: client.ExitUsage, Err: why}}
}

// Error is the mistake, with the usage line.
func (u *Error) Error() string {
	line := u.cmd.UseLine()
	if !u.cmd.Runnable() {
		line = u.cmd.CommandPath() + " COMMAND"
	}
	return fmt.Sprintf("%v\nusage: %s\n%q tells more", u.why, line, u.cmd.CommandPath()+" --help")
}

func (u *Error) Unwrap() error { return u.why }

// ofLibrary are errors about arguments in the words of the library.
var ofLibrary = regexp.MustCompile(`^(accepts|requires|unknown command)\b`)

// Prepare makes a command and its subcommands report mistakes in flags and arguments in plain words.
func Prepare(root *cobra.Command) {
	root.SetFlagErrorFunc(inFlags)
	prepareArguments(root)
}

func prepareArguments(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		prepareArguments(below)
	}
	judge := cmd.Args
	if judge == nil || !cmd.Runnable() {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := judge(cmd, args)
		if err == nil {
			return nil
		}
		if ofLibrary.MatchString(err.Error()) {
			err = inArguments(cmd, args)
		}
		return newError(cmd, err)
	}
}

// inArguments returns a command's missing or superfluous argument.
func inArguments(cmd *cobra.Command, args []string) error {
	takes := Arguments(cmd.Use)
	if len(args) < len(takes) && !strings.HasPrefix(takes[len(args)], "[") {
		return fmt.Errorf("%s is missing", strings.TrimSuffix(takes[len(args)], "..."))
	}
	extra := args[min(len(takes), len(args)-1)]
	if cmd.HasAvailableSubCommands() && len(takes) == 0 {
		return UnknownBelow(cmd, extra)
	}
	if len(takes) == 0 {
		return fmt.Errorf("%q is too much: the command takes flags alone", extra)
	}
	return fmt.Errorf("%q is too much: the command takes %s alone", extra, strings.Join(takes, " "))
}

// Arguments are a command's arguments besides flags, as in its usage line: FILE, [FILE], JOB...
func Arguments(use string) (names []string) {
	first, _, _ := strings.Cut(use, "\n")
	words := strings.Fields(first)[1:]
	for i := 0; i < len(words); i++ {
		switch {
		case strings.HasPrefix(words[i], "--"):
			i++ // its value
		case words[i] != "[flags]":
			names = append(names, words[i])
		}
	}
	return names
}

// UnknownBelow is the error of a name that no subcommand has.
func UnknownBelow(cmd *cobra.Command, name string) error {
	var there []string
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			there = append(there, below.Name())
		}
	}
	hint := suggest.Hint(name, there)
	if hint == "" {
		hint = "; there are " + strings.Join(there, ", ")
	}
	return fmt.Errorf("%q has no command %q%s", cmd.CommandPath(), name, hint)
}

// UnknownCommand returns an error for words that name a command with subcommands, followed by an unknown
// one: the library would show its help without an error.
func UnknownCommand(root *cobra.Command, words []string) error {
	cmd, rest, err := root.Find(words)
	if err != nil || cmd == root || cmd.Runnable() || !cmd.HasAvailableSubCommands() {
		return nil // the library reports it
	}
	if cmd.ParseFlags(rest) != nil || cmd.Flags().NArg() == 0 { // it also reports errors in flags, and help
		return nil
	}
	return newError(cmd, UnknownBelow(cmd, cmd.Flags().Arg(0)))
}

// inFlags describes a mistake in a command's flags.
func inFlags(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var empty *pflag.ValueRequiredError
	var wrong *pflag.InvalidValueError
	var syntax *pflag.InvalidSyntaxError
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return err
	case errors.As(err, &unknown):
		err = unknownFlag(cmd, unknown)
	case errors.As(err, &empty):
		err = fmt.Errorf("--%s needs a value behind it: %s", empty.GetFlag().Name, ValueKind(empty.GetFlag()))
	case errors.As(err, &wrong):
		err = fmt.Errorf("--%s takes %s, and not %q", wrong.GetFlag().Name, ValueKind(wrong.GetFlag()), wrong.GetValue())
	case errors.As(err, &syntax):
		err = fmt.Errorf("%q is no flag: write --NAME, or --NAME=VALUE", syntax.GetSpecifiedFlag())
	}
	return newError(cmd, err)
}

// renamed maps old commands and flags to their new names.
var renamed = map[string]string{
	"launcher":     "hamadryad serve launcher",
	"manager":      "hamadryad serve manager",
	"log":          "hamadryad event-log",
	"drain --end":  "hamadryad undrain LAUNCHER",
	"audit --json": "-o json",
}

func unknownFlag(cmd *cobra.Command, unknown *pflag.NotExistError) error {
	if now, ok := renamed[cmd.Name()+" --"+unknown.GetSpecifiedName()]; ok {
		return fmt.Errorf("there is no flag --%s any more: use %q", unknown.GetSpecifiedName(), now)
	}
	if short := unknown.GetSpecifiedShortnames(); short != "" {
		return fmt.Errorf("there is no flag -%s here", unknown.GetSpecifiedName())
	}
	var there []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { there = append(there, "--"+f.Name) })
	name := "--" + unknown.GetSpecifiedName()
	return fmt.Errorf("there is no flag %s here%s", name, suggest.Hint(name, there))
}

// kinds are the types of flags as people call them.
var kinds = map[string]string{
	"bool": "true or false", "int": "a whole number", "int64": "a whole number", "uint": "a whole number", "uint64": "a whole number", "int32": "a whole number", "uint32": "a whole number",
	"float64": "a number", "duration": "a time with its unit, such as 500ms, 30s or 5m",
}

// ValueKind is the kind of a flag's value, as people call it.
func ValueKind(f *pflag.Flag) string {
	if kind := kinds[f.Value.Type()]; kind != "" {
		return kind
	}
	if name, _ := pflag.UnquoteUsage(f); name != "string" {
		return name
	}
	return "text"
}

// Errors of the library without a type: an unknown command, missing required flags.
var unknownCommand = regexp.MustCompile(`^unknown command "([^"]*)"`)

var missingFlags = regexp.MustCompile(`^required flag\(s\) (.+) not set$`)

// InWords rewrites the library's errors about a command's call in plain words.
func InWords(cmd *cobra.Command, err error) error {
	if m := missingFlags.FindStringSubmatch(err.Error()); m != nil {
		return newError(cmd, fmt.Errorf("--%s is missing", strings.ReplaceAll(strings.ReplaceAll(m[1], `", "`, " and --"), `"`, "")))
	}
	m := unknownCommand.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	if now, ok := renamed[m[1]]; ok {
		return client.Misuse("there is no command %q any more: use %q", m[1], now)
	}
	return client.Misuse("%w", err)
}

// PrintError prints a command's error, unless the command has printed it.
func PrintError(to io.Writer, err error) {
	var exit *client.ExitError
	switch {
	case err == nil, errors.As(err, &exit) && exit.Err == nil:
	case client.ExitCodeOf(err) == client.ExitInterrupted:
		fmt.Fprintln(to, "hamadryad: interrupted")
	default:
		fmt.Fprintln(to, "hamadryad:", scheduler.PrintableText(err.Error()))
	}
}

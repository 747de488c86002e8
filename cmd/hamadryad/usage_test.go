package main

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hamadryad/hamadryad/cmd/hamadryad-laboratory/simulate"
	"github.com/hamadryad/hamadryad/cmd/hamadryad-laboratory/workloads"
	"github.com/hamadryad/hamadryad/cmd/internal/usage"
)

// parsedTypes are the types of flags whose values are parsed.
var parsedTypes = []string{"bool", "int", "int64", "uint", "uint64", "int32", "uint32", "float64", "duration"}

// wholeRoot has all commands, with those of hamadryad-laboratory in the place of those that call it.
func wholeRoot() *cobra.Command {
	root := (&cli{}).root()
	replace := func(in *cobra.Command, commands ...*cobra.Command) {
		for _, c := range commands {
			old, _, err := in.Find([]string{c.Name()})
			if err != nil {
				panic(err)
			}
			in.RemoveCommand(old)
		}
		in.AddCommand(commands...)
	}
	replace(root, simulate.Command(os.Stdout, os.Stderr), workloads.Command(os.Stdout))
	policy, _, err := root.Find([]string{"policy"})
	if err != nil {
		panic(err)
	}
	replace(policy, simulate.PolicyTestCommand(os.Stdout, os.Stderr))
	usage.Prepare(root)
	return root
}

// everyCommand calls do with each command that can be called.
func everyCommand(cmd *cobra.Command, do func(*cobra.Command)) {
	if cmd.Runnable() {
		do(cmd)
	}
	for _, below := range cmd.Commands() {
		everyCommand(below, do)
	}
}

// told fails unless an error is about how a command was called, names something, shows how it is called, and is
// in no developer's words.
func told(t *testing.T, cmd *cobra.Command, err error, names string) {
	t.Helper()
	var wrong *usage.Error
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), names) || !strings.Contains(err.Error(), "\nusage: "+cmd.CommandPath()) {
		t.Errorf("%s: %v, which is to name %q", cmd.CommandPath(), err, names)
		return
	}
	for _, word := range []string{"arg(s)", "argument", "strconv", "invalid", "parsing", "syntax", "unknown", "not set"} {
		if strings.Contains(err.Error(), word) {
			t.Errorf("%s says %q: %v", cmd.CommandPath(), word, err)
		}
	}
}

// The error of each command names the missing or surplus argument.
func TestArgumentsAreToldInWords(t *testing.T) {
	missing, extra := 0, 0
	everyCommand(wholeRoot(), func(cmd *cobra.Command) {
		takes := usage.Arguments(cmd.Use)
		if cmd.Args == nil || cmd.Name() == "local" { // its arguments are those of a program
			return
		}
		if len(takes) > 0 && !strings.HasPrefix(takes[0], "[") {
			missing++
			told(t, cmd, cmd.ValidateArgs(nil), strings.TrimSuffix(takes[0], "..."))
		}
		if !slices.ContainsFunc(takes, func(a string) bool { return strings.HasSuffix(a, "...") || strings.HasSuffix(a, "...]") }) {
			extra++
			told(t, cmd, cmd.ValidateArgs(append(slices.Repeat([]string{"x"}, len(takes)), "surplus")), "")
		}
	})
	if missing < 12 || extra < 20 {
		t.Errorf("only %d and %d commands were asked", missing, extra)
	}
}

// Each flag's usage says what value it takes.
func TestFlagsAreToldInWords(t *testing.T) {
	asked := 0
	everyCommand(wholeRoot(), func(cmd *cobra.Command) {
		if cmd.DisableFlagParsing { // its words are another program's
			return
		}
		fails := func(names string, words ...string) {
			t.Helper()
			err := cmd.ParseFlags(words)
			if err == nil {
				t.Errorf("%s takes %q", cmd.CommandPath(), words)
				return
			}
			told(t, cmd, cmd.FlagErrorFunc()(cmd, err), names)
		}
		fails("there is no flag --no-such-thing", "--no-such-thing")
		fails("is no flag", "--=x")
		cmd.InheritedFlags() // which gathers all
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.NoOptDefVal == "" {
				fails("--"+f.Name+" needs a value", "--"+f.Name)
			}
			if slices.Contains(parsedTypes, f.Value.Type()) {
				asked++
				fails("--"+f.Name+" takes "+usage.ValueKind(f)+", and not \"odd\"", "--"+f.Name+"=odd")
			}
		})
	})
	if asked < 20 {
		t.Errorf("only %d flags were asked", asked)
	}
}

// An unknown word is an error below another command, too, wherever flags are.
func TestWordsThatAreNoCommand(t *testing.T) {
	for words, want := range map[string]string{
		"config aply new.yaml":                  `"hamadryad config" has no command "aply"; did you mean apply?`,
		"--manager config config --user x aply": `has no command "aply"`,
		"ca":                                    "", "config --manager x": "", "config --help": "", "config apply": "", "jobs x": "",
	} {
		err := usage.UnknownCommand(wholeRoot(), strings.Fields(words))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", words, err)
		}
	}
}

package app

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// A flag that a program declares is the program's. The engine's flag of the same name then has
// another name, which help shows.
func TestAProgramsFlagsComeFirst(t *testing.T) {
	const variable = "TEST_OF_A_FLAG"
	t.Setenv(variable, "")
	succeeded := &fake{end: statusOf(wire.JobState_JOB_STATE_SUCCEEDED)}
	declare := func(names ...string) *flag.FlagSet {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		for _, name := range names {
			flags.String(name, "", "the program's `WORD`")
		}
		return flags
	}
	flags := declare("env", "name")
	code, text := run(t, t.Context(), succeeded, program{defs: definitions("one"), flags: flags},
		"--env", "production", "--name", "own", "--hamadryad-env", variable+"=1", "--hamadryad-name", "shown", "x")
	if code != ExitDone || flags.Lookup("env").Value.String() != "production" || flags.Lookup("name").Value.String() != "own" {
		t.Errorf("code %d\n%s", code, text)
	}
	if os.Getenv(variable) != "1" || succeeded.spec.Name != "shown" {
		t.Errorf("the engine's own flags gave %q and %q", os.Getenv(variable), succeeded.spec.Name)
	}
	if code, text = run(t, t.Context(), succeeded, program{defs: definitions("one"), flags: declare("env", "name")}, "--help"); code != ExitDone ||
		!strings.Contains(text, "-hamadryad-env NAME[=VALUE]") || !strings.Contains(text, "The flags -env, -name are the program's own") {
		t.Errorf("help says\n%s", text)
	}
	if _, text = run(t, t.Context(), succeeded, program{defs: definitions("one"), flags: declare("env")}, "--hamadryad-env", "NOBODY_HAS_THIS", "x"); !strings.Contains(text, "write --hamadryad-env NOBODY_HAS_THIS=VALUE") {
		t.Errorf("a wrong variable is told by\n%s", text)
	}
	code, text = run(t, t.Context(), succeeded, program{defs: definitions("one"), flags: declare("env", "hamadryad-env")}, "x")
	if code != ExitUsage || !strings.Contains(text, "declares the flags -env and -hamadryad-env") {
		t.Errorf("with both names taken: code %d\n%s", code, text)
	}
	if _, text = run(t, t.Context(), succeeded, program{defs: definitions("one")}, "--help"); strings.Contains(text, "hamadryad-") && strings.Contains(text, "program's own") {
		t.Errorf("without such flags help says\n%s", text)
	}
}

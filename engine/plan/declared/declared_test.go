package declared

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// list is a value that accumulates; its text can't be set again.
type list []string

func (l *list) String() string     { return fmt.Sprint(len(*l)) }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

// flags are a program's flags, as each of its processes declares them.
type flags struct {
	set   *flag.FlagSet
	n     *int
	on    *bool
	long  *time.Duration
	words list
	calls []string
}

func newFlags() *flags {
	f := &flags{set: flag.NewFlagSet("program", flag.ContinueOnError)}
	f.set.SetOutput(io.Discard)
	f.n, f.on, f.long = f.set.Int("n", 3, "a number"), f.set.Bool("on", false, ""), f.set.Duration("long", time.Second, "")
	f.set.Var(&f.words, "word", "")
	f.set.Func("call", "", func(s string) error { f.calls = append(f.calls, s); return nil })
	return f
}

// Values given on the command line, and changes by the program itself, are the same in a worker.
func TestFlagsTravel(t *testing.T) {
	here, there := newFlags(), newFlags()
	watch := Watch(here.set)
	here.set.String("engine", "", "")
	if err := watch.Parse([]string{"-on", "-word", "a", "-call=x", "-word", "b", "-n", "7", "-engine", "e", "in", "out"}); err != nil {
		t.Fatal(err)
	}
	*here.long = time.Hour
	settings, err := watch.Settings()
	if err != nil {
		t.Fatal(err)
	}
	if err := Apply(there.set, settings, here.set.Args()); err != nil {
		t.Fatal(err)
	}
	if *there.n != 7 || !*there.on || *there.long != time.Hour || !slices.Equal(there.words, list{"a", "b"}) || !slices.Equal(there.calls, []string{"x"}) {
		t.Errorf("a worker has %d, %v, %v, %v, %v", *there.n, *there.on, *there.long, there.words, there.calls)
	}
	if !slices.Equal(there.set.Args(), []string{"in", "out"}) || !there.set.Parsed() {
		t.Errorf("a worker's arguments are %q", there.set.Args())
	}
}

// Values given by an earlier Parse travel, too.
func TestFlagsThatWereParsedBefore(t *testing.T) {
	here := newFlags()
	if err := here.set.Parse([]string{"-n", "8"}); err != nil {
		t.Fatal(err)
	}
	settings, err := Watch(here.set).Settings()
	if err != nil || !slices.Equal(settings, []Setting{{"n", "8"}}) {
		t.Errorf("%v, %v", settings, err)
	}
}

// Values that have no usable text are refused. The error of a worker without a flag names the flag.
func TestFlagsThatCannotTravel(t *testing.T) {
	here := newFlags()
	watch := Watch(here.set)
	here.words = list{"x"}
	if _, err := watch.Settings(); err == nil || !strings.Contains(err.Error(), "flag -word") {
		t.Error(err)
	}
	none := flag.NewFlagSet("", flag.ContinueOnError)
	if err := Apply(none, []Setting{{"n", "8"}}, nil); err == nil || !strings.Contains(err.Error(), "the flag -n was given") {
		t.Error(err)
	}
	if err := Apply(newFlags().set, []Setting{{"n", "many"}}, nil); err == nil || !strings.Contains(err.Error(), `-n was "many"`) {
		t.Error(err)
	}
}

// Help shows the flags as they were declared.
func TestHelpIsAsDeclared(t *testing.T) {
	help := func(parse func(*flag.FlagSet) error) string {
		f := newFlags()
		var out bytes.Buffer
		f.set.SetOutput(&out)
		f.set.Usage = f.set.PrintDefaults
		if err := parse(f.set); !errors.Is(err, flag.ErrHelp) {
			t.Error(err)
		}
		return out.String()
	}
	want := help(func(s *flag.FlagSet) error { return s.Parse([]string{"-h"}) })
	if got := help(func(s *flag.FlagSet) error { return Watch(s).Parse([]string{"-h"}) }); got != want || want == "" {
		t.Errorf("help is\n%s\nin place of\n%s", got, want)
	}
}

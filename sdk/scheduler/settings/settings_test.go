package settings

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

type sample struct {
	Wait time.Duration `yaml:"wait"`
	Max  int           `yaml:"max"`
}

func TestDecodeNamesLines(t *testing.T) {
	for _, c := range []struct {
		text string
		want scheduler.Problems
	}{
		{"", nil},
		{"# nothing\n", nil},
		{"wait: 3s\nmax: 2\n", nil},
		{"wait: 3s\nmux: 2\n", scheduler.Problems{{File: "site.yaml", Line: 12, Message: `unknown setting "mux": correct its name or remove it; did you mean max?`}}},
		{"max: 2\n---\nmax: 3\n", scheduler.Problems{{File: "site.yaml", Line: 12, Message: "a second document begins here: there is to be one"}}},
		{"max: 2\n...\n", nil},
		{"max: many\n", scheduler.Problems{{File: "site.yaml", Line: 11, Message: "cannot unmarshal !!str `many` into int"}}},
	} {
		err := Decode(scheduler.Config{File: "site.yaml", Line: 11, Text: []byte(c.text)}, &sample{})
		var got scheduler.Problems
		errors.As(err, &got)
		if !reflect.DeepEqual(got, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%q: got %v, want %v", c.text, err, c.want)
		}
	}
	if err := Decode(scheduler.Config{Text: []byte("a: [")}, &sample{}); err == nil {
		t.Error("broken YAML is accepted")
	}
}

func TestAtFindsTheKey(t *testing.T) {
	p := At(scheduler.Config{File: "f", Line: 5, Text: []byte("wait: 1s\nmax: -2\n")}, "max", "must not be negative")
	if want := (scheduler.Problem{File: "f", Line: 6, Message: "max: must not be negative"}); p != want {
		t.Errorf("got %+v, want %+v", p, want)
	}
}

// An error of any kind rejects a version; no error accepts it.
func TestVerdict(t *testing.T) {
	s := scheduler.SettingChanged{Version: 7, Config: scheduler.Config{File: "f"}}
	problems := scheduler.Problems{{File: "f", Line: 3, Message: "wrong"}, {File: "f", Line: 4, Message: "worse"}}
	for _, test := range []struct {
		err  error
		want []scheduler.Problem
	}{
		{nil, nil},
		{problems, problems},
		{fmt.Errorf("settings: %w", problems), problems},
		{errors.New("no such file"), scheduler.Problems{{File: "f", Message: "no such file"}}},
		{scheduler.Problems{}, scheduler.Problems{{File: "f", Message: scheduler.Problems{}.Error()}}},
	} {
		v := Verdict(s, test.err)
		if v.Version != 7 || !reflect.DeepEqual(v.Problems, test.want) {
			t.Errorf("%v: %+v, want %+v", test.err, v, test.want)
		}
	}
}

// TestChecks: each problem has the line of its key, and without problems there is no error.
func TestChecks(t *testing.T) {
	checks := Checks{Config: scheduler.Config{File: "site.yaml", Line: 3, Text: []byte("mode: fast\ncollect-after: -1s\n")}}
	checks.Choice("mode", "slow", "slow", "fast")
	checks.CollectAfter(0)
	if err := checks.Err(); err != nil {
		t.Errorf("got %v for settings that are right", err)
	}
	checks.Choice("mode", "fast", "slow", "soft")
	checks.CollectAfter(-time.Second)
	want := scheduler.Problems{
		{File: "site.yaml", Line: 3, Message: `mode: "fast" is unknown: use one of slow, soft`},
		{File: "site.yaml", Line: 4, Message: "collect-after: must not be negative; 0s lets smaller work pass for ever"},
	}
	if got := checks.Err(); !reflect.DeepEqual(got, error(want)) {
		t.Errorf("got %v, want %v", got, want)
	}
}

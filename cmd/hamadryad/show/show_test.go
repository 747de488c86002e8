package show

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// A name given by another user stays in one cell of a table, and controls no terminal; programs get
// it unchanged.
func TestNamesKeepToTheirCell(t *testing.T) {
	jobs := []*wire.JobSummary{{Job: 7, Name: "two\nlines\t\x1b[31m", State: wire.JobState_JOB_STATE_RUNNING}}
	var out strings.Builder
	if err := (&Printer{Out: &out, Format: "table"}).Jobs(jobs, ""); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Count(text, "\n") != 2 || strings.Contains(text, "\x1b") || !strings.Contains(text, "job-7") {
		t.Errorf("%q", text)
	}
	out.Reset()
	if err := (&Printer{Out: &out, Format: "json"}).Jobs(jobs, ""); err != nil {
		t.Fatal(err)
	}
	var back []struct{ Name string }
	if err := json.Unmarshal([]byte(out.String()), &back); err != nil || len(back) != 1 || back[0].Name != jobs[0].Name {
		t.Errorf("%q, error %v", out.String(), err)
	}
}

// A problem of several lines is put below the line that it begins on.
func TestProblemsOfSeveralLines(t *testing.T) {
	var out strings.Builder
	r := &wire.PolicyReply{
		Name: "mine", State: "running", Generation: wire.NewEpochID(3, 2),
		Problems: []*wire.PolicyProblem{{What: "settings", Text: "it says:\n\tno\n", At: 1}},
	}
	if err := (&Printer{Out: &out, Errors: &out, Format: "table"}).Policy(r); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "generation 3.2,") || !strings.Contains(text, " ago: \n  it says:\n      no\n") {
		t.Errorf("%q", text)
	}
}

// A key in the file that is overridden from outside the file changes no value, and the answer says
// why.
func TestWhatCountsForNothingIsSaid(t *testing.T) {
	var out strings.Builder
	d := &wire.SettingsDiff{
		Lines: []*wire.DiffLine{{Kind: "added", New: 3, Text: "core: {attemptsMax: 5}"}},
		Overridden: []*wire.Setting{
			{Key: "core.attemptsMax", Value: "7", From: "HAMADRYAD_CORE_ATTEMPTSMAX", Over: "m.yaml:3"},
			{Key: "policy.name", Value: "hfsp", From: "flag", Over: "m.yaml:4"},
		},
	}
	if err := (&Printer{Out: &out, Format: "table"}).SettingsDiff(d); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"no value changes\n", "m.yaml:3: core.attemptsMax counts for nothing here: it is 7 by HAMADRYAD_CORE_ATTEMPTSMAX, which goes before the file\n",
		"m.yaml:4: policy.name counts for nothing here: it is hfsp by a flag, which goes before the file\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %q", want, out.String())
		}
	}
}

// An excluded launcher shows for which jobs, until when, and how to readmit it; other launchers
// show nothing of it.
func TestExcludedLaunchers(t *testing.T) {
	until := time.Date(2026, 5, 4, 13, 14, 15, 0, time.Local)
	list := []*wire.LauncherStatus{
		{Name: "bad", State: "excluded", ExcludedUntil: until.UnixNano(), ExcludedFor: []uint64{7, 8, 11}},
		{Name: "good", State: "up"},
	}
	var out strings.Builder
	if err := (&Printer{Out: &out, Format: "table"}).Launchers(list); err != nil {
		t.Fatal(err)
	}
	want := "bad: attempts of job-7, job-8, job-11 failed there: excluded until 13:14:15; \"hamadryad undrain bad\" lets work come again\n"
	if text := out.String(); !strings.HasSuffix(text, want) || strings.Contains(text, "good:") || strings.Count(text, "excluded") != 2 {
		t.Errorf("%q, want %q at its end", text, want)
	}
}

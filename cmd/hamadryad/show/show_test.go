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

// An aggregating stage says what was chosen and by which rule, also where it got no node.
func TestAStageSaysWhereItAggregates(t *testing.T) {
	const rule = "a machine gets one for at least two writers that stored 16 MiB together"
	for want, a := range map[string]*wire.AggregateStatus{
		"stage combine: its nodes are chosen when all of its writers have finished; " + rule + "\n":                                     {},
		"stage combine: 2 of 3 machines got a node; nodes read 9 writers with 48 MiB, and 1 writers are read directly (" + rule + ")\n": {Chosen: true, Places: 3, Nodes: 2, Covered: 9, Bytes: 48 << 20, Direct: 1},
	} {
		a.Level, a.Least = wire.Level_LEVEL_MACHINE, 16<<20
		var out strings.Builder
		s := &wire.JobStatus{Summary: &wire.JobSummary{Job: 3}, Stages: []*wire.StageStatus{{Name: "combine", Aggregate: a}}}
		if err := (&Printer{Out: &out, Format: "table"}).printStages(s); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(out.String(), want) || !strings.Contains(out.String(), "\ncombine ") || strings.Contains(out.String(), "last step") {
			t.Errorf("it prints\n%swhich does not have a row and end with\n%s", out.String(), want)
		}
	}
}

// Which nodes share a large partition is always said, which were joined only with the attempts.
func TestAStageSaysWhatWasJoinedAndSplit(t *testing.T) {
	s := &wire.JobStatus{
		Summary: &wire.JobSummary{Job: 3},
		Stages: []*wire.StageStatus{{Name: "reduce", Nodes: 22, Adapt: &wire.AdaptStatus{
			Partitions: 64, Joined: 62, Split: 1, Pieces: 20, Largest: 61 << 20, Median: 4 << 20, Bytes: 64 << 20, RangesLeftOut: 7,
			Ranges: []*wire.AdaptedRange{{Reader: 0, Readers: 1, Partition: 0, Partitions: 12, Bytes: 48 << 20}, {Reader: 1, Readers: 20, Partition: 12, Partitions: 1, Bytes: 3 << 29}},
		}}},
	}
	const (
		all    = "stage reduce: 64 partitions for 22 nodes, 62 of them joined with others (up to 64 MiB together), 1 split among 20 nodes; the median partition has 4.0 MiB; the largest node reads 61 MiB\n"
		joined = "  node 0 reads partitions 0 to 11: 48 MiB\n"
		split  = "  nodes 1 to 20 read partition 12: 1.5 GiB\n"
		more   = "  7 more nodes read several partitions\n"
	)
	for want, attempts := range map[string][]*wire.AttemptStatus{all + split: nil, all + joined + split + more: {{Attempt: 5, Stage: "reduce"}}} {
		s.Attempts = attempts
		var out strings.Builder
		if err := (&Printer{Out: &out, Format: "table"}).printStages(s); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(out.String(), want) {
			t.Errorf("it prints\n%swhich does not end with\n%s", out.String(), want)
		}
	}
}

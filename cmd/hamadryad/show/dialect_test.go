package show

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// moment is a time in nanoseconds, and its RFC 3339 is 2026-05-04T13:14:15Z.
const moment = 1777900455000000000

// samples are things to show, with what the document of the REST interface calls them; "" where it
// has none.
func samples(t *testing.T) map[string]func(*Printer) error {
	t.Helper()
	summary := &wire.JobSummary{Job: 7, Name: "two\nlines", User: "ann", Pool: "research", State: wire.JobState_JOB_STATE_RUNNING, Submitted: moment, Ended: moment, Groups: 4}
	job := &wire.JobStatus{
		Summary: summary, Stages: []*wire.StageStatus{{Name: "map", Nodes: 4}}, Counters: []*wire.Counter{{Name: "n", Value: 1 << 60}}, Read: []int64{1, 2, 3},
		Idle: []*wire.AttemptStatus{{Attempt: 9, IdleNs: 1e9}}, Attempts: []*wire.AttemptStatus{{Attempt: 9, Stage: "map", State: "starved", Started: moment, Progress: 0.5}},
	}
	launcher := &wire.LauncherStatus{
		Name: "l1", Host: "h1", State: "excluded", Slots: []*wire.Slots{{Kind: "map", Count: 2}}, Free: []*wire.Slots{{Kind: "map", Count: 1}}, Memory: 1 << 40,
		Joined: moment, Heard: moment, ExcludedUntil: moment, ExcludedFor: []uint64{7}, HttpAddress: "h1:7073",
		Attempts: []*wire.LauncherAttempt{{Job: 7, JobName: "a", Attempt: 9, Stage: "map", State: "running", Since: moment}}, AttemptsLeftOut: 2,
		Ended: []*wire.LauncherAttempt{{Job: 8, Attempt: 7, Index: -1, State: "failed", Since: moment}},
	}
	told, err := proto.Marshal(statusOf(t))
	if err != nil {
		t.Fatal(err)
	}
	policy := &wire.PolicyReply{
		Name: "fair", State: "running", Started: moment, Path: "/bin/fair", Status: told, RoundTimes: &wire.RoundTimes{Last: 1e6},
		Problems: []*wire.PolicyProblem{{What: "rounds", Text: "slow", At: moment}}, Settings: &wire.PolicySettings{Text: []byte("a: 1")},
	}
	diff := &wire.SettingsDiff{Lines: []*wire.DiffLine{{Kind: "added", New: 1, Text: "x"}}, Keys: []*wire.DiffKey{{Key: "core.attemptsMax"}}}
	versions := &wire.VersionsReply{Versions: []*wire.SettingsVersion{{Number: 3, At: moment, Tag: "0123456789abcdef", Text: []byte("x: 1\n")}}}
	return map[string]func(*Printer) error{
		"JobSummary":      func(p *Printer) error { return p.Jobs([]*wire.JobSummary{summary}, "") },
		"Job":             func(p *Printer) error { return p.Status(job, true) },
		"LauncherSummary": func(p *Printer) error { return p.Launchers([]*wire.LauncherStatus{launcher}) },
		"LauncherDetails": func(p *Printer) error { return p.LauncherDetails([]*wire.LauncherStatus{launcher}) },
		"Policy":          func(p *Printer) error { return p.Policy(policy) },
		"Settings": func(p *Printer) error {
			return p.Settings(&wire.SettingsReply{Settings: []*wire.Setting{{Key: "a.b", Value: "12"}}}, true)
		},
		"SettingsDiff":    func(p *Printer) error { return p.SettingsDiff(diff) },
		"SettingsVersion": func(p *Printer) error { return p.SettingsVersions(versions) },
		"AuditLine": func(p *Printer) error {
			return p.Audit(&wire.AuditReply{Lines: []*wire.AuditLine{{Time: "2026-05-04T13:14:15Z", Who: "ann", Proof: "certificate", Result: "ok", More: 2}}}, true)
		},
		"": func(p *Printer) error {
			return p.Access(&wire.AccessReply{DefaultPool: "users", ActsFor: []string{"bob"}})
		},
	}
}

// statusOf returns a policy's status.
func statusOf(t *testing.T) *schedwire.Status {
	t.Helper()
	m, err := schedwire.NewStatus(scheduler.Status{
		Pools: []scheduler.PoolStatus{{Name: "research", Kind: "map", Weight: 1}}, Facts: []scheduler.Property{{Name: "pools", Value: "1"}}, Queue: []scheduler.Queued{{Job: 7, Why: "next"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// beyond are fields that the command line has and the interface gives under an address of its own.
var beyond = map[string][]string{
	"Job":    {"attempts"},
	"Policy": {"roundsDecided", "decisionsRefused", "program", "settings", "pools", "queue"},
}

// What is printed as JSON has the fields of the REST interface's document: in camelCase, moments in RFC 3339, ids as
// people see them, states in lower case. YAML says the same.
func TestOneDialect(t *testing.T) {
	document, err := openapi3.NewLoader().LoadFromFile("../../../engine/manager/internal/rest/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	camel := regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)
	for name, print := range samples(t) {
		var asJSON, asYAML bytes.Buffer
		for format, to := range map[string]*bytes.Buffer{JSON: &asJSON, YAML: &asYAML} {
			if err := print(&Printer{Out: to, Errors: to, Format: format}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		var value, other any
		if err := json.Unmarshal(asJSON.Bytes(), &value); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, asJSON.Bytes())
		}
		if err := yaml.Unmarshal(asYAML.Bytes(), &other); err != nil || strings.Contains(asYAML.String(), `{"`) {
			t.Errorf("%s: %v\n%s", name, err, asYAML.Bytes())
		}
		if text, err := json.Marshal(other); err != nil || !sameJSON(text, asJSON.Bytes()) {
			t.Errorf("%s is in YAML\n%s\nand in JSON\n%s", name, asYAML.Bytes(), asJSON.Bytes())
		}
		if list, ok := value.([]any); ok {
			value = list[0]
		}
		object := value.(map[string]any)
		if s := document.Components.Schemas[name]; s != nil && name != "Policy" { // which lacks what the manager counts
			if err := s.Value.VisitJSON(value, openapi3.EnableFormatValidation()); err != nil {
				t.Errorf("%s is not as the document has it: %v", name, err)
			}
		}
		known := slices.Concat(fieldsOf(document.Components.Schemas[name]), beyond[name])
		for key := range keysOf(object) {
			if !camel.MatchString(key) {
				t.Errorf("%s has the field %q", name, key)
			}
		}
		for key := range object {
			if name != "" && !slices.Contains(known, key) {
				t.Errorf("%s has the field %q, which the document has not; it has %q", name, key, known)
			}
		}
	}
	var out strings.Builder
	if err := samples(t)["Job"](&Printer{Out: &out, Format: JSON}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"id": "job-7"`, `"state": "running"`, `"submitted": "2026-05-04T13:14:15Z"`, `"id": "attempt-9"`, `"state": "starved"`, `"value": 1152921504606846976`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is not in\n%s", want, out.String())
		}
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// fieldsOf are the fields that a schema names, those that it takes from others included.
func fieldsOf(s *openapi3.SchemaRef) (names []string) {
	if s == nil {
		return nil
	}
	names = slices.Collect(maps.Keys(s.Value.Properties))
	for _, part := range s.Value.AllOf {
		names = append(names, fieldsOf(part)...)
	}
	return names
}

// keysOf are the names of all fields in a value.
func keysOf(value any) map[string]bool {
	keys := map[string]bool{}
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			keys[key] = true
			maps.Copy(keys, keysOf(below))
		}
	case []any:
		for _, below := range v {
			maps.Copy(keys, keysOf(below))
		}
	}
	return keys
}

// A list has its names alone, a line each, or its table without heads, or with more columns; one without entries says so.
func TestFormatsOfLists(t *testing.T) {
	jobs := []*wire.JobSummary{{Job: 7, Name: "a", Submitted: moment}, {Job: 12, Name: "b", Submitted: moment}}
	show := func(p Printer, jobs []*wire.JobSummary) (out, errors string) {
		t.Helper()
		var o, e strings.Builder
		p.Out, p.Errors = &o, &e
		if err := p.Jobs(jobs, "no job fits"); err != nil {
			t.Fatal(err)
		}
		return o.String(), e.String()
	}
	if out, _ := show(Printer{Format: Name}, jobs); out != "job-7\njob-12\n" {
		t.Errorf("the names are %q", out)
	}
	table, _ := show(Printer{Format: Table}, jobs)
	if out, _ := show(Printer{Format: Table, NoHeaders: true}, jobs); !strings.HasPrefix(table, "JOB ") || strings.Contains(out, "JOB ") || strings.Count(out, "\n") != 2 {
		t.Errorf("with heads\n%sand without\n%s", table, out)
	}
	if out, _ := show(Printer{Format: Wide}, jobs); !strings.Contains(out, "SUBMITTED") || !strings.Contains(out, "2026-05-04T13:14:15Z") || strings.Contains(table, "SUBMITTED") {
		t.Errorf("a wide one is\n%sand another\n%s", out, table)
	}
	for format, want := range map[string]string{Table: "", Name: "", JSON: "[]\n", YAML: "[]\n"} {
		out, errors := show(Printer{Format: format}, nil)
		if said := strings.Contains(errors, "no job fits"); out != want || said != (want == "") {
			t.Errorf("as %s none is %q and %q", format, out, errors)
		}
	}
}

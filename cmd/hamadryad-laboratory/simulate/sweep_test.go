package simulate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/workload"
)

// A setting is set where its keys lead, and all others stay.
func TestASettingIsSet(t *testing.T) {
	for _, c := range []struct{ text, key, value, want string }{
		{"", "a.b", "5s", "a:\n    b: 5s\n"},
		{"a: {b: 1, c: 2} # mine\n", "a.b", "x", "a: {b: x, c: 2} # mine\n"},
		{"a: 1\n", "b", "[2]", "a: 1\nb: [2]\n"},
	} {
		got, err := withSetting([]byte(c.text), c.key, c.value)
		if err != nil || string(got) != c.want {
			t.Errorf("%q with %s=%s: got %q and %v, want %q", c.text, c.key, c.value, got, err, c.want)
		}
	}
	for _, c := range []struct{ key, value string }{{"a.b", "1"}, {"a..b", "1"}, {"b", "{"}, {"b", ""}} {
		if got, err := withSetting([]byte("a: 1\n"), c.key, c.value); err == nil {
			t.Errorf("%s=%s: got %q", c.key, c.value, got)
		}
	}
}

// A kept result is taken again. One that was cut or changed, or is of another workload, is not.
func TestAKeptResultIsTakenAgain(t *testing.T) {
	w := &workload.Workload{Jobs: []workload.Job{{ID: "a", Stages: []workload.Stage{{Name: "m", Kind: "map", Tasks: []workload.Task{{Work: time.Second}}}}}}}
	file := filepath.Join(t.TempDir(), "run.json")
	whole := `{"Jobs":[{"Ended":1000000000,"State":2,"Stages":[{"Kind":"map"}]}],"Ended":1000000000,"Slots":{"map":1},"Uses":[{"Up":1000000000}]}`
	kept := func(result string) string {
		return `{"Checksum":"` + sumOf([]byte(result)) + `","Result":` + result + "}"
	}
	for text, taken := range map[string]bool{
		kept(whole): true,
		kept(`{"Jobs":[{"Ended":1000000000}],"Ended":1000000000,"Slots":{"map":1}}`): false, // without what launchers did
		whole:               false, // an earlier program kept it
		kept(whole)[:90]:    false,
		kept(`{"Jobs":[]}`): false,
		strings.Replace(kept(whole), `"Ended":1`, `"Ended":2`, 1): false,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := &sweepRun{point: &point{}, jobs: w, on: cluster.Default(1, map[string]int{"map": 1}), kept: file}
		if r.load(); (r.report != nil) != taken {
			t.Errorf("%s is taken: %v", text, r.report != nil)
		}
		if taken && r.report.Jobs[0].Ended != time.Second {
			t.Errorf("got %+v", r.report.Jobs[0])
		}
	}
}

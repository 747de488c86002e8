package workloads

import (
	"bytes"
	"regexp"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The help names each field that a file of ours may have.
func TestHelpHasEachField(t *testing.T) {
	w := &workload.Workload{Name: "w", Imputed: 1, LeftOut: 1, Jobs: []workload.Job{{
		ID: "a", Name: "a", Class: "c", User: "u", Pool: "p", Priority: 1, Deadline: time.Minute, Properties: []scheduler.Property{{Name: "properties", Value: "v"}},
		Stages: []workload.Stage{
			{Name: "one", Kind: "default", Memory: 1, Slots: 2, Resources: []scheduler.ResourceCount{{Kind: "resources", Count: 1}}, Estimate: 3, FailureRate: 0.5, Tasks: []workload.Task{{Work: 1, Input: 2, Shuffle: 3, Output: 4, Places: []workload.Place{{Host: "h"}}}}},
			{Name: "two", Kind: "default", After: []int{0}, Channel: workload.ChannelFile, Pattern: workload.OneToOne, SlowStart: 0.5, Tasks: []workload.Task{{Work: 1}}},
		},
	}}}
	var text bytes.Buffer
	if err := w.Write(&text); err != nil {
		t.Fatal(err)
	}
	help := Command(&text).Long
	fields := map[string]bool{}
	for _, m := range regexp.MustCompile(`"([a-z_]+)":`).FindAllStringSubmatch(text.String(), -1) {
		fields[m[1]] = true
	}
	if len(fields) < 31 {
		t.Fatalf("the file has only the fields %v", fields)
	}
	for f := range fields {
		if !regexp.MustCompile(`(?m)^  ([a-z_]+, )*` + f + `\b`).MatchString(help) {
			t.Errorf("the help does not tell of the field %s", f)
		}
	}
}

package allocation

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/plugins/internal/vectors"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func TestVectors(t *testing.T) {
	vectors.Run(t, map[string]func(*testing.T, vector){"allocations": allocationFile, "allocations-edge": allocationEdge})
}

// vector is a case of the original's tests of allocation files.
type vector struct {
	ID, Kind, Origin, Source, Note string
	XML, ExpectText, Expect        json.RawMessage
}

func xmlText(t *testing.T, v vector) []byte {
	t.Helper()
	var text string
	if err := json.Unmarshal(v.XML, &text); err != nil {
		t.Fatal(err)
	}
	return []byte(text)
}

func allocationFile(t *testing.T, v vector) {
	a, err := Read(scheduler.ConfigFile{Name: "fair.xml", Data: xmlText(t, v)})
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		PoolCount                    int
		MinShare                     map[string][2]int
		MaxRunningJobs, UserMaxJobs  map[string]int
		MinSharePreemptionTimeoutMs  map[string]int64
		FairSharePreemptionTimeoutMs int64
	}
	if err := json.Unmarshal(v.Expect, &want); err != nil {
		t.Fatal(err)
	}
	if len(a.pools) != want.PoolCount {
		t.Errorf("%d pools, want %d", len(a.pools), want.PoolCount)
	}
	for path, n := range want.MinShare {
		p := a.pools[path]
		least, fair := a.Timeouts(p)
		if p.minShare["map"] != n[0] || p.minShare["reduce"] != n[1] || a.JobsMax(p) != want.MaxRunningJobs[path] ||
			least.Milliseconds() != want.MinSharePreemptionTimeoutMs[path] || fair.Milliseconds() != want.FairSharePreemptionTimeoutMs {
			t.Errorf("pool %s is %+v, timeouts %s and %s", path, p, least, fair)
		}
	}
	for user, n := range want.UserMaxJobs {
		if got := a.UserMax(user); got != n {
			t.Errorf("user %s may run %d jobs, want %d", user, got, n)
		}
	}
}

// allocationEdge reads the expected result from the first word: an error, or a value.
func allocationEdge(t *testing.T, v vector) {
	var want string
	if err := json.Unmarshal(v.ExpectText, &want); err != nil {
		t.Fatal(err)
	}
	a, err := Read(scheduler.ConfigFile{Name: "fair.xml", Data: xmlText(t, v)})
	if failed := strings.HasPrefix(want, "error"); failed != (err != nil) {
		t.Fatalf("error %v, want: %s", err, want)
	}
	switch {
	case strings.HasPrefix(want, "mode of a = fifo") && a.pools["a"].order != "fifo",
		strings.HasPrefix(want, "minMaps of a = 7") && a.pools["a"].minShare["map"] != 7:
		t.Errorf("%+v, want: %s", a.pools["a"], want)
	}
}

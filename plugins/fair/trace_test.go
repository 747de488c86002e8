package fair

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/plugins/fair/tracefile"
	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// openFile opens traces as the plug-in does.
func openFile(path string, bytesMax int) (Trace, error) { return tracefile.Open(path, bytesMax) }

// traced plays a story of preemption with a trace and returns the policy.
func traced(t *testing.T, settings, file string) *play {
	t.Helper()
	w := newPlay(t, "")
	w.Policy.opener = openFile
	e := policytest.Environment()
	e.Simulated, e.Trace = false, file
	config := scheduler.Config{Text: []byte(makesPools("allocations: {fair-share-timeout: 1s}\npreemption: {interval: 1s}\n" + settings))}
	if _, err := w.Policy.Start(config, w.Cluster.Snapshot(), e); err != nil {
		t.Fatal(err)
	}
	w.Launchers(1, 2)
	w.job("a", 6, 20*time.Second)
	w.Until(time.Second)
	w.job("b", 4, 20*time.Second)
	w.Until(3 * time.Minute)
	w.Policy.Terminate()
	return w
}

func lines(t *testing.T, file string) (all []record) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var r record
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v", s.Text(), err)
		}
		all = append(all, r)
	}
	return all
}

// TestTraceTellsTheStory: a program can read from the trace which jobs came, what they were given
// where, why slots were preempted, and the pools at intervals.
func TestTraceTellsTheStory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace")
	w := traced(t, "trace: {enabled: true, dump-interval: 30s}", file)
	seen := map[string]int{}
	victims, last := 0, scheduler.Time(0)
	for _, r := range lines(t, file) {
		seen[r.Event]++
		victims += len(r.Victims)
		if r.At < last {
			t.Fatalf("time goes back in %+v", r)
		}
		last = r.At
		if r.Event == "starved" && (r.Pool != "b" || r.ShareOf == 0 || r.Share != 1) {
			t.Errorf("%+v", r)
		}
	}
	for _, event := range []string{"job added", "job removed", "assigned", "round", "starved", "preempt", "pool"} {
		if seen[event] == 0 {
			t.Errorf("no %q among %v", event, seen)
		}
	}
	if seen["assigned"]+seen["ahead"] != w.Cluster.Tally.Launches || victims != w.Cluster.Tally.Victims || seen["job added"] != 2 {
		t.Errorf("%v and %d victims, the manager counts %+v", seen, victims, w.Cluster.Tally)
	}
}

func TestTraceIsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace")
	traced(t, "trace: {enabled: true, size-max: 5000}", file)
	for _, name := range []string{file, file + ".1"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > 5000+4096 { // a round more than the bound
			t.Errorf("%s has %d bytes", name, info.Size())
		}
		lines(t, name)
	}
}

func TestTraceHasToBeGranted(t *testing.T) {
	e := policytest.Environment()
	e.Simulated = false
	config := scheduler.Config{Text: []byte("trace: {enabled: true}")}
	if _, err := (&Policy{opener: openFile}).Start(config, scheduler.Snapshot{}, e); err == nil || !strings.Contains(err.Error(), "policy.trace") {
		t.Errorf("without a grant: %v", err)
	}
	e.Trace = filepath.Join(t.TempDir(), "no", "such", "folder")
	if _, err := (&Policy{opener: openFile}).Start(config, scheduler.Snapshot{}, e); err == nil || !strings.Contains(err.Error(), "cannot be opened") {
		t.Errorf("into no folder: %v", err)
	}
	e.Simulated = true
	p := &Policy{opener: openFile}
	if _, err := p.Start(config, scheduler.Snapshot{}, e); err != nil || p.trace != nil {
		t.Errorf("in a simulation: %v", err)
	}
}

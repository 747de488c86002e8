package manager

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/manager/recovery"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// remakeArgument makes this test's program run as a manager's child.
const remakeArgument = "-remake"

// remakeHere is the child's part of TestMain.
func remakeHere() (code int, asked bool) {
	if len(os.Args) < 2 || os.Args[1] != remakeArgument {
		return 0, false
	}
	if err := recovery.RemakeAsked(context.Background(), os.Args[2:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}

// metric reads a number from the manager's page.
func (b *testbed) metric(name string) int {
	b.t.Helper()
	_, page := b.page("/metrics")
	for line := range strings.Lines(page) {
		if text, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil {
				b.t.Fatal(err)
			}
			return int(n)
		}
	}
	return 0
}

const (
	fromLog    = `hamadryad_checkpoint_seconds_count{from="log"}`
	fromState  = `hamadryad_checkpoint_seconds_count{from="state"}`
	stoodStill = "hamadryad_core_freeze_seconds_count"
	notMade    = "hamadryad_checkpoints_failed_total"
)

// busy runs jobs until something holds.
func (b *testbed) busy(holds func() bool) (jobs []uint64) {
	b.t.Helper()
	for until := time.Now().Add(waitMax); !holds(); {
		if time.Now().After(until) {
			b.t.Fatal("it does not come to hold")
		}
		job := b.submit(40)
		if s := b.follow(job); !succeeded(s) {
			b.t.Fatal(s)
		}
		jobs = append(jobs, job)
	}
	return jobs
}

// If its core must never pause, a manager has its checkpoints made by another process, from the
// log, while work goes on. Each equals the state at the end of the file before; a restart finds all
// of the work.
func TestCheckpointsAreMadeBesideTheCore(t *testing.T) {
	b := newTestbed(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b.cfg.LogFileBytes, b.cfg.LogKeep, b.cfg.FreezeMax, b.cfg.Remaker = 100<<10, 1000, 1, []string{self, remakeArgument}
	b.start()
	b.launcher("a", 1, false)
	jobs := b.busy(func() bool { return b.metric(fromLog) >= 3 })
	if n := b.metric(notMade); n != 0 {
		t.Errorf("%d checkpoints could not be made", n)
	}
	if frozen, from := b.metric(stoodStill), b.metric(fromState); frozen != from {
		t.Errorf("%d freezes for %d checkpoints", frozen, from)
	}
	before := b.known(jobs)
	b.stop()
	continues(t, b.cfg.Data)
	b.start()
	if after := b.known(jobs); after != before {
		t.Errorf("before the restart:\n%s\nand after it:\n%s", before, after)
	}
	continues(t, b.cfg.Data)
}

// known is the manager's data of jobs.
func (b *testbed) known(jobs []uint64) string {
	b.t.Helper()
	var text strings.Builder
	for _, job := range jobs {
		s, err := b.api.Status(b.ctx(), &wire.StatusRequest{Job: job})
		if err != nil {
			b.t.Fatal(err)
		}
		fmt.Fprintln(&text, job, s.Summary.State, s.Summary.GroupsFinished)
	}
	return text.String()
}

// continues checks that each file of a log opens with the state at the end of the one before.
func continues(t *testing.T, data string) {
	t.Helper()
	files, err := eventlog.Files(filepath.Join(data, "log"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	var before *eventlog.Segment
	for _, file := range files {
		s, err := eventlog.ReadSegment(file)
		if err != nil {
			t.Fatal(err)
		}
		if before != nil && !bytes.Equal(comesTo(t, before, s.First, data), bytes.Join(s.Checkpoint, nil)) {
			t.Fatalf("%s does not open with what the file before it comes to", file)
		}
		before = s
	}
}

// comesTo returns the checkpoint of a core that replayed a file up to a record. The file lacks that
// record, or another file has it, too.
func comesTo(t *testing.T, s *eventlog.Segment, next uint64, data string) []byte {
	t.Helper()
	r := recovery.NewReplay(s.Path, recovery.OpenGraphs(filepath.Join(data, "graphs"), slog.New(slog.DiscardHandler)))
	if err := r.Restore(s.Checkpoint); err != nil {
		t.Fatal(err)
	}
	for i, record := range s.Records[:next-s.First] {
		if err := r.Step(s.First+uint64(i), record); err != nil {
			t.Fatal(err)
		}
	}
	return r.Core.Checkpoint()
}

// What can befall the process that makes checkpoints: it is killed when half is written,
// it writes nothing and says that all is well, it refuses. The log goes on, it is tried
// again, and in the end the core stands still for a checkpoint. The fourth hangs, and the
// manager's end ends it.
func TestAProcessThatMakesNoCheckpoint(t *testing.T) {
	b := newTestbed(t)
	b.cfg.remakeAgain = time.Millisecond
	dir := t.TempDir()
	script := filepath.Join(dir, "remaker")
	if err := os.WriteFile(script, []byte(`cd "$0.d"
echo $$ > pid$(ls | wc -l)
case $(ls | wc -l) in
1) head -c 100000 /dev/zero; kill -9 $$ ;;
2) exit 0 ;;
3) head -c 100000 /dev/zero; echo it is refused >&2; exit 1 ;;
*) exec sleep 10000 ;;
esac
`), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(script+".d", 0o700); err != nil {
		t.Fatal(err)
	}
	b.cfg.LogFileBytes, b.cfg.LogKeep, b.cfg.FreezeMax, b.cfg.Remaker = 100<<10, 1000, 1, []string{"/bin/sh", script}
	b.start()
	b.launcher("a", 1, false)
	pid := 0
	b.busy(func() bool {
		text, err := os.ReadFile(filepath.Join(script+".d", "pid3"))
		if err == nil {
			pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return pid != 0 && b.metric(stoodStill) > 0
	})
	for _, why := range []string{"signal: killed", "no whole checkpoint", "it is refused", "the core stands still"} {
		if !strings.Contains(b.log.String(), why) {
			t.Errorf("the log does not say %q", why)
		}
	}
	if n := b.metric(notMade); n != 3 {
		t.Errorf("%d checkpoints could not be made", n)
	}
	b.stop()
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the process that hangs outlives the manager: %v", err)
	}
	continues(t, b.cfg.Data)
}

package load

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/common"
)

// fakeProc is a machine whose system files are written by a test.
type fakeProc struct {
	*Machine
	t   *testing.T
	dir string
	now time.Time
}

func newFakeProc(t *testing.T) *fakeProc {
	dir := t.TempDir()
	ctx := context.WithValue(t.Context(), common.EnvKey, common.EnvMap{common.HostProcEnvKey: dir})
	return &fakeProc{&Machine{ctx: ctx}, t, dir, time.Unix(1000, 0)}
}

func (p *fakeProc) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// want measures after a while, and compares.
func (p *fakeProc) want(after time.Duration, cpu, memory float64) {
	p.t.Helper()
	p.now = p.now.Add(after)
	got := p.Now(p.now)
	for _, x := range []struct {
		name string
		got  *float64
		want float64
	}{{"CPU", got.Cpu, cpu}, {"memory", got.Memory, memory}} {
		if (x.got == nil) != (x.want < 0) || x.got != nil && math.Abs(*x.got-x.want) > 1e-9 {
			p.t.Errorf("%s is %v, want %v", x.name, got, x.want)
		}
	}
}

const unknown = -1

// TestLoadOfTheMachine: a file of two processors, as proc(5) describes it: user,
// nice, system, idle, iowait, irq, softirq, steal, guest and guest_nice, in ticks.
func TestLoadOfTheMachine(t *testing.T) {
	p := newFakeProc(t)
	p.want(0, unknown, unknown) // the files do not exist
	p.write("meminfo", "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 750 kB\nBuffers: 50 kB\nCached: 600 kB\n")
	p.write("stat", "cpu  100 0 50 1000 20 0 0 0 0 0\ncpu0 50 0 25 500 10 0 0 0 0 0\n")
	p.want(time.Second, unknown, 0.25)
	// Of 200 ticks, 30 user, 10 nice, 20 system, 5 + 5 interrupts, 10 stolen; the 30
	// of a guest are the user's. 100 idle, 20 waited for disks.
	p.write("stat", "cpu  130 10 70 1100 40 5 5 10 30 0\n")
	p.want(time.Second, 0.4, 0.25)
	p.write("stat", "cpu  330 10 70 1100 40 5 5 10 30 0\n")
	p.want(50*time.Millisecond, 0.4, 0.25) // too soon for another measurement
	p.want(150*time.Millisecond, 1, 0.25)
	p.write("stat", "cpu  330 10 70 1300 39 5 5 10 30 0\n") // iowait may run back
	p.want(time.Second, 0, 0.25)
	p.want(time.Second, unknown, 0.25) // no tick passed
	p.write("stat", "cpu  430 10 70 1400 39 5 5 10 30 0\n")
	p.want(time.Second, 0.5, 0.25)
	p.write("stat", "nonsense\n")
	p.write("meminfo", "")
	p.want(time.Second, unknown, unknown)
	p.write("stat", "cpu  430 10 70 1500 39 5 5 10 30 0\n")
	p.want(time.Second, unknown, unknown) // no earlier reading to compare with
	p.write("stat", "cpu  440 10 70 1530 39 5 5 10 30 0\n")
	p.want(time.Second, 0.25, unknown)
}

// TestLoadOfThisMachine: on a real Linux both are known after a while.
func TestLoadOfThisMachine(t *testing.T) {
	m := New(t.Context())
	deadline := time.Now().Add(time.Minute)
	for {
		l := m.Now(time.Now())
		if l.Cpu != nil && l.Memory != nil {
			if *l.Cpu < 0 || *l.Cpu > 1 || *l.Memory <= 0 || *l.Memory > 1 {
				t.Errorf("the load is %v", l)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the load is %v", l)
		}
	}
}

package scale

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/internal/cpuaffinity"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/experiment"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/traces"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/plugins/fair"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/plugins/hfsp"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// inProcess are the policies that need no program.
var inProcess = map[string]func() scheduler.TaskScheduler{"fifo": fifo.New, "fair": fair.New, "hfsp": hfsp.New}

// gcPercent is that of `hamadryad simulate`, unless GOGC is set.
const gcPercent = 400

// heapMost is the target in bytes below which garbage collection keeps all memory, unless
// GOMEMLIMIT is set, so that the largest cluster stays below largestMemory.
const heapMost = 7 << 30

// play plays the run in this process.
func (r *run) play(ctx context.Context) (m measured, err error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(heapMost)
	}
	w, on, err := r.prepare()
	if err != nil {
		return m, err
	}
	if r.Profile != "" {
		f, err := os.Create(r.Profile)
		if err != nil {
			return m, err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return m, err
		}
		defer pprof.StopCPUProfile()
	}
	if r.Plugin != "" {
		defer cpuaffinity.KeepToOne()()
	}
	host, err := r.host(ctx)
	if err != nil {
		return m, err
	}
	watch := &look{jobs: len(w.Jobs), plugin: host.PID(), sizes: r.Trace == ""}
	watch.begin()
	before, began := processorTime(), time.Now()
	config := scheduler.Config{File: "settings", Line: 1}
	if r.Policy == "fair" {
		config.Text = []byte(experiment.PoolsOfWorkload)
	}
	result, err := simulation.Play(ctx, simulation.Options{
		Workload: w, Cluster: on, Host: host, Config: config, Watch: watch,
		Settings: func(s *core.Settings) { s.LaunchersMax = max(s.LaunchersMax, r.Launchers) },
	})
	if err != nil {
		return m, err
	}
	m = measured{
		Workload: cmp.Or(w.Name, filepath.Base(r.Trace)), Launchers: r.Launchers, Wall: time.Since(began) - watch.cost, Processor: processorTime() - before,
		Rounds: result.Rounds, Peak: peak("self"), PluginPeak: watch.pluginPeak,
	}
	for i := range w.Jobs {
		for _, s := range w.Jobs[i].Stages {
			m.Tasks += len(s.Tasks)
		}
	}
	for _, n := range result.Core.Accepted {
		m.Decisions += n
	}
	m.PerLauncher, m.PerTask = watch.joined/int64(r.Launchers), watch.came/int64(m.Tasks)
	return m, nil
}

func (r *run) host(ctx context.Context) (policy.Host, error) {
	if r.Plugin != "" {
		return policy.Launch(ctx, policy.Options{Path: r.Plugin, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	}
	made, ok := inProcess[r.Policy]
	if !ok {
		return nil, fmt.Errorf("no policy %q is known in process", r.Policy)
	}
	return policy.InProcess(made()), nil
}

// prepare reads or makes the workload, and the cluster for it.
func (r *run) prepare() (*workload.Workload, *cluster.Cluster, error) {
	on := cluster.Default(r.Launchers, map[string]int{"map": 4, "reduce": 2})
	on.Model.Heartbeat, on.Model.SlowStart = 3*time.Second, 0.05
	switch r.Trace {
	case "":
		return made(r.Launchers), on, nil
	case traces.FB2009, traces.FB2010:
		w, err := traces.Read(r.Trace)
		return w, on, err
	}
	f, err := os.Open(r.Trace)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	swim := workload.DefaultSWIM()
	swim.Machines, swim.Of = int64(r.Launchers), swimMachines
	w, err := workload.Read(f, workload.Options{File: r.Trace, SWIM: &swim})
	return w, on, err
}

// swimMachines is the size of the cluster that FB-2010 was traced on, by SWIM's repository. A trace
// is scaled from it to the launchers as SWIM's own scripts do.
const swimMachines = 3000

// look samples memory while a workload is played.
type look struct {
	jobs       int  // expected
	plugin     int  // process of the policy; 0: there is none
	sizes      bool // measure launchers' and tasks' memory; it collects garbage twice
	seen       int  // jobs
	ended      int
	heap       int64         // live bytes at the last sample
	joined     int64         // bytes of launchers
	came       int64         // bytes of tasks
	cost       time.Duration // its own cost
	pluginPeak int64
}

func (l *look) begin() {
	if l.sizes {
		l.heap = live()
	}
}

// more is the growth of live memory since the last sample.
func (l *look) more() int64 {
	began := time.Now()
	before := l.heap
	l.heap = live()
	l.cost += time.Since(began)
	return l.heap - before
}

// Came implements simulation.Watcher. All launchers have joined when the first job arrives.
func (l *look) Came(time.Duration, int) {
	l.seen++
	if l.sizes && l.seen == 1 {
		l.joined = l.more()
	}
	if l.sizes && l.seen == l.jobs {
		l.came = l.more()
	}
}

// Holds implements simulation.Watcher.
func (l *look) Holds(time.Duration, int, *simcluster.Attempt, bool) {}

// Ended implements simulation.Watcher.
func (l *look) Ended(time.Duration, int) {
	if l.ended++; l.ended == l.jobs && l.plugin != 0 {
		l.pluginPeak = peak(fmt.Sprint(l.plugin))
	}
}

// live is the number of live bytes.
func live() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// peak is a process's peak memory so far; 0 where the system does not report it. getrusage would
// include the parent's.
func peak(process string) int64 {
	b, err := os.ReadFile("/proc/" + process + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

// processorTime is the processor time of this process and of its ended children.
func processorTime() time.Duration {
	sum := time.Duration(0)
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}

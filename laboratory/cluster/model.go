package cluster

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/loop/simcluster"
	"github.com/hamadryad/hamadryad/laboratory/internal/document"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Model is the duration of operations, the same for all policies.
type Model struct {
	// Locality is how many times longer work takes when the stored input is not on the machine.
	Locality Locality `yaml:"locality"`
	// Stragglers are attempts that take much longer than usual.
	Stragglers Stragglers `yaml:"stragglers"`
	// Start is from a launch until the program runs, default 1 s; Stop until a stopped
	// attempt is gone, default 100 ms.
	Start time.Duration `yaml:"start"`
	Stop  time.Duration `yaml:"stop"`
	// Latency is the latency of a message between manager and launcher, default 1 ms.
	Latency time.Duration `yaml:"latency"`
	// Heartbeat is the period of the launchers' reports; 0, the default, reports at once.
	Heartbeat time.Duration `yaml:"heartbeat"`
	// ProgressEvery is the period of attempts' progress reports, default 3 s; 0 is never.
	ProgressEvery time.Duration `yaml:"progressEvery"`
	// Suspend is the time until a suspended attempt has left its slots, and Resume the time until
	// it runs again. Memory is written and read back at the speed of a disk: figure 8 of the HFSP
	// paper has 40 s for both together and 2 GiB, and about a straight line up to 5 GiB, which are
	// the defaults. Beyond, the model stays linear.
	Suspend Cost `yaml:"suspend"`
	Resume  Cost `yaml:"resume"`
	// Speculation is whether stragglers get a second attempt; default not.
	Speculation bool `yaml:"speculation"`
	// Network is the speed of links, for shuffled bytes; default none, and transfers take no time.
	Network Network `yaml:"network"`
	// SlowStart is the share of a stage's writers that must have ended before its readers may
	// start, where the workload does not set it. It is above 0 and at most 1, the default: all of
	// them.
	SlowStart float64 `yaml:"slowStart"`
}

// Elsewhere is the default of both factors of Locality. It follows from "Locality Aware Fair
// Scheduling for Hammr", section 7.4, table 1: with 20 of 26 maps beside their block a job takes
// 501 s, and with 6.3 of them 554 s. Maps of 95 s beside their block, and of 125 s elsewhere, give
// these times (laboratory/experiments/hammr-table1.yaml). The paper does not tell racks apart, so
// both factors are the same. The table's Hadoop has as many local maps as Hammr, so it gives no
// factor. The design of the Hadoop Fair Scheduler (section on delay scheduling) measures none.
const Elsewhere = 125.0 / 95

// Locality is how many times longer work takes than on the machine with its input, at least 1; the
// defaults of both are Elsewhere, about 1.32. With 1 distance costs nothing.
type Locality struct {
	Rack   float64 `yaml:"rack"`
	Remote float64 `yaml:"remote"`
}

// Network is the speed of each host's link to its rack, and of each rack's to the others, in bytes a
// second each way; 0 is no bound. A task fetches its shuffled bytes before it works, when all are
// there, as many from each task of the earlier stage. Flows share links by max-min fairness.
type Network struct {
	Host Size `yaml:"host"`
	Rack Size `yaml:"rack"`
}

// Stragglers makes a share of attempts take Factor times as long; defaults 0 and 1.
type Stragglers struct {
	Share  float64 `yaml:"share"`
	Factor float64 `yaml:"factor"`
}

// Cost is a time that grows with an attempt's memory.
type Cost struct {
	Fixed  time.Duration `yaml:"fixed"`
	PerGiB time.Duration `yaml:"perGiB"`
}

// DefaultModel has the defaults of all fields.
func DefaultModel() Model {
	disk := Cost{PerGiB: 10 * time.Second}
	return Model{
		Locality: Locality{Rack: Elsewhere, Remote: Elsewhere}, Stragglers: Stragglers{Factor: 1}, Start: time.Second, Stop: 100 * time.Millisecond,
		Latency: time.Millisecond, ProgressEvery: 3 * time.Second, Suspend: disk, Resume: disk, SlowStart: 1,
	}
}

// Key identifies an attempt: indexes in the workload, and the number of earlier attempts at the
// task.
type Key struct{ Job, Stage, Task, Try int }

// Work is how long an attempt at a task works on the machine with its input, at usual speed: as
// long as the workload says, or longer as a straggler. It depends on seed and key alone.
func (c *Cluster) Work(t *workload.Task, k Key) time.Duration {
	s := c.Model.Stragglers
	if s.Share == 0 || workload.NewRand(c.Seed, running, uint64(k.Job), uint64(k.Stage), uint64(k.Task), uint64(k.Try)).Unit() >= s.Share {
		return t.Work
	}
	return longer(t.Work, s.Factor)
}

// Fails reports whether an attempt at a task of a stage fails, and after which part of its work. It
// depends on seed and key alone.
func (c *Cluster) Fails(s *workload.Stage, k Key) (part float64, fails bool) {
	if s.FailureRate == 0 {
		return 0, false
	}
	r := workload.NewRand(c.Seed, breaking, uint64(k.Job), uint64(k.Stage), uint64(k.Task), uint64(k.Try))
	fails = r.Unit() < s.FailureRate
	return r.Unit(), fails
}

// Takes is an attempt's whole time from its launch on, when its input is complete, on a machine of
// the given speed and distance from its stored input. Machines take as long.
func (c *Cluster) Takes(t *workload.Task, k Key, near scheduler.Locality, speed float64) time.Duration {
	f := c.Model.factors()[near]
	if t.Input == 0 {
		f = 1
	}
	return longer(c.Model.Start, 1/speed) + longer(longer(c.Work(t, k), f), 1/speed)
}

// SwapTime is the time to suspend and resume an attempt with so many bytes of memory.
func (m *Model) SwapTime(bytes int64) time.Duration {
	return simcluster.Cost(m.Suspend).Of(bytes) + simcluster.Cost(m.Resume).Of(bytes)
}

func (m *Model) factors() [scheduler.LocalityLevels]float64 {
	return [scheduler.LocalityLevels]float64{scheduler.NodeLocal: 1, scheduler.RackLocal: m.Locality.Rack, scheduler.Remote: m.Locality.Remote}
}

// longer multiplies a time.
func longer(d time.Duration, times float64) time.Duration {
	if times == 1 {
		return d
	}
	return time.Duration(float64(d) * times)
}

// factorMax bounds factors, each way.
const factorMax = 1000

func (m *Model) check() (all []document.Problem) {
	bad := func(ok bool, format string, value any, path ...any) {
		if !ok {
			all = append(all, document.Problem{Path: append([]any{"model"}, path...), Message: fmt.Sprintf(format, value)})
		}
	}
	const factor = "it is %v: at least 1 and at most 1000 is right"
	bad(m.Locality.Rack >= 1 && m.Locality.Rack <= factorMax, factor, m.Locality.Rack, "locality", "rack")
	bad(m.Locality.Remote >= m.Locality.Rack && m.Locality.Remote <= factorMax, "it is %v: at least what rack is and at most 1000 is right", m.Locality.Remote, "locality", "remote")
	bad(m.Stragglers.Share >= 0 && m.Stragglers.Share <= 1, "it is %v: from 0 to 1 is right", m.Stragglers.Share, "stragglers", "share")
	bad(m.Stragglers.Factor >= 1 && m.Stragglers.Factor <= factorMax, factor, m.Stragglers.Factor, "stragglers", "factor")
	bad(m.SlowStart > 0 && m.SlowStart <= 1, "it is %v: above 0 and at most 1, which is all of them, is right", m.SlowStart, "slowStart")
	const speed = "it is %d: from 0, which is no bound, to 1 PiB a second is right"
	bad(m.Network.Host >= 0 && m.Network.Host <= 1<<50, speed, m.Network.Host, "network", "host")
	bad(m.Network.Rack >= 0 && m.Network.Rack <= 1<<50, speed, m.Network.Rack, "network", "rack")
	for _, t := range []struct {
		d    time.Duration
		path []any
	}{
		{m.Start, []any{"start"}},
		{m.Stop, []any{"stop"}},
		{m.Latency, []any{"latency"}},
		{m.Heartbeat, []any{"heartbeat"}},
		{m.ProgressEvery, []any{"progressEvery"}},
		{m.Suspend.Fixed, []any{"suspend", "fixed"}},
		{m.Suspend.PerGiB, []any{"suspend", "perGiB"}},
		{m.Resume.Fixed, []any{"resume", "fixed"}},
		{m.Resume.PerGiB, []any{"resume", "perGiB"}},
	} {
		bad(t.d >= 0 && t.d <= TimeMax, "it is %v: from 0 to 8760h is right", t.d, t.path...)
	}
	return all
}

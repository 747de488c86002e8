package launchers

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const unknownLoad = -1

func machineLoad(cpu, memory float64) *wire.MachineLoad {
	m := &wire.MachineLoad{}
	if cpu >= 0 {
		m.Cpu = &cpu
	}
	if memory >= 0 {
		m.Memory = &memory
	}
	return m
}

// TestLoadsAreToldWhenTheyMatter: one launcher's heartbeats, in order, and which of
// them are worth an entry in the log.
func TestLoadsAreToldWhenTheyMatter(t *testing.T) {
	var told sentLoad
	now := time.Unix(1000, 0)
	for i, beat := range []struct {
		after       time.Duration
		cpu, memory float64
		told        bool
	}{
		{0, unknownLoad, 0.5, true},               // the first
		{500 * time.Millisecond, 0.3, 0.5, false}, // so soon, not even that the CPU is known
		{500 * time.Millisecond, 0.3, 0.5, true},  // now it is
		{time.Second, 0.34, 0.46, false},          // both change by less than a twentieth
		{time.Second, 0.36, 0.5, true},            // more since the last report
		{999 * time.Millisecond, 1, 0.5, false},   // not more often than once a second
		{time.Millisecond, 1, 0.5, true},
		{time.Second, 1, 0.44, true},           // memory counts as much
		{9 * time.Second, 0.97, 0.44, false},   // a small change
		{time.Second, 0.97, 0.44, true},        // is reported in the end, so that limits are exact
		{time.Minute, 0.975, 0.445, false},     // but not the least
		{time.Second, 0.97, unknownLoad, true}, // an unknown value must not stay
		{time.Second, unknownLoad, unknownLoad, true},
		{time.Hour, unknownLoad, unknownLoad, false},
		{time.Second, 0, unknownLoad, true}, // nothing and unknown are not the same
	} {
		now = now.Add(beat.after)
		if got := told.due(now, machineLoad(beat.cpu, beat.memory)); got != beat.told {
			t.Errorf("heartbeat %d, %+v: told %t", i, beat, got)
		}
	}
	if !told.due(now.Add(time.Minute), nil) || told.due(now.Add(time.Hour), nil) {
		t.Error("a launcher that says nothing at all is not unknown")
	}
}

// TestOnlyWhoAsksHearsOfLoads: for other policies heartbeats make no inputs, and the
// next policy that does want to know hears at the first heartbeat.
func TestOnlyWhoAsksHearsOfLoads(t *testing.T) {
	l := NewTable(time.Second, time.Minute)
	s := newStation("a", 5)
	var able scheduler.Ability // of the policy that runs
	server := &Server{Table: l, Wants: func(a scheduler.Ability) bool { return able.Has(a) }, Stats: metrics.New()}
	beat := func() []*wire.Input {
		return server.inputs(t.Context(), &wire.FromLauncher{
			Heartbeat: &wire.Heartbeat{Load: machineLoad(0.5, 0.25)},
			Reports:   []*wire.Report{{Incarnation: 5, What: &wire.Report_Load{Load: machineLoad(1, 1)}}}, // not for launchers to say
		}, s.session)
	}
	able = scheduler.AbilityLoad
	if got := beat(); len(got) != 0 {
		t.Errorf("before the welcome there are %v", got)
	}
	joined(t, l, s)
	able = 0
	if got := beat(); len(got) != 0 {
		t.Errorf("without a policy there are %v", got)
	}
	able = scheduler.AbilityProgress
	if got := beat(); len(got) != 0 {
		t.Errorf("a policy that did not ask gets %v", got)
	}
	able |= scheduler.AbilityLoad
	got := beat()
	if len(got) != 1 {
		t.Fatalf("a policy that asks gets %v", got)
	}
	r := got[0].GetReport()
	if m := r.GetReport().GetLoad(); r.GetLauncher() != 7 || r.GetReport().GetIncarnation() != 5 || m.GetCpu() != 0.5 || m.GetMemory() != 0.25 {
		t.Errorf("it gets %v", r)
	}
	if got := beat(); len(got) != 0 {
		t.Errorf("what it knows is told again: %v", got)
	}
}

// TestLaunchersShowTheirLoad: the list of launchers has the loads of the newest heartbeats,
// whatever policy runs, and none of a stream that ended.
func TestLaunchersShowTheirLoad(t *testing.T) {
	l := NewTable(time.Second, time.Minute)
	s, other := newStation("a", 5), newStation("b", 1)
	joined(t, l, s)
	if err := l.grant(other.session); err != nil {
		t.Fatal(err)
	}
	l.welcomed(core.Welcome{Name: "b", Incarnation: 1, Launcher: 8}, &wire.Welcome{})
	s.hear(&wire.Heartbeat{Seq: 1, Load: machineLoad(0.5, 0.25)})
	s.hear(nil) // a report
	if got := l.Loads(); got["a"].GetMemory() != 0.25 || got["b"] != nil {
		t.Errorf("the loads are %v", got)
	}
	s.hear(&wire.Heartbeat{Seq: 2})
	if got := l.Loads(); got["a"] != nil {
		t.Errorf("the loads are %v", got)
	}
	s.hear(&wire.Heartbeat{Seq: 3, Load: machineLoad(0, 0)})
	l.released(s.session)
	if got := l.Loads(); got["a"] != nil {
		t.Errorf("without a stream the loads are %v", got)
	}
}

package schedwire

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"google.golang.org/protobuf/proto"
)

// sample has a row of the shapes that decoders check.
func sample() *Round {
	m, err := NewRound(&scheduler.Round{
		Number: 3, Now: 50,
		Events: []scheduler.Event{
			scheduler.Outcome{At: 10, Kind: scheduler.DecisionLaunch, Attempts: []scheduler.AttemptID{4}},
			scheduler.LauncherJoined{At: 20, Launcher: 1, Name: "a", Slots: []scheduler.SlotCount{{Kind: "map", Count: 2}}},
			scheduler.BundleReady{At: 30, Job: 1, Bundle: 1, Groups: []scheduler.Group{{Kind: "map", Places: []scheduler.Place{{Host: "a"}}}}},
			scheduler.AttemptPhase{At: 30, Attempt: 4, Phase: scheduler.PhaseExecute},
			scheduler.SettingChanged{At: 30, Version: 2},
			scheduler.LauncherLoad{At: 30, Launcher: 1, CPU: 1, Memory: scheduler.LoadUnknown},
		},
		Offers: []scheduler.Offer{{Launcher: 1, Free: []scheduler.SlotCount{{Kind: "map", Count: 1}}}, {Launcher: 2}},
	})
	if err != nil {
		panic(err)
	}
	return m
}

func TestBadRoundsAreRefused(t *testing.T) {
	if _, err := sample().Decode(); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		spoil func(*Round)
		want  string
	}{
		"string index":        {func(m *Round) { m.Events.LauncherJoined.Name[0] = 99 }, "index 99"},
		"string length":       {func(m *Round) { m.Strings.Length[0] = 1 << 31 }, "strings"},
		"text left over":      {func(m *Round) { m.Strings.Text = append(m.Strings.Text, 'x') }, "belong to no string"},
		"unknown event":       {func(m *Round) { m.Events.Kind[0] = 200 }, "unknown kind 200"},
		"no event kind":       {func(m *Round) { m.Events.Kind[0] = 0 }, "unknown kind 0"},
		"negative event kind": {func(m *Round) { m.Events.Kind[0] = -1 }, "unknown kind -1"},
		"a kind too many":     {func(m *Round) { m.Events.Kind[0] = EventKind_EVENT_KIND_BUNDLE_READY }, "bundle ready"},
		"time missing":        {func(m *Round) { m.Events.At = m.Events.At[1:] }, "events"},
		"time goes back":      {func(m *Round) { m.Events.At[2] = -1 }, "earlier"},
		"enumeration":         {func(m *Round) { m.Events.AttemptPhase.Phase[0] = 3 }, "phase: unknown value 3"},
		"short column":        {func(m *Round) { m.Events.BundleReady.Job = nil }, "bundle ready"},
		"long column":         {func(m *Round) { m.Offers.Held = append(m.Offers.Held, 1) }, "offers"},
		"row counts":          {func(m *Round) { m.Events.Outcome.Attempts.Rows[0] = 1 << 31 }, "outcome attempts"},
		"rows missing":        {func(m *Round) { m.Events.LauncherJoined.Slots.Rows = nil }, "launcher joined slots"},
		"load too high":       {func(m *Round) { m.Events.LauncherLoad.Cpu[0] = 1.1 }, "1.1 is not a load"},
		"load below nothing":  {func(m *Round) { m.Events.LauncherLoad.Memory[0] = -0.5 }, "-0.5 is not a load"},
		"load no number":      {func(m *Round) { m.Events.LauncherLoad.Memory[0] = math.NaN() }, "NaN is not a load"},
		"load's launcher":     {func(m *Round) { m.Events.LauncherLoad.Launcher = nil }, "launcher load"},
		"column missing":      {func(m *Round) { m.Events.BundleReady.Groups.InputBytes = nil }, "bundle ready groups"},
		"group shape":         {func(m *Round) { m.Events.BundleReady.Groups.Shape[0] = 1 }, "shape 1 of 1"},
		"shape column":        {func(m *Round) { m.Events.BundleReady.Groups.ShapeSlots = nil }, "bundle ready groups shapes"},
		"place's node":        {func(m *Round) { m.Events.BundleReady.Groups.Places.Node[0] = 5 }, "node 5 of 1"},
		"preemption missing":  {func(m *Round) { m.Events.Outcome.Kind[0] = DecisionKind_DECISION_KIND_PREEMPT }, "outcome preempt"},
		"too many places": {func(m *Round) {
			p := m.Events.BundleReady.Groups.Places
			p.Rows[0] = 9
			p.Node, p.Bytes = make([]uint32, 9), make([]int64, 9)
		}, "at most 8"},
		"offers out of order": {func(m *Round) { m.Offers.Launcher[1] = 1 }, "offer 1"},
		"bad config":          {func(m *Round) { m.Events.SettingChanged.Config[0].FileName = []uint32{0} }, "configuration files"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m := sample()
			c.spoil(m)
			b, err := proto.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			_, err = DecodeRound(b)
			if !errors.Is(err, ErrBadMessage) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v; want one about %q", err, c.want)
			}
		})
	}
}

func TestBadDecisionsAreRefused(t *testing.T) {
	cases := map[string]*Decisions{
		"launch without launchers' rows": {Launch: &Launch{Bundle: []uint64{1}, Launchers: &Ids{Id: []uint64{1}}}},
		"admission with a pool too many": {Admit: &Admit{Job: []uint64{1}, Pool: []uint32{0, 0}}},
		"admission to no text":           {Admit: &Admit{Job: []uint64{1}, Pool: []uint32{99}}},
		"refusal without reason":         {Refuse: &Refuse{Job: []uint64{1}}},
		"preempt without mode":           {Preempt: &Preempt{Grace: []int64{1}}},
		"preempt mode":                   {Preempt: &Preempt{Mode: []PreemptMode{4}, Grace: []int64{1}, Beneficiary: []uint64{1}, Bundle: []uint64{1}}},
		"wait reason":                    {Waiting: &Waiting{Job: []uint64{1}, Reason: []WaitReason{-1}, Detail: []uint32{0}}},
		"string index":                   {Waiting: &Waiting{Job: []uint64{1}, Reason: []WaitReason{1}, Detail: []uint32{7}}},
		"note without body":              {Notes: &Notes{Name: []uint32{0}}},
		"problems without rows":          {Settings: &SettingsVerdict{Problems: &Problems{File: []uint32{0}, Line: []int64{0}, Message: []uint32{0}}}},
		"unknown ability":                {Settings: &SettingsVerdict{Version: []uint64{1}, Problems: &Problems{Rows: []uint32{0}}, Abilities: []uint32{1 << 20}, ProgressEvery: []int64{0}}},
		"abilities of too few verdicts":  {Settings: &SettingsVerdict{Version: []uint64{1, 2}, Problems: &Problems{Rows: []uint32{0, 0}}, Abilities: []uint32{1}, ProgressEvery: []int64{0}}},
	}
	for name, m := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := m.Decode(); !errors.Is(err, ErrBadMessage) {
				t.Errorf("error %v", err)
			}
		})
	}
	old := &Decisions{Settings: &SettingsVerdict{Version: []uint64{1}, Problems: &Problems{Rows: []uint32{0}}}}
	if d, err := old.Decode(); err != nil || len(d.Settings) != 1 || d.Settings[0].Version != 1 {
		t.Errorf("a verdict without abilities, of a policy built before there were any: %+v, %v", d, err)
	}
	if _, err := DecodeDecisions([]byte{0xff}); !errors.Is(err, ErrBadMessage) {
		t.Errorf("garbage: error %v", err)
	}
}

func TestWhatTheContractForbidsIsNotEncoded(t *testing.T) {
	for name, r := range map[string]scheduler.Round{
		"nil event":      {Events: []scheduler.Event{nil}},
		"time goes back": {Events: []scheduler.Event{scheduler.TimePassed{At: 2}, scheduler.TimePassed{At: 1}}},
		"enumeration":    {Events: []scheduler.Event{scheduler.JobFinished{}}},
		"nine places":    {Events: []scheduler.Event{scheduler.BundleReady{Groups: []scheduler.Group{{Places: make([]scheduler.Place, 9)}}}}},
		"load":           {Events: []scheduler.Event{scheduler.LauncherLoad{CPU: math.NaN()}}},
		"stage id":       {Events: []scheduler.Event{scheduler.JobSubmitted{Job: scheduler.Job{Stages: []scheduler.Stage{{ID: 1}}}}}},
		"offers":         {Offers: []scheduler.Offer{{Launcher: 2}, {Launcher: 1}}},
	} {
		if _, err := EncodeRound(&r); err == nil || !strings.HasPrefix(err.Error(), "encode round") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := EncodeDecisions(&scheduler.Decisions{Preempt: []scheduler.Preempt{{}}}); err == nil {
		t.Error("a preemption without a mode was encoded")
	}
	if _, err := NewDescription(scheduler.Description{Abilities: 1 << 20}); err == nil {
		t.Error("an unknown ability was encoded")
	}
}

// fuzz feeds a decoder: it must not panic, and what it accepts must survive
// another trip.
func fuzz[V any](f *testing.F, decode func([]byte) (V, error), encode func(*V) ([]byte, error)) {
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := decode(b)
		if err != nil {
			if !errors.Is(err, ErrBadMessage) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		first, err := encode(&v)
		if err != nil {
			t.Fatalf("what was decoded does not encode: %v", err)
		}
		v, err = decode(first)
		if err != nil {
			t.Fatalf("what was encoded does not decode: %v", err)
		}
		if second, err := encode(&v); err != nil || string(first) != string(second) {
			t.Fatalf("a second trip changed the value (error %v)", err)
		}
	})
}

func FuzzRound(f *testing.F) {
	b, err := proto.Marshal(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	fuzz(f, DecodeRound, EncodeRound)
}

func FuzzDecisions(f *testing.F) {
	b, err := EncodeDecisions(&scheduler.Decisions{
		Launch:  []scheduler.Launch{{Bundle: 1, Launchers: []scheduler.LauncherID{1, 2}}},
		Waiting: []scheduler.Waiting{{Job: 1, Reason: scheduler.WaitTurn, Detail: "second of two"}},
		Preempt: []scheduler.Preempt{{Mode: scheduler.PreemptSoft, Victims: []scheduler.AttemptID{3}, For: 1}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	fuzz(f, DecodeDecisions, EncodeDecisions)
}

func FuzzSnapshot(f *testing.F) {
	pages, err := EncodeSnapshot(&scheduler.Snapshot{Now: 5, Events: []scheduler.Event{scheduler.JobSubmitted{At: 4, Job: scheduler.Job{ID: 1, Name: "j"}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(pages[0])
	one := func(b []byte) (scheduler.Snapshot, error) { return DecodeSnapshot([][]byte{b}) }
	fuzz(f, one, func(s *scheduler.Snapshot) ([]byte, error) {
		pages, err := EncodeSnapshot(s)
		if err != nil {
			return nil, err
		}
		return pages[0], nil
	})
}

package schedwire

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// later gives a message a field that only a later version has.
func later(m proto.Message) {
	field := protowire.AppendTag(nil, 1000, protowire.BytesType)
	m.ProtoReflect().SetUnknown(protowire.AppendBytes(field, []byte("of tomorrow")))
}

// everywhere gives it to a message and to all that are in it.
func everywhere(m protoreflect.Message) {
	later(m.Interface())
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				everywhere(v.List().Get(i).Message())
			}
		default:
			everywhere(v.Message())
		}
		return true
	})
}

// today are events that this version knows, with all enumerations.
func today() []scheduler.Event {
	return []scheduler.Event{
		scheduler.LauncherJoined{At: 10, Launcher: 1, Slots: []scheduler.SlotCount{{Kind: "kind of tomorrow", Count: 2}}},
		scheduler.AttemptPhase{At: 20, Attempt: 4, Phase: scheduler.PhaseExecute},
		scheduler.AttemptEnded{At: 30, Attempt: 4, Outcome: scheduler.Killed},
		scheduler.JobFinished{At: 30, Job: 1, Outcome: scheduler.JobKilled},
		scheduler.Outcome{At: 40, Kind: scheduler.DecisionLaunch, Reason: scheduler.Unsupported},
		scheduler.Outcome{At: 40, Kind: scheduler.DecisionPreempt, Preempt: scheduler.Preempt{Mode: scheduler.PreemptSuspend}},
	}
}

// tomorrow changes events as a later manager might: every enumeration has a further value, and
// between all events are some of unknown kinds, the first of them one second late.
func tomorrow(m *Events) {
	m.AttemptPhase.Phase[0] = 3
	m.AttemptEnded.Outcome[0] = 6
	m.JobFinished.Outcome[0] = 4
	m.Outcome.Reason[0] = 300
	m.Outcome.Preempt.Mode[0] = 4
	var kinds []EventKind
	var at []int64
	for i, k := range m.Kind {
		kinds, at = append(kinds, EventKind(100+i), k, 5000), append(at, m.At[i], 0, 0)
	}
	m.Kind, m.At = kinds, at
}

// seen returns the events that a present-day policy decodes.
func seen() []scheduler.Event {
	events := today()
	for i, e := range events {
		switch e := e.(type) {
		case scheduler.AttemptPhase:
			e.Phase = 0
			events[i] = e
		case scheduler.AttemptEnded:
			e.Outcome = 0
			events[i] = e
		case scheduler.JobFinished:
			e.Outcome = 0
			events[i] = e
		case scheduler.Outcome:
			e.Reason, e.Preempt.Mode = 0, 0
			events[i] = e
		}
	}
	return events
}

// skipped returns the counts of skipped values.
func skipped() map[string]int {
	counts := map[string]int{"event kind 5000": 6, "phase 3": 1, "attempt outcome 6": 1, "job outcome 4": 1, "refusal reason 300": 1, "preempt mode 4": 1}
	for i := range 6 {
		counts[fmt.Sprintf("event kind %d", 100+i)] = 1
	}
	return counts
}

func TestARoundOfALaterManagerIsRead(t *testing.T) {
	m, err := NewRound(&scheduler.Round{Number: 3, Now: 50, Events: today(), Offers: []scheduler.Offer{{Launcher: 1, Held: 7}}})
	if err != nil {
		t.Fatal(err)
	}
	tomorrow(m.Events)
	everywhere(m.ProtoReflect())
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var unknown Unknown
	got, err := ReadRound(b, &unknown)
	if err != nil {
		t.Fatal(err)
	}
	want := scheduler.Round{Number: 3, Now: 50, Events: seen(), Offers: []scheduler.Offer{{Launcher: 1, Held: 7}}}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if d := cmp.Diff(skipped(), maps.Collect(unknown.All())); d != "" {
		t.Errorf("counted (-want +got)\n%s", d)
	}
	if _, err := DecodeRound(b); !errors.Is(err, ErrBadMessage) {
		t.Errorf("who does not skip: error %v", err)
	}
}

// Damaged data does not count as a later version.
func TestALaterManagerKeepsTheFormat(t *testing.T) {
	for name, spoil := range map[string]func(*Round){
		"no event kind":       func(m *Round) { m.Events.Kind[0] = 0 },
		"negative event kind": func(m *Round) { m.Events.Kind[0] = -1 },
		"negative phase":      func(m *Round) { m.Events.AttemptPhase.Phase[0] = -1 },
		"no phase":            func(m *Round) { m.Events.AttemptPhase.Phase[0] = 0 },
		"row without event":   func(m *Round) { m.Events.Kind[1] = 100 },
		"time goes back":      func(m *Round) { m.Events.Kind[1], m.Events.At[1] = 100, -1 },
	} {
		m := sample()
		spoil(m)
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadRound(b, &Unknown{}); !errors.Is(err, ErrBadMessage) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Since counts the events that a policy gets, also where some before and behind it are
// skipped, on whatever page.
func TestASnapshotOfALaterManagerIsRead(t *testing.T) {
	known := today()
	for since := range 2*3*len(known) + 1 {
		reader := SnapshotReader{Unknown: &Unknown{}}
		for page := range uint32(2) {
			pages, err := NewSnapshot(&scheduler.Snapshot{Now: 50, Events: known})
			if err != nil {
				t.Fatal(err)
			}
			m := pages[0]
			m.Page, m.Pages = page, 2
			if page == 0 {
				m.Since = int64(since)
			}
			tomorrow(m.Events)
			everywhere(m.ProtoReflect())
			if err := reader.Add(m); err != nil {
				t.Fatal(err)
			}
		}
		got, err := reader.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		// Of each three events sent the middle one is known.
		want := scheduler.Snapshot{Now: 50, Events: append(seen(), seen()...), Since: (since + 1) / 3}
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("since event %d (-want +got)\n%s", since, d)
		}
	}
}

func TestConfigurationAndEnvironmentOfALaterManagerAreRead(t *testing.T) {
	c := scheduler.Config{File: "site.yaml", Line: 3, Text: []byte("a: 1"), Files: []scheduler.ConfigFile{{Name: "f", Data: []byte("x")}}}
	config, err := NewConfig(c)
	if err != nil {
		t.Fatal(err)
	}
	everywhere(config.ProtoReflect())
	if got, err := config.Decode(); err != nil || cmp.Diff(c, got) != "" {
		t.Errorf("configuration %+v, error %v", got, err)
	}
	e := scheduler.Environment{Heartbeat: 3, Kinds: []scheduler.SlotKind{"map", "kind of tomorrow"}, ProtectFor: 5}
	environment, err := NewEnvironment(e)
	if err != nil {
		t.Fatal(err)
	}
	everywhere(environment.ProtoReflect())
	if got, err := environment.Decode(); err != nil || cmp.Diff(e, got) != "" {
		t.Errorf("environment %+v, error %v", got, err)
	}
	// An earlier manager omits some of the values: they are 0.
	if got, err := (&Environment{Heartbeat: 3}).Decode(); err != nil || got.ProtectFor != 0 || got.Heartbeat != 3 {
		t.Errorf("environment of an earlier manager %+v, error %v", got, err)
	}
}

// A manager carries out all of an answer or none of it.
func TestAnAnswerOfALaterPolicyIsRefused(t *testing.T) {
	const want = "field 1000 of %s is not known to this version"
	whole, err := NewDecisions(&scheduler.Decisions{
		Refuse: []scheduler.Refuse{{Job: 1, Reason: "no"}}, Admit: []scheduler.Admit{{Job: 2}},
		Preempt: []scheduler.Preempt{{Mode: scheduler.PreemptSoft, Victims: []scheduler.AttemptID{3}, For: 1, Placement: []scheduler.LauncherID{1}}},
		Resume:  []scheduler.Resume{{Attempt: 5}}, Launch: []scheduler.Launch{{Bundle: 1, Launchers: []scheduler.LauncherID{1}}},
		Answers: []scheduler.Answer{{Request: 1, Status: 200}}, Settings: []scheduler.SettingsVerdict{{Version: 1, Problems: scheduler.Problems{{Message: "bad"}}}},
		Waiting: []scheduler.Waiting{{Job: 1, Reason: scheduler.WaitTurn}}, Notes: []scheduler.Note{{Name: "n"}}, Checkpoint: &scheduler.Checkpoint{Version: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := whole.Decode(); err != nil {
		t.Fatal(err)
	}
	parts := 0
	var each func(m protoreflect.Message)
	each = func(m protoreflect.Message) {
		parts++
		later(m.Interface())
		_, err := whole.Decode()
		if name := string(m.Descriptor().Name()); !errors.Is(err, ErrBadMessage) || !strings.Contains(err.Error(), fmt.Sprintf(want, name)) {
			t.Errorf("%s: error %v", name, err)
		}
		m.SetUnknown(nil)
		m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			if f.Message() != nil {
				each(v.Message())
			}
			return true
		})
	}
	each(whole.ProtoReflect())
	if lists := whole.ProtoReflect().Descriptor().Fields().Len(); parts <= lists {
		t.Errorf("%d messages were tried: the answer has %d fields, and some of them have messages below", parts, lists)
	}
	description, err := NewDescription(scheduler.Description{Name: "later"})
	if err != nil {
		t.Fatal(err)
	}
	later(description)
	if _, err := description.Decode(); !errors.Is(err, ErrBadMessage) {
		t.Errorf("a description: error %v", err)
	}
}

func TestWhatIsNotKnownIsCountedWithinBounds(t *testing.T) {
	var u Unknown
	for i := range 3 * UnknownMax {
		if first := u.Add(fmt.Sprintf("event kind %d", i), 2); first != (i <= UnknownMax) {
			t.Errorf("thing %d: the first of its name: %v", i, first)
		}
	}
	counts, total := maps.Collect(u.All()), 0
	for _, n := range counts {
		total += n
	}
	if len(counts) != UnknownMax+1 || counts["others"] != 4*UnknownMax || total != 6*UnknownMax {
		t.Errorf("%d names, %d others, %d in all", len(counts), counts["others"], total)
	}
}

// An earlier manager omits which stages forbid suspension and what they read.
func TestStagesOfAnEarlierManager(t *testing.T) {
	stages := []scheduler.Stage{{Name: "map", Groups: 2}, {ID: 1, Name: "reduce", NoSuspend: true, Expected: time.Minute, ExpectedBy: scheduler.EstimateAuthor, After: []scheduler.StageID{0}}}
	for name, change := range map[string]func(*Stages){
		"as it is": func(*Stages) {}, "without the columns": func(c *Stages) { c.NoSuspend, c.After, c.Expected, c.ExpectedBy = nil, nil, nil, nil },
		"one without its source": func(c *Stages) { c.ExpectedBy = nil },
		"half a column":          func(c *Stages) { c.NoSuspend = c.NoSuspend[:1] }, "no such stage": func(c *Stages) { c.After.Id[0] = 1 << 40 },
	} {
		w := &writer{}
		c := newJobs()
		c.add(w, &scheduler.Job{ID: 1, Stages: stages})
		change(c.Stages)
		r := newReader(w.table())
		rows := readJobs(r, "jobs", 1, c)
		var got []scheduler.Stage
		if r.err == nil {
			got = rows.next().Stages
		}
		switch bad := name == "half a column" || name == "one without its source" || name == "no such stage"; {
		case bad != (r.err != nil):
			t.Errorf("%s: %v", name, r.err)
		case name == "without the columns" && (len(got) != 2 || got[1].NoSuspend || got[1].Expected != 0 || got[1].After != nil):
			t.Errorf("%s: %+v", name, got)
		case name == "as it is" && cmp.Diff(stages, got) != "":
			t.Errorf("%s: %s", name, cmp.Diff(stages, got))
		}
	}
}

// An earlier manager omits swap: then there is none.
func TestSwapOfAnEarlierManager(t *testing.T) {
	round := scheduler.Round{
		Number: 1, Events: []scheduler.Event{scheduler.LauncherJoined{Launcher: 1, Memory: 8, Swap: 4}},
		Offers: []scheduler.Offer{{Launcher: 1, Memory: 8, Swap: 4}},
	}
	for name, change := range map[string]func(*Round){
		"as it is":            func(*Round) {},
		"without the columns": func(m *Round) { m.Events.LauncherJoined.Swap, m.Offers.Swap = nil, nil },
		"another launcher":    func(m *Round) { m.Events.LauncherJoined.Swap = []int64{4, 4} },
		"another offer":       func(m *Round) { m.Offers.Swap = []int64{4, 4} },
	} {
		m, err := NewRound(&round)
		if err != nil {
			t.Fatal(err)
		}
		change(m)
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeRound(b) // directly
		if also, err2 := m.Decode(); cmp.Diff(got, also) != "" || (err == nil) != (err2 == nil) {
			t.Errorf("%s: %+v and %v, by the message %+v and %v", name, got, err, also, err2)
		}
		want := int64(4)
		if name != "as it is" {
			want = 0
		}
		switch wrong := strings.HasPrefix(name, "another"); {
		case wrong != (err != nil):
			t.Errorf("%s: %v", name, err)
		case !wrong && (got.Offers[0].Swap != want || got.Events[0].(scheduler.LauncherJoined).Swap != want):
			t.Errorf("%s: %+v", name, got)
		}
	}
}

package schedwire

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// same compares values as the contract does: no list and an empty list are one.
func sameValue(t *rapid.T, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()); d != "" {
		t.Fatalf("the value changed on its way (-sent +received):\n%s", d)
	}
}

// throughMessage checks that make and its message's Decode are each other's
// reverse, with the bytes between them.
func throughMessage[V any, M interface {
	proto.Message
	Decode() (V, error)
}](draw func(*rapid.T) V, create func(V) (M, error),
) func(*testing.T) {
	return rapid.MakeCheck(func(t *rapid.T) {
		want := draw(t)
		m, err := create(want)
		if err != nil {
			t.Fatal(err)
		}
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		proto.Reset(m)
		if err := proto.Unmarshal(b, m); err != nil {
			t.Fatal(err)
		}
		got, err := m.Decode()
		if err != nil {
			t.Fatal(err)
		}
		sameValue(t, want, got)
	})
}

func TestEveryTypeSurvivesTheWire(t *testing.T) {
	t.Run("round", throughMessage(round, func(r scheduler.Round) (*Round, error) { return NewRound(&r) }))
	t.Run("decisions", throughMessage(decisions, func(d scheduler.Decisions) (*Decisions, error) { return NewDecisions(&d) }))
	t.Run("events", throughMessage(anyEvents, NewEventBatch))
	t.Run("config", throughMessage(config, NewConfig))
	t.Run("environment", throughMessage(environment, NewEnvironment))
	t.Run("description", throughMessage(description, NewDescription))
	t.Run("explanation", throughMessage(explanation, NewExplanation))
	t.Run("status", throughMessage(status, NewStatus))
	t.Run("problems", throughMessage(func(t *rapid.T) scheduler.Problems { return many(t, 3, problem) }, NewProblemList))
	t.Run("note", throughMessage(note, NewNote))
	t.Run("page asked", throughMessage(pageAsked, NewPageAsked))
	t.Run("page", throughMessage(page, NewPage))
	t.Run("credentials", throughMessage(credentials, NewCredentials))
	t.Run("proof", throughMessage(proof, NewProof))
}

func TestBytesSurviveTheWire(t *testing.T) {
	t.Run("round", rapid.MakeCheck(func(t *rapid.T) {
		want := round(t)
		b, err := EncodeRound(&want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeRound(b)
		if err != nil {
			t.Fatal(err)
		}
		sameValue(t, want, got)
	}))
	t.Run("snapshot", rapid.MakeCheck(func(t *rapid.T) {
		want := snapshot(t)
		b, err := EncodeSnapshot(&want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeSnapshot(b)
		if err != nil {
			t.Fatal(err)
		}
		sameValue(t, want, got)
	}))
	t.Run("events", rapid.MakeCheck(func(t *rapid.T) {
		want := anyEvents(t)
		b, err := EncodeEvents(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeEvents(b)
		if err != nil {
			t.Fatal(err)
		}
		sameValue(t, want, got)
	}))
	t.Run("decisions, the same bytes each time", rapid.MakeCheck(func(t *rapid.T) {
		want := decisions(t)
		b, err := EncodeDecisions(&want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeDecisions(b)
		if err != nil {
			t.Fatal(err)
		}
		sameValue(t, want, got)
		again, err := EncodeDecisions(&got)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b, again) {
			t.Fatal("encoding what was decoded gives other bytes")
		}
	}))
}

// A snapshot larger than a page comes in several, none of them huge.
func TestSnapshotIsPaged(t *testing.T) {
	want := scheduler.Snapshot{Now: 9, Checkpoint: &scheduler.Checkpoint{Version: 1, Data: []byte("state")}, Since: 70_000}
	for i := range 80_000 {
		want.Events = append(want.Events, scheduler.BundleReady{At: scheduler.Time(i), Job: 1, Bundle: scheduler.BundleID(i + 1), Groups: []scheduler.Group{{Kind: "default", Slots: 1}}})
	}
	pages, err := EncodeSnapshot(&want)
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 4 {
		t.Fatalf("%d pages", len(pages))
	}
	for i, p := range pages {
		if len(p) > 4<<20 {
			t.Errorf("page %d has %d bytes", i, len(p))
		}
	}
	got, err := DecodeSnapshot(pages)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Fatal(d)
	}
	for name, bad := range map[string][][]byte{
		"none": nil, "last missing": pages[:len(pages)-1], "first missing": pages[1:],
		"twice": append(append([][]byte{}, pages...), pages[0]),
	} {
		if _, err := DecodeSnapshot(bad); err == nil {
			t.Errorf("pages with %s were accepted", name)
		}
	}
}

// Bundles that are alike have one list of groups after decoding. Others, and those with places, have their own.
func TestAlikeBundlesShareGroups(t *testing.T) {
	plain := scheduler.Group{Kind: "default", Slots: 1, Memory: 1 << 20, InputBytes: 5}
	more, other, located := plain, plain, plain
	more.InputBytes, other.Memory = 6, 1
	located.Places = []scheduler.Place{{Host: "a", Bytes: 5}}
	want := scheduler.Round{Number: 1, Now: 1}
	for i, groups := range [][]scheduler.Group{
		{plain}, {plain}, {more}, {other}, {plain}, {plain}, {located}, {located}, {plain}, {plain, plain}, {plain, plain}, {plain},
	} {
		want.Events = append(want.Events, scheduler.BundleReady{At: 1, Job: 1, Bundle: scheduler.BundleID(i + 1), Groups: groups})
	}
	b, err := EncodeRound(&want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeRound(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Fatal(d)
	}
	var shared []int
	for i := range got.Events[1:] {
		if &got.Events[i].(scheduler.BundleReady).Groups[0] == &got.Events[i+1].(scheduler.BundleReady).Groups[0] {
			shared = append(shared, i+1)
		}
	}
	if want := []int{1, 5}; !slices.Equal(shared, want) {
		t.Errorf("these share the list of the one before: %v, want %v", shared, want)
	}
}

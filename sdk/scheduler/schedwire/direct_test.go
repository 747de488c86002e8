package schedwire

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

// The bytes that are written directly are those of the protobuf message.
func TestDirectBytesAreTheMessage(t *testing.T) {
	direct := 0
	rapid.Check(t, func(t *rapid.T) {
		r := round(t)
		b, ok := encodeDirect(&r)
		if !ok {
			return
		}
		direct++
		want, err := NewRound(&r)
		if err != nil {
			t.Fatalf("made directly, and refused as a message: %v", err)
		}
		var got Round
		if err := proto.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(want, &got) {
			t.Fatalf("sent %v\ngot %v", want, &got)
		}
	})
	if direct == 0 {
		t.Error("no round was made directly")
	}
}

// What is read directly is what the message's way reads, for whole rounds and for
// damaged ones: where the direct way has an answer, it is the same, and no error.
func TestDirectlyReadIsTheMessage(t *testing.T) {
	read, damaged := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		r := round(t)
		b, err := marshal(NewRound(&r))
		if err != nil {
			t.Fatal(err)
		}
		harmed := len(b) > 0 && flag(t)
		if harmed {
			b[rapid.IntRange(0, len(b)-1).Draw(t, "place")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		got, ok := decodeDirect(b)
		if !ok {
			return
		}
		want, err := unmarshal(b, &Round{}, (*Round).Decode)
		if err != nil {
			t.Fatalf("read directly, and refused as a message: %v", err)
		}
		sameValue(t, want, got)
		read++
		if harmed {
			damaged++
		}
	})
	if read == 0 || damaged == 0 {
		t.Errorf("%d rounds were read directly, %d of them damaged", read, damaged)
	}
}

// A round of the steady state takes the direct way on both sides.
func TestTheSteadyStateGoesDirectly(t *testing.T) {
	r := steadyRound(100)
	b, ok := encodeDirect(r)
	if !ok {
		t.Fatal("it was not encoded directly")
	}
	got, ok := decodeDirect(b)
	if !ok {
		t.Fatal("it was not decoded directly")
	}
	if d := cmp.Diff(*r, got, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}

// What protobuf allows and we do not write goes by way of the message, and is the same
// round.
func TestOtherLayoutsAreRead(t *testing.T) {
	r := steadyRound(3)
	m, err := NewRound(r)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	piece, err := proto.Marshal(&AttemptStarted{Attempt: m.Events.AttemptStarted.Attempt})
	if err != nil {
		t.Fatal(err)
	}
	unpacked := []byte(nil)
	for _, id := range m.Events.AttemptStarted.Attempt {
		unpacked = protowire.AppendVarint(protowire.AppendTag(unpacked, 1, protowire.VarintType), id)
	}
	rest := proto.CloneOf(m)
	rest.Events.AttemptStarted.Attempt = nil
	without, err := proto.Marshal(rest)
	if err != nil {
		t.Fatal(err)
	}
	inEvents := func(b []byte) []byte { return appendField(nil, 4, appendField(nil, 14, b)) }
	for name, b := range map[string][]byte{
		"a field unknown to us":   append(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1), plain...),
		"a list not packed":       append(slices.Clone(without), inEvents(unpacked)...),
		"a message in two pieces": append(slices.Clone(without), inEvents(piece)...),
	} {
		t.Run(name, func(t *testing.T) {
			if _, ok := decodeDirect(b); ok {
				t.Error("it was read directly: it is no test of the other way")
			}
			got, err := DecodeRound(b)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(*r, got, cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
}

// frequent are answers of the kind that goes directly.
func frequent(t *rapid.T) scheduler.Decisions {
	d := decisions(t)
	return scheduler.Decisions{Launch: d.Launch, WakeAt: d.WakeAt, Checkpoint: d.Checkpoint}
}

// An answer that launches and adds to the checkpoint at most is made to the message's very bytes.
func TestDirectDecisionsAreTheMessage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := frequent(t)
		b, ok := encodeDecisionsDirect(&d)
		if !ok {
			t.Fatal("it was not encoded directly")
		}
		want, err := marshal(NewDecisions(&d))
		if err != nil || !bytes.Equal(b, want) {
			t.Fatalf("made %x directly, and %x as a message, error %v", b, want, err)
		}
	})
}

// What is read of an answer directly is what the message's way reads, for whole and for
// damaged ones, of all kinds.
func TestDecisionsDirectlyReadAreTheMessage(t *testing.T) {
	read, damaged := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		d := decisions(t)
		if flag(t) {
			d = frequent(t)
		}
		b, err := marshal(NewDecisions(&d))
		if err != nil {
			t.Fatal(err)
		}
		harmed := len(b) > 0 && flag(t)
		if harmed {
			b[rapid.IntRange(0, len(b)-1).Draw(t, "place")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		got, ok := decodeDecisionsDirect(b)
		if !ok {
			return
		}
		want, err := unmarshal(b, &Decisions{}, (*Decisions).Decode)
		if err != nil {
			t.Fatalf("%x was read directly, and refused as a message: %v", b, err)
		}
		sameValue(t, want, got)
		read++
		if harmed {
			damaged++
		}
	})
	if read == 0 || damaged == 0 {
		t.Errorf("%d answers were read directly, %d of them damaged", read, damaged)
	}
}

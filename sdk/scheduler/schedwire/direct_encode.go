package schedwire

import (
	"slices"
	"sync"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// directEncoder encodes a round without the message. Frequent items (starts, ends and outcomes of
// attempts, and offers) go into packed lists at once. The rest is encoded through the message. The
// field numbers are those of scheduler.proto.
type directEncoder struct {
	w        writer
	kind, at []byte
	started  [8]([]byte)
	ended    [6]([]byte)
	work     [7]([]byte)
	outcome  [17]([]byte)
	attempts [3]([]byte)
	where    [3]([]byte) // the launchers of launches
	offers   [13]([]byte)
	free     [4]([]byte)
	amounts  [4]([]byte) // of countable resources
	ahead    [6]([]byte)
	others   eventWriter
	body     []byte
}

// directEncoders keep their buffers between rounds, up to directRoomMax bytes.
var directEncoders = sync.Pool{New: func() any { return &directEncoder{} }}

const directRoomMax = 1 << 20

// encodeDirect returns a round's bytes. It returns false for a round that it does not support or
// that breaks the contract: the message's encoder reports the error.
func encodeDirect(round *scheduler.Round) ([]byte, bool) {
	e := directEncoders.Get().(*directEncoder)
	e.clear()
	ok := e.addEvents(round.Events) && e.addOffers(round.Offers)
	var b []byte
	if ok {
		b, ok = e.assemble(round)
	}
	if len(e.body) <= directRoomMax {
		directEncoders.Put(e)
	}
	return b, ok
}

func (e *directEncoder) clear() {
	e.w, e.others = writer{}, eventWriter{Events: &Events{}}
	e.kind, e.at, e.body = e.kind[:0], e.at[:0], e.body[:0]
	for _, f := range []fields{e.started[:], e.ended[:], e.work[:], e.outcome[:], e.attempts[:], e.where[:], e.offers[:], e.free[:], e.amounts[:], e.ahead[:]} {
		f.clear()
	}
}

func (e *directEncoder) addEvents(events []scheduler.Event) bool {
	before := scheduler.Time(0)
	for i, x := range events {
		if x == nil {
			return false
		}
		at := x.When()
		if i > 0 && at < before {
			return false
		}
		kind := e.add(x)
		if kind == EventKind_EVENT_KIND_UNSPECIFIED {
			return false
		}
		e.kind = append(e.kind, byte(kind)) // eventKinds is below 128
		e.at = protowire.AppendVarint(e.at, protowire.EncodeZigZag(int64(at-before)))
		before = at
	}
	return e.w.err == nil
}

func (e *directEncoder) add(x scheduler.Event) EventKind {
	switch x := x.(type) {
	case scheduler.AttemptStarted:
		f := fields(e.started[:])
		f.put(1, uint64(x.Attempt))
		f.put(2, uint64(x.Job))
		f.put(3, uint64(x.Bundle))
		f.put(4, uint64(x.Group))
		f.put(5, uint64(x.Stage))
		f.put(6, uint64(x.Launcher))
		f.putBool(7, x.Speculative)
		return EventKind_EVENT_KIND_ATTEMPT_STARTED
	case scheduler.AttemptEnded:
		f := fields(e.ended[:])
		f.put(1, uint64(x.Attempt))
		f.put(2, uint64(checked(&e.w, "attempt outcome", x.Outcome, scheduler.Finished, scheduler.Killed)))
		f.put(4, uint64(x.For))
		f.put(5, uint64(e.w.str(x.Reason)))
		f = e.work[:]
		f.put(1, uint64(x.Work.Running))
		f.put(2, uint64(x.Work.Read[scheduler.NodeLocal]))
		f.put(3, uint64(x.Work.Read[scheduler.RackLocal]))
		f.put(4, uint64(x.Work.Read[scheduler.Remote]))
		f.put(5, uint64(x.Work.ToRead))
		f.put(6, uint64(x.Work.Written))
		return EventKind_EVENT_KIND_ATTEMPT_ENDED
	case scheduler.Outcome:
		return e.addOutcome(&x)
	}
	return e.others.add(&e.w, x)
}

func (e *directEncoder) addOutcome(x *scheduler.Outcome) EventKind {
	if x.Kind != scheduler.DecisionLaunch {
		return EventKind_EVENT_KIND_UNSPECIFIED // rare, and with more columns
	}
	f := fields(e.outcome[:])
	f.put(1, x.Round)
	f.put(2, uint64(checked(&e.w, "decision kind", x.Kind, scheduler.DecisionRefuse, scheduler.DecisionKind(lastDecision))))
	f.put(3, uint64(x.Index))
	f.putBool(4, x.Accepted)
	f.put(6, uint64(x.Launch.Bundle))
	f.put(8, uint64(checked(&e.w, "refusal reason", x.Reason, scheduler.NotRefused, scheduler.UserAtLimit)))
	f.put(9, uint64(e.w.str(x.Detail)))
	f.putAhead(16, len(f[4]), x.Launch.Ahead) // as many rows as the column of one byte each
	putIDs(e.attempts[:], x.Attempts)
	putIDs(e.where[:], x.Launch.Launchers)
	return EventKind_EVENT_KIND_OUTCOME
}

// putIDs appends one row to a message Ids.
func putIDs[T ~uint64](f fields, ids []T) {
	f.put(1, uint64(len(ids)))
	for _, id := range ids {
		f.put(2, uint64(id))
	}
}

func (e *directEncoder) addOffers(offers []scheduler.Offer) bool {
	f, free := fields(e.offers[:]), fields(e.free[:])
	resources := slices.ContainsFunc(offers, func(o scheduler.Offer) bool { return !o.Resources.IsZero() })
	ahead := anyAhead(offers)
	for i := range offers {
		o := &offers[i]
		if ahead {
			e.addAhead(o.Ahead)
		}
		if len(o.Reserved) > 0 || hasForResume(*o) || i > 0 && o.Launcher <= offers[i-1].Launcher {
			return false
		}
		f.put(1, uint64(o.Launcher))
		f.put(3, uint64(o.Memory))
		f.put(4, uint64(o.Suspended))
		f.put(5, uint64(o.Held))
		free.put(1, uint64(len(o.Free)))
		for _, s := range o.Free {
			free.put(2, uint64(e.w.str(s.Kind)))
			free.put(3, uint64(s.Count))
		}
		if resources {
			e.addResources(o.Resources.Counts())
		}
	}
	if anySwap(offers) {
		for i := range offers {
			f.put(7, uint64(offers[i].Swap))
		}
	}
	return true
}

// addResources appends the free resources of one offer.
func (e *directEncoder) addResources(counts []scheduler.ResourceCount) {
	f := fields(e.amounts[:])
	f.put(1, uint64(len(counts)))
	for _, c := range counts {
		f.put(2, uint64(e.w.str(c.Kind)))
		f.put(3, uint64(c.Count))
	}
}

// assemble puts the message together.
func (e *directEncoder) assemble(round *scheduler.Round) ([]byte, bool) {
	e.ended[3] = fields(e.work[:]).appendTo(e.ended[3])
	if len(e.attempts[2]) > 0 { // otherwise all row counts are zero
		e.outcome[5] = fields(e.attempts[:]).appendTo(e.outcome[5])
	}
	if len(e.where[2]) > 0 {
		e.outcome[7] = fields(e.where[:]).appendTo(e.outcome[7])
	}
	e.offers[2] = fields(e.free[:]).appendTo(e.offers[2])
	e.offers[10] = fields(e.amounts[:]).appendTo(e.offers[10])
	e.offers[12] = fields(e.ahead[:]).appendTo(e.offers[12])
	e.others.trim()
	b := appendField(e.body, 1, e.kind)
	b = appendField(b, 2, e.at)
	b, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(b, e.others.Events)
	if err != nil {
		return nil, false
	}
	b = appendMessage(b, 14, e.started[:])
	b = appendMessage(b, 17, e.ended[:])
	b = appendMessage(b, 20, e.outcome[:])
	e.body = b

	strings, err := proto.Marshal(e.w.table())
	if err != nil {
		return nil, false
	}
	offers := fields(e.offers[:])
	out := make([]byte, 0, len(b)+len(strings)+offers.size()+roundHeadMax)
	out = appendField(out, 1, strings)
	if round.Number != 0 {
		out = protowire.AppendVarint(protowire.AppendTag(out, 2, protowire.VarintType), round.Number)
	}
	if round.Now != 0 {
		out = protowire.AppendVarint(protowire.AppendTag(out, 3, protowire.VarintType), protowire.EncodeZigZag(int64(round.Now)))
	}
	out = appendField(out, 4, b)
	out = appendMessage(out, 5, offers)
	return out, len(out) <= MessageBytesMax
}

// roundHeadMax exceeds the size of tags, lengths and numbers of a round's own fields.
const roundHeadMax = 64

// size is how many bytes the message has.
func (f fields) size() int {
	n := 0
	for number, body := range f {
		if len(body) > 0 {
			n += protowire.SizeTag(protowire.Number(number)) + protowire.SizeBytes(len(body))
		}
	}
	return n
}

// appendMessage appends a field that is a message; an empty message is omitted.
func appendMessage(b []byte, number int, f fields) []byte {
	n := f.size()
	if n == 0 {
		return b
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, protowire.Number(number), protowire.BytesType), uint64(n))
	return f.appendTo(b)
}

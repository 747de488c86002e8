package schedwire

import (
	"math"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// directDecoder is the reverse of directEncoder: it decodes the frequent events from their packed
// lists, without a message. It validates its input. Bytes that a directEncoder does not write, or
// that are damaged, are left to the message's decoder, which accepts all of protobuf and explains
// errors.
type directDecoder struct {
	r        *reader
	started  [8]column
	ended    [6]column
	work     [7]column
	outcome  [17]column
	attempts rowColumns
	where    rowColumns
	others   Events
	rows     eventRows
	bad      bool
}

// decodeDirect returns a round, or false if the message's decoder must decode it.
func decodeDirect(b []byte) (scheduler.Round, bool) {
	var round scheduler.Round
	if len(b) > MessageBytesMax {
		return round, false
	}
	var parts [6][]byte
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 || number > 5 || parts[number] != nil {
			return round, false
		}
		b = b[n:]
		switch {
		case kind == protowire.VarintType && (number == 2 || number == 3):
			v, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return round, false
			}
			if number == 2 {
				round.Number = v
			} else {
				round.Now = scheduler.Time(protowire.DecodeZigZag(v))
			}
			parts[number], b = b[:n], b[n:]
		case kind == protowire.BytesType && (number == 1 || number > 3):
			body, n := protowire.ConsumeBytes(b)
			if n < 0 || len(body) == 0 {
				return round, false
			}
			parts[number], b = body, b[n:]
		default:
			return round, false
		}
	}
	var strings Strings
	if proto.Unmarshal(parts[1], &strings) != nil {
		return round, false
	}
	d := directDecoder{r: newReader(&strings)}
	round.Events = d.events(parts[4])
	round.Offers = d.offers(parts[5])
	return round, !d.bad && d.r.err == nil && ascending(round.Offers) == nil
}

// events reads a message Events.
func (d *directDecoder) events(b []byte) []scheduler.Event {
	var parts [eventsFields][]byte
	var others []byte
	if !d.parts(b, &parts, &others) || len(others) > 0 && proto.Unmarshal(others, &d.others) != nil {
		d.bad = true
		return nil
	}
	if len(parts[1]) == 0 {
		d.bad = d.bad || len(b) > 0
		return nil
	}
	d.open(&parts)
	kinds := parts[1]
	var n [eventKinds]int
	for _, k := range kinds { // one byte each: eventKinds is below 128
		if k == 0 || int(k) >= eventKinds {
			d.bad = true
			return nil
		}
		n[k]++
	}
	n[EventKind_EVENT_KIND_ATTEMPT_STARTED], n[EventKind_EVENT_KIND_ATTEMPT_ENDED], n[EventKind_EVENT_KIND_OUTCOME] = 0, 0, 0
	d.rows = eventRows{r: d.r, m: &d.others}
	if len(others) > 0 || n != [eventKinds]int{} { // most rounds have no other events
		d.rows.check(&n)
	}
	if d.bad || d.r.err != nil {
		return nil
	}
	events := make([]scheduler.Event, len(kinds))
	times, at := column{data: parts[2]}, scheduler.Time(0)
	for i, k := range kinds {
		before := at
		at += scheduler.Time(protowire.DecodeZigZag(times.next()))
		d.bad = d.bad || i > 0 && at < before
		events[i] = d.event(EventKind(k), at)
	}
	d.bad = d.bad || !times.over() || !d.over()
	return events
}

// eventsFields exceeds the highest number of the fields that are decoded directly.
const eventsFields = 21

// parts cuts a message Events into the fields that are decoded directly, by number, and the rest.
func (d *directDecoder) parts(b []byte, parts *[eventsFields][]byte, others *[]byte) bool {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 || kind != protowire.BytesType {
			return false
		}
		body, m := protowire.ConsumeBytes(b[n:])
		if m < 0 || len(body) == 0 {
			return false
		}
		switch number {
		case 1, 2, 14, 17, 20:
			if parts[number] != nil {
				return false
			}
			parts[number] = body
		default:
			*others = append(*others, b[:n+m]...)
		}
		b = b[n+m:]
	}
	return true
}

// open prepares the lists of the messages that are decoded directly.
func (d *directDecoder) open(parts *[eventsFields][]byte) {
	var started [8][]byte
	var ended [6][]byte
	var work [7][]byte
	var outcome [17][]byte
	var attempts, where [3][]byte
	ok := fields(started[:]).split(parts[14]) && fields(ended[:]).split(parts[17]) && fields(work[:]).split(ended[3]) &&
		fields(outcome[:]).split(parts[20]) && fields(attempts[:]).split(outcome[5]) && fields(where[:]).split(outcome[7]) &&
		!slices.ContainsFunc(outcome[10:16], func(b []byte) bool { return b != nil })
	d.bad = d.bad || !ok
	ended[3], outcome[5], outcome[7] = nil, nil, nil
	columns(d.started[:]).read(started[:])
	columns(d.ended[:]).read(ended[:])
	columns(d.work[:]).read(work[:])
	columns(d.outcome[:]).read(outcome[:])
	d.attempts.read(attempts[:])
	d.where.read(where[:])
}

// over reports whether all lists were read to their end.
func (d *directDecoder) over() bool {
	for _, ls := range []columns{d.started[:], d.ended[:], d.work[:], d.outcome[:], d.attempts.columns[:], d.where.columns[:]} {
		if !ls.over() {
			return false
		}
	}
	return true
}

func (d *directDecoder) event(k EventKind, at scheduler.Time) scheduler.Event {
	switch k {
	case EventKind_EVENT_KIND_ATTEMPT_STARTED:
		f := &d.started
		return scheduler.AttemptStarted{
			At: at, Attempt: scheduler.AttemptID(f[1].next()), Job: scheduler.JobID(f[2].next()), Bundle: scheduler.BundleID(f[3].next()),
			Group: int(f[4].next()), Stage: scheduler.StageID(d.uint32(&f[5])), Launcher: scheduler.LauncherID(f[6].next()), Speculative: f[7].flag(),
		}
	case EventKind_EVENT_KIND_ATTEMPT_ENDED:
		f, w := &d.ended, &d.work
		e := scheduler.AttemptEnded{
			At: at, Attempt: scheduler.AttemptID(f[1].next()), For: scheduler.JobID(f[4].next()), Reason: d.r.str(d.uint32(&f[5])),
			Outcome: scheduler.AttemptOutcome(d.enum(&f[2], uint64(AttemptOutcome_ATTEMPT_OUTCOME_FINISHED), uint64(AttemptOutcome_ATTEMPT_OUTCOME_KILLED))),
		}
		e.Work.Running = time.Duration(w[1].next())
		e.Work.Read = [scheduler.LocalityLevels]int64{int64(w[2].next()), int64(w[3].next()), int64(w[4].next())}
		e.Work.ToRead, e.Work.Written = int64(w[5].next()), int64(w[6].next())
		return e
	case EventKind_EVENT_KIND_OUTCOME:
		f := &d.outcome
		e := scheduler.Outcome{
			At: at, Round: f[1].next(), Index: int(f[3].next()), Accepted: f[4].flag(), Detail: d.r.str(d.uint32(&f[9])),
			Kind:     scheduler.DecisionKind(d.enum(&f[2], uint64(DecisionKind_DECISION_KIND_REFUSE), uint64(lastDecision))),
			Attempts: directIDs(d, &d.attempts, &d.r.mem.attempts),
			Launch:   scheduler.Launch{Bundle: scheduler.BundleID(f[6].next()), Launchers: directIDs(d, &d.where, &d.r.mem.launchers)},
			Reason:   scheduler.RefusalReason(d.enum(&f[8], uint64(RefusalReason_REFUSAL_REASON_UNSPECIFIED), uint64(RefusalReason_REFUSAL_REASON_USER_AT_LIMIT))),
		}
		if len(f[16].data) > 0 {
			e.Launch.Ahead = f[16].flag()
		}
		d.bad = d.bad || e.Kind != scheduler.DecisionLaunch // others have more columns
		return e
	}
	return d.rows.next(k, at)
}

// uint32 reads a number that must fit in 32 bits.
func (d *directDecoder) uint32(l *column) uint32 {
	v := l.next()
	d.bad = d.bad || v > math.MaxUint32
	return uint32(v)
}

// enum reads a value in [low, high].
func (d *directDecoder) enum(l *column, low, high uint64) uint8 {
	v := l.next()
	if v < low || v > high {
		d.bad = true
		return 0
	}
	return uint8(v)
}

// rowColumns is a message whose column 1 has the number of elements of each row in the other
// columns. Without column 1 there are no rows.
type rowColumns struct {
	columns [6]column
	none    bool
}

func (c *rowColumns) read(f fields) {
	columns(c.columns[:len(f)]).read(f)
	c.none = len(f[1]) == 0
}

// row returns the number of elements of the next row, and a bound of the elements left.
func (c *rowColumns) row(d *directDecoder) (n, left int) {
	if c.none {
		return 0, 0
	}
	rows, left := c.columns[1].next(), c.columns[2].left()
	if rows > uint64(left) { // an element has at least one byte
		d.bad = true
		return 0, 0
	}
	return int(rows), left
}

func directIDs[T ~uint64](d *directDecoder, c *rowColumns, mem *arena[T]) []T {
	out := mem.take(c.row(d))
	for i := range out {
		out[i] = T(c.columns[2].next())
	}
	return out
}

func (d *directDecoder) slots(c *rowColumns) []scheduler.SlotCount {
	out := d.r.mem.slots.take(c.row(d))
	for i := range out {
		out[i] = scheduler.SlotCount{Kind: d.r.str(d.uint32(&c.columns[2])), Count: int(c.columns[3].next())}
	}
	return out
}

func (d *directDecoder) resources(c *rowColumns) scheduler.Resources {
	n, _ := c.row(d)
	var few [scheduler.ResourceKindsMax]scheduler.ResourceCount
	if n > len(few) {
		d.bad = true
		return scheduler.Resources{}
	}
	for i := range n {
		few[i] = scheduler.ResourceCount{Kind: d.r.str(d.uint32(&c.columns[2])), Count: int(c.columns[3].next())}
	}
	return scheduler.NewResources(few[:n]...)
}

// offers reads a message Offers.
func (d *directDecoder) offers(b []byte) []scheduler.Offer {
	var parts [13][]byte
	var free, amounts [4][]byte
	var ahead [6][]byte
	if !fields(parts[:]).split(b) || !fields(free[:]).split(parts[2]) || !fields(amounts[:]).split(parts[10]) || !fields(ahead[:]).split(parts[12]) ||
		parts[6] != nil || parts[8] != nil || parts[9] != nil || parts[11] != nil {
		d.bad = true
		return nil
	}
	parts[2], parts[10], parts[12] = nil, nil, nil
	var f [13]column
	var s, r, a rowColumns
	a.read(ahead[:])
	r.read(amounts[:])
	columns(f[:]).read(parts[:])
	s.read(free[:])
	n := f[1].rows()
	if n == 0 {
		d.bad = d.bad || len(b) > 0
		return nil
	}
	out := make([]scheduler.Offer, n)
	for i := range out {
		out[i] = scheduler.Offer{
			Launcher: scheduler.LauncherID(f[1].next()), Memory: int64(f[3].next()), Suspended: int(f[4].next()), Held: int64(f[5].next()),
			Free: d.slots(&s), Resources: d.resources(&r), Ahead: d.ahead(&a),
		}
		if parts[7] != nil {
			out[i].Swap = int64(f[7].next())
		}
	}
	d.bad = d.bad || !columns(f[:]).over() || !columns(s.columns[:]).over() || !columns(r.columns[:]).over() || !columns(a.columns[:]).over()
	return out
}

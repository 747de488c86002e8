package schedwire

import (
	"fmt"
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"google.golang.org/protobuf/proto"
)

// EncodeRound returns a round's message as bytes. The errors are those of NewRound.
func EncodeRound(round *scheduler.Round) ([]byte, error) {
	if b, ok := encodeDirect(round); ok {
		return b, nil
	}
	return marshal(NewRound(round))
}

// DecodeRound is the reverse of EncodeRound. The errors wrap ErrBadMessage.
func DecodeRound(b []byte) (scheduler.Round, error) {
	if round, ok := decodeDirect(b); ok {
		return round, nil
	}
	return unmarshal(b, &Round{}, (*Round).Decode)
}

// ReadRound is DecodeRound for a policy, whose manager may be of a later version: unknown events
// and values are counted in unknown and skipped. See Unknown.
func ReadRound(b []byte, unknown *Unknown) (scheduler.Round, error) {
	if round, ok := decodeDirect(b); ok {
		return round, nil
	}
	return unmarshal(b, &Round{}, func(m *Round) (scheduler.Round, error) { return m.decode(unknown) })
}

// EncodeEvents returns a batch of events as bytes. The errors are those of NewEventBatch: an event
// or value that package scheduler does not define.
func EncodeEvents(events []scheduler.Event) ([]byte, error) { return marshal(NewEventBatch(events)) }

// DecodeEvents is the reverse of EncodeEvents. The errors wrap ErrBadMessage.
func DecodeEvents(b []byte) ([]scheduler.Event, error) {
	return unmarshal(b, &EventBatch{}, (*EventBatch).Decode)
}

// NewRound encodes a round as a message. An error names the part that breaks the contract: an
// unknown event or value, times that go back, offers out of order.
func NewRound(round *scheduler.Round) (*Round, error) {
	w := &writer{}
	m := &Round{Number: round.Number, Now: int64(round.Now), Events: newEvents(w, round.Events, true), Offers: newOffers(w, round.Offers)}
	m.Strings = w.table()
	if w.err == nil {
		w.err = ascending(round.Offers)
	}
	return encoded(fmt.Sprintf("round %d", round.Number), m, w.err)
}

// Decode returns the round of a message. The errors wrap ErrBadMessage.
func (m *Round) Decode() (scheduler.Round, error) { return m.decode(nil) }

func (m *Round) decode(unknown *Unknown) (scheduler.Round, error) {
	r := newReader(m.GetStrings())
	r.unknown = unknown
	round := scheduler.Round{
		Number: m.GetNumber(), Now: scheduler.Time(m.GetNow()),
		Events: readEvents(r, m.GetEvents(), true), Offers: readOffers(r, m.GetOffers()),
	}
	if r.err != nil {
		return scheduler.Round{}, r.err
	}
	if err := ascending(round.Offers); err != nil {
		return scheduler.Round{}, fmt.Errorf("%w: round %d: %w", ErrBadMessage, round.Number, err)
	}
	return round, nil
}

// ascending checks the order of offers.
func ascending(offers []scheduler.Offer) error {
	for i := 1; i < len(offers); i++ {
		if offers[i].Launcher <= offers[i-1].Launcher {
			return fmt.Errorf("offer %d (launcher %d) is not above launcher %d before it", i, offers[i].Launcher, offers[i-1].Launcher)
		}
	}
	return nil
}

func newOffers(w *writer, offers []scheduler.Offer) *Offers {
	if len(offers) == 0 {
		return nil
	}
	n := len(offers)
	m := &Offers{
		Launcher: make([]uint64, n), Memory: make([]int64, n), Suspended: make([]int64, n), Held: make([]int64, n),
		Free: &SlotCounts{}, Reserved: &Reservations{},
	}
	for i := range offers {
		o := &offers[i]
		m.Launcher[i], m.Memory[i] = uint64(o.Launcher), o.Memory
		m.Suspended[i], m.Held[i] = int64(o.Suspended), o.Held
		m.Free.add(w, o.Free)
		m.Reserved.add(w, o.Reserved)
		addResources(&m.Resources, w, i, o.Resources)
		addResources(&m.ForResumeResources, w, i, o.ForResumeResources)
	}
	if len(m.Reserved.Job) == 0 {
		m.Reserved = nil
	}
	if anySwap(offers) {
		for i := range offers {
			m.Swap = append(m.Swap, offers[i].Swap)
		}
	}
	if anyAhead(offers) {
		m.Ahead = &AheadRooms{}
		for i := range offers {
			m.Ahead.add(offers[i].Ahead)
		}
	}
	if slices.ContainsFunc(offers, hasForResume) {
		m.ForResume = &SlotCounts{}
		for i := range offers {
			m.ForResume.add(w, offers[i].ForResume)
			m.ForResumeMemory = append(m.ForResumeMemory, offers[i].ForResumeMemory)
		}
	}
	return m
}

// hasForResume reports whether an offer has capacity for attempts suspended on a closed launcher.
func hasForResume(o scheduler.Offer) bool {
	return len(o.ForResume) > 0 || o.ForResumeMemory != 0 || !o.ForResumeResources.IsZero()
}

func anySwap(offers []scheduler.Offer) bool {
	return slices.ContainsFunc(offers, func(o scheduler.Offer) bool { return o.Swap != 0 })
}

func (c *Reservations) add(w *writer, list []scheduler.Reservation) {
	c.Rows = count(c.Rows, len(list))
	for _, v := range list {
		c.Job, c.Kind = append(c.Job, uint64(v.Job)), append(c.Kind, w.str(v.Kind))
		c.Slots, c.Memory = append(c.Slots, int64(v.Slots)), append(c.Memory, v.Memory)
		addResources(&c.Resources, w, len(c.Bundle), v.Resources)
		c.Bundle = append(c.Bundle, uint64(v.Bundle))
	}
}

func readOffers(r *reader, m *Offers) []scheduler.Offer {
	n := len(m.GetLauncher())
	r.same("offers", n, len(m.GetMemory()), len(m.GetSuspended()), len(m.GetHeld()))
	swap := m.GetSwap()
	if len(swap) > 0 {
		r.same("offers swap", n, len(swap))
	}
	var forResume slotRows
	if len(m.GetForResumeMemory()) > 0 {
		r.same("offers for resume", n, len(m.ForResumeMemory))
		forResume = readSlots(r, "offers for resume", n, m.GetForResume())
	}
	free := readSlots(r, "offers free", n, m.GetFree())
	c := m.GetReserved()
	reserved := r.spans("offers reserved", n, c.GetRows(), len(c.GetJob()), len(c.GetKind()), len(c.GetSlots()), len(c.GetMemory()), len(c.GetBundle()))
	resources := readResources(r, "offers resources", n, m.GetResources())
	resumeResources := readResources(r, "offers resources for resume", n, m.GetForResumeResources())
	reservedResources := readResources(r, "reserved resources", len(c.GetJob()), c.GetResources())
	ahead := readAhead(r, n, m.GetAhead())
	if r.err != nil || n == 0 {
		return nil
	}
	out := make([]scheduler.Offer, n)
	for i := range out {
		out[i] = scheduler.Offer{
			Launcher: scheduler.LauncherID(m.Launcher[i]), Free: free.next(), Memory: m.Memory[i],
			Suspended: int(m.Suspended[i]), Held: m.Held[i],
			Resources: resources.next(), ForResumeResources: resumeResources.next(), Ahead: ahead.next(),
		}
		if len(swap) > 0 {
			out[i].Swap = swap[i]
		}
		if len(m.ForResumeMemory) > 0 {
			out[i].ForResume, out[i].ForResumeMemory = forResume.next(), m.ForResumeMemory[i]
		}
		from, to := reserved.next()
		for j := from; j < to; j++ {
			out[i].Reserved = append(out[i].Reserved, scheduler.Reservation{
				Job: scheduler.JobID(c.Job[j]), Bundle: scheduler.BundleID(c.Bundle[j]), Kind: r.str(c.Kind[j]), Slots: int(c.Slots[j]), Memory: c.Memory[j],
				Resources: reservedResources.next(),
			})
		}
	}
	return out
}

// marshal encodes a message, unless err is set.
func marshal(m proto.Message, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err == nil && len(b) > MessageBytesMax {
		err = fmt.Errorf("a message of %d bytes; at most %d are allowed", len(b), MessageBytesMax)
	}
	return b, err
}

// unmarshal decodes bytes into m, and m into a value.
func unmarshal[M proto.Message, V any](b []byte, m M, value func(M) (V, error)) (V, error) {
	var none V
	if len(b) > MessageBytesMax {
		return none, fmt.Errorf("%w: %d bytes; at most %d are allowed", ErrBadMessage, len(b), MessageBytesMax)
	}
	if err := proto.Unmarshal(b, m); err != nil {
		return none, fmt.Errorf("%w: %w", ErrBadMessage, err)
	}
	return value(m)
}

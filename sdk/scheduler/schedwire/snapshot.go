package schedwire

import (
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// pageWeightMax is the weight at which a page of a snapshot ends, so that no page comes near
// MessageBytesMax. An event weighs about one for each 64 bytes; a single event is never split.
const pageWeightMax = 1 << 15

// SnapshotPagesMax bounds the pages of one snapshot.
const SnapshotPagesMax = 1 << 16

// EncodeSnapshot returns a snapshot as pages of bytes, at least one. The errors are those of
// NewSnapshot.
func EncodeSnapshot(s *scheduler.Snapshot) ([][]byte, error) {
	pages, err := NewSnapshot(s)
	if err != nil {
		return nil, err
	}
	out := make([][]byte, len(pages))
	for i, p := range pages {
		if out[i], err = marshal(p, nil); err != nil {
			return nil, fmt.Errorf("encode snapshot page %d: %w", i, err)
		}
	}
	return out, nil
}

// DecodeSnapshot is the reverse of EncodeSnapshot. The errors wrap ErrBadMessage.
func DecodeSnapshot(pages [][]byte) (scheduler.Snapshot, error) {
	var s SnapshotReader
	for _, b := range pages {
		m, err := unmarshal(b, &SnapshotPage{}, func(m *SnapshotPage) (*SnapshotPage, error) { return m, nil })
		if err == nil {
			err = s.Add(m)
		}
		if err != nil {
			return scheduler.Snapshot{}, err
		}
	}
	return s.Snapshot()
}

// NewSnapshot encodes a snapshot as pages, at least one. An error names the part that breaks the
// contract.
func NewSnapshot(s *scheduler.Snapshot) ([]*SnapshotPage, error) {
	if s.Since < 0 || s.Since > len(s.Events) {
		return nil, fmt.Errorf("encode snapshot: since is %d of %d events", s.Since, len(s.Events))
	}
	var pages []*SnapshotPage
	rest := s.Events
	for len(pages) == 0 || len(rest) > 0 {
		n := pageLength(rest)
		w := &writer{}
		p := &SnapshotPage{Page: uint32(len(pages)), Now: int64(s.Now), Events: newEvents(w, rest[:n], false)}
		if w.err != nil {
			return nil, fmt.Errorf("encode snapshot page %d: %w", len(pages), w.err)
		}
		p.Strings = w.table()
		pages, rest = append(pages, p), rest[n:]
	}
	if len(pages) > SnapshotPagesMax {
		return nil, fmt.Errorf("encode snapshot: %d pages; at most %d are allowed", len(pages), SnapshotPagesMax)
	}
	for _, p := range pages {
		p.Pages = uint32(len(pages))
	}
	pages[0].Checkpoint, pages[0].Since = newCheckpoint(s.Checkpoint), int64(s.Since)
	return pages, nil
}

// pageLength returns how many of the events fill a page; at least one if there is an event.
func pageLength(events []scheduler.Event) int {
	total := 0
	for i, e := range events {
		total += weight(e)
		if total > pageWeightMax && i > 0 {
			return i
		}
	}
	return len(events)
}

// weight estimates an event's size on the wire.
func weight(e scheduler.Event) int {
	groups := func(list []scheduler.Group, avoid int) int { return 1 + 2*len(list) + avoid/8 }
	job := func(j *scheduler.Job) int {
		n := 2 + len(j.Stages) + len(j.Name)/64
		for _, p := range j.Properties {
			n += 1 + (len(p.Name)+len(p.Value))/64
		}
		return n
	}
	switch e := e.(type) {
	case scheduler.BundleReady:
		return groups(e.Groups, len(e.Avoid))
	case scheduler.SpeculationOffered:
		return groups(e.Groups, len(e.Avoid))
	case scheduler.JobSubmitted:
		return job(&e.Job)
	case scheduler.AdmissionAsked:
		return job(&e.Job)
	case scheduler.Noted:
		return 1 + len(e.Note.Body)/64
	case scheduler.Requested:
		return 1 + len(e.Body)/64
	case scheduler.AttemptEnded:
		return 2 + len(e.Reason)/64
	}
	return 2
}

// SnapshotReader assembles a snapshot from its pages. The zero value is ready for the first page.
type SnapshotReader struct {
	// Unknown counts skipped content of a later version. If it is nil, unknown content is an error.
	Unknown *Unknown

	snapshot scheduler.Snapshot
	next     uint32
	pages    uint32
	// since is the index of the first event that the checkpoint lacks. told counts the events of
	// all pages so far. Both include skipped events.
	since, told int
}

// Add adds the next page. Pages come in order; the errors wrap ErrBadMessage.
func (s *SnapshotReader) Add(m *SnapshotPage) error {
	first := s.next == 0
	switch {
	case m.GetPages() == 0 || m.GetPages() > SnapshotPagesMax:
		return fmt.Errorf("%w: snapshot of %d pages", ErrBadMessage, m.GetPages())
	case m.GetPage() != s.next || m.GetPage() >= m.GetPages() || !first && m.GetPages() != s.pages:
		return fmt.Errorf("%w: snapshot page %d of %d where page %d was due", ErrBadMessage, m.GetPage(), m.GetPages(), s.next)
	case !first && scheduler.Time(m.GetNow()) != s.snapshot.Now:
		return fmt.Errorf("%w: snapshot page %d is of another time than page 0", ErrBadMessage, m.GetPage())
	case !first && (m.GetCheckpoint() != nil || m.GetSince() != 0):
		return fmt.Errorf("%w: a checkpoint on snapshot page %d; it belongs on page 0", ErrBadMessage, m.GetPage())
	}
	r := newReader(m.GetStrings())
	r.unknown = s.Unknown
	events := readEvents(r, m.GetEvents(), false)
	if r.err != nil {
		return fmt.Errorf("snapshot page %d: %w", m.GetPage(), r.err)
	}
	if first {
		s.pages = m.GetPages()
		s.snapshot.Now = scheduler.Time(m.GetNow())
		s.snapshot.Checkpoint, s.since = m.GetCheckpoint().value(), int(m.GetSince())
	}
	for _, k := range m.GetEvents().GetKind() {
		if isKnown(k) && s.told < s.since {
			s.snapshot.Since++
		}
		s.told++
	}
	s.snapshot.Events = append(s.snapshot.Events, events...)
	s.next++
	return nil
}

// Snapshot returns the snapshot after all pages have been added. Before that it returns an error
// that wraps ErrBadMessage.
func (s *SnapshotReader) Snapshot() (scheduler.Snapshot, error) {
	if s.next == 0 || s.next != s.pages {
		return scheduler.Snapshot{}, fmt.Errorf("%w: snapshot ends after %d of %d pages", ErrBadMessage, s.next, s.pages)
	}
	if s.since < 0 || s.since > s.told {
		return scheduler.Snapshot{}, fmt.Errorf("%w: snapshot's since is %d of %d events", ErrBadMessage, s.since, s.told)
	}
	return s.snapshot, nil
}

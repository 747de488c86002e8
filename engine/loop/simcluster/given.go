package simcluster

import "github.com/hamadryad/hamadryad/engine/wire"

// given is what an attempt was told to read, or to publish, and how far it is with that.
type given struct {
	missing int                   // inputs that it has not read
	input   [][]stand             // by connection, then by who wrote it
	untried []Input               // of which a source is known, in the order in which it was told
	lost    []*wire.InputLost     // told and not replaced yet
	files   []*wire.CommittedFile // of a last group
	total   uint64                // of them, when all are told
}

// stand is how far it is with one input.
type stand struct {
	read   uint64       // by which attempt's output; 0: not
	source *wire.Source // where it is, as long as it has not tried to read it there
}

func newGiven(m *wire.StartAttempt, inputs int) given {
	t := given{missing: inputs, files: m.GetFinish().GetFiles(), total: m.GetFinish().GetFilesTotal()}
	t.untried = make([]Input, 0, len(m.Sources))
	t.take(m.Sources)
	return t
}

// of is how it stands with an input. The pointer holds until the next call.
func (t *given) of(k Input) *stand {
	for int(k.Connection) >= len(t.input) {
		t.input = append(t.input, nil)
	}
	list := &t.input[k.Connection]
	if n := int(k.From) + 1 - len(*list); n > 0 {
		*list = append(*list, make([]stand, max(n, t.missing))...)
	}
	return &(*list)[k.From]
}

// readOf returns the attempt whose output it read; 0 when it has not.
func (t *given) readOf(k Input) uint64 {
	if int(k.Connection) >= len(t.input) || int(k.From) >= len(t.input[k.Connection]) {
		return 0
	}
	return t.input[k.Connection][k.From].read
}

// take takes in where input is. What was read already stays read; a new place of what was
// lost ends the loss.
func (t *given) take(list []*wire.Source) {
	for _, s := range list {
		k := Input{s.Connection, s.From}
		x := t.of(k)
		if x.read != 0 {
			continue
		}
		if x.source == nil {
			t.untried = append(t.untried, k)
		}
		x.source = s
		kept := t.lost[:0]
		for _, l := range t.lost {
			if l.Connection != s.Connection || l.From != s.From {
				kept = append(kept, l)
			}
		}
		t.lost = kept
	}
}

// readAll reads what it was told of; false when something is missing then. What can't be
// read where it was told to be is lost.
func (t *given) readAll(readable func(*wire.Source) bool, lost func(*wire.Source)) bool {
	for _, k := range t.untried {
		x := t.of(k)
		s := x.source
		x.source = nil
		if readable(s) {
			x.read = s.Attempt
			t.missing--
		} else {
			lost(s)
		}
	}
	t.untried = t.untried[:0]
	return t.missing == 0
}

// takeFiles takes in files for a last group; false when they came before.
func (t *given) takeFiles(m *wire.FilesUpdate) bool {
	if m.From != uint64(len(t.files)) {
		return false
	}
	t.files = append(t.files, m.Files...)
	return true
}

// lacksFiles says whether it was not told of all files yet.
func (t *given) lacksFiles() bool { return uint64(len(t.files)) < t.total }

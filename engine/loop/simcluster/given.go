package simcluster

import "github.com/hamadryad/hamadryad/engine/wire"

// given is the input that an attempt was sent to read, or the files to publish, with its progress
// on them.
type given struct {
	missing int                   // inputs that it has not read
	input   [][]stand             // by connection, then by writer
	untried []Input               // those with a known source, in the order of their arrival
	lost    []*wire.InputLost     // reported and not replaced yet
	files   []*wire.CommittedFile // of a last group
	total   uint64                // their number, when all have come
}

// stand is the progress with one input.
type stand struct {
	read   uint64       // the attempt whose output was read; 0: none
	source *wire.Source // its source, until the first try to read there
}

func newGiven(m *wire.StartAttempt, inputs int) given {
	t := given{missing: inputs, files: m.GetFinish().GetFiles(), total: m.GetFinish().GetFilesTotal()}
	t.untried = make([]Input, 0, len(m.Sources))
	t.take(m.Sources)
	return t
}

// of is the progress with an input. The pointer is valid until the next call.
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

// readOf returns the attempt whose output it read; 0 if it has not read the input.
func (t *given) readOf(k Input) uint64 {
	if int(k.Connection) >= len(t.input) || int(k.From) >= len(t.input[k.Connection]) {
		return 0
	}
	return t.input[k.Connection][k.From].read
}

// take takes in sources of input. Input that was read stays read; a new place of lost input ends
// the loss.
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

// readAll reads the inputs with known sources; false when something is missing then. Input that
// can't be read at its source is lost.
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

// lacksFiles reports whether some files were not sent yet.
func (t *given) lacksFiles() bool { return uint64(len(t.files)) < t.total }

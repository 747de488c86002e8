package simcluster

import (
	"slices"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// given is the input that an attempt was sent to read, or the files to publish, with its progress
// on them.
type given struct {
	missing int                   // inputs that it has not read
	read    [][]uint64            // by connection, then by writer: the attempt whose output was read; 0: none, or isUntried
	untried []*wire.Source        // one for each input that isUntried, in the order of their arrival
	lost    []*wire.InputLost     // reported and not replaced yet
	files   []*wire.CommittedFile // of a last group
	total   uint64                // their number, when all have come
}

// isUntried stands in the place of an attempt whose output was read: there is a source, and it was
// not tried yet.
const isUntried = ^uint64(0)

func newGiven(m *wire.StartAttempt, inputs int) given {
	t := given{missing: inputs, files: m.GetFinish().GetFiles(), total: m.GetFinish().GetFilesTotal()}
	t.take(m.Sources)
	return t
}

// of is the progress with an input. The pointer is valid until the next call.
func (t *given) of(connection, from uint32) *uint64 {
	for int(connection) >= len(t.read) {
		t.read = append(t.read, nil)
	}
	list := &t.read[connection]
	if n := int(from) + 1 - len(*list); n > 0 {
		*list = append(*list, make([]uint64, max(n, t.missing))...)
	}
	return &(*list)[from]
}

// readOf returns the attempt whose output it read; 0 if it has not read the input.
func (t *given) readOf(k Input) uint64 {
	if int(k.Connection) >= len(t.read) || int(k.From) >= len(t.read[k.Connection]) || t.read[k.Connection][k.From] == isUntried {
		return 0
	}
	return t.read[k.Connection][k.From]
}

// take takes in sources of input. Input that was read stays read; a new place of lost input ends
// the loss.
func (t *given) take(list []*wire.Source) {
	t.untried = slices.Grow(t.untried, len(list))
	for _, s := range list {
		switch x := t.of(s.Connection, s.From); *x {
		case 0:
			*x = isUntried
			t.untried = append(t.untried, s)
		case isUntried:
			t.untried[slices.IndexFunc(t.untried, func(u *wire.Source) bool { return u.Connection == s.Connection && u.From == s.From })] = s
		default:
			continue
		}
		if len(t.lost) > 0 {
			t.lost = slices.DeleteFunc(t.lost, func(l *wire.InputLost) bool { return l.Connection == s.Connection && l.From == s.From })
		}
	}
}

// readAll reads the inputs with known sources; false when something is missing then. Input that
// can't be read at its source is lost.
func (t *given) readAll(readable func(*wire.Source) bool, lost func(*wire.Source)) bool {
	for _, s := range t.untried {
		x := t.of(s.Connection, s.From)
		if readable(s) {
			*x = s.Attempt
			t.missing--
		} else {
			*x = 0
			lost(s)
		}
	}
	clear(t.untried) // they are the manager's
	t.untried = t.untried[:0]
	if t.missing == 0 {
		t.untried = nil
	}
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

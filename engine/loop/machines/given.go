package machines

import "github.com/hamadryad/hamadryad/engine/wire"

// given is what an attempt was told to read, or to publish, and how far it is with that.
type given struct {
	sources map[Input]*wire.Source // where input is
	read    map[Input]uint64       // by which attempt's output
	lost    []*wire.InputLost      // told and not replaced yet
	files   []*wire.CommittedFile  // of a last group
	total   uint64                 // of them, when all are told
}

func newGiven(m *wire.StartAttempt) given {
	t := given{sources: map[Input]*wire.Source{}, read: map[Input]uint64{}, files: m.GetFinish().GetFiles(), total: m.GetFinish().GetFilesTotal()}
	t.take(m.Sources)
	return t
}

// take takes in where input is. What was read already stays read; a new place of what was
// lost ends the loss.
func (t *given) take(list []*wire.Source) {
	for _, s := range list {
		key := Input{s.Connection, s.From}
		if t.read[key] != 0 {
			continue
		}
		t.sources[key] = s
		kept := t.lost[:0]
		for _, l := range t.lost {
			if l.Connection != s.Connection || l.From != s.From {
				kept = append(kept, l)
			}
		}
		t.lost = kept
	}
}

// readAll reads what can be read of what is needed; false when some is missing. What can't
// be read where it was told to be is lost.
func (t *given) readAll(needs []Input, readable func(*wire.Source) bool, lost func(*wire.Source)) bool {
	all := true
	for _, key := range needs {
		if t.read[key] != 0 {
			continue
		}
		s := t.sources[key]
		switch {
		case s == nil:
			all = false
		case readable(s):
			t.read[key] = s.Attempt
		default:
			all = false
			delete(t.sources, key)
			lost(s)
		}
	}
	return all
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

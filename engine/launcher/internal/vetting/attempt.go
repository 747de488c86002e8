package vetting

import (
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Attempt is the launcher's knowledge of an attempt, from the manager alone. Its owner guards it by
// a lock.
type Attempt struct {
	id       uint64
	nodes    []*wire.NodeRef
	finishes bool   // it is its job's last group
	outputs  int    // of the job, where it finishes
	files    uint64 // number of the first output file that the attempt has not received yet

	sources map[uint32]*bitset   // by connection: producers that the attempt has received
	lost    map[channel]struct{} // reported as lost, and not replaced since
	confirm uint64               // number of the update that waits for a confirmation; 0: none

	started, executing, asked, wants bool // the attempt reported it; wants: it waits for files
	limited                          bool // the attempt reported until when its nodes may run
	ended                            bool
}

// channel is one stored output that an attempt reads.
type channel struct{ connection, from uint32 }

// NewAttempt returns an attempt as its start command describes it.
func NewAttempt(s *wire.StartAttempt) Attempt {
	a := Attempt{id: s.Attempt, nodes: s.Nodes}
	if s.Finish != nil {
		a.finishes, a.outputs, a.files = true, len(s.Finish.Outputs), uint64(len(s.Finish.Files))
	}
	a.addSources(s.Sources, s.SourceGroups)
	return a
}

// NoteCommand takes in the manager's command to the attempt.
func (a *Attempt) NoteCommand(m *wire.ToWorker) {
	switch do := m.Do.(type) {
	case *wire.ToWorker_Sources:
		a.addSources(do.Sources.Sources, do.Sources.Groups)
		if do.Sources.Confirm != 0 {
			a.confirm = do.Sources.Confirm
		}
	case *wire.ToWorker_Files:
		if do.Files.From == a.files {
			a.files, a.wants = a.files+uint64(len(do.Files.Files)), false
		}
	}
}

func (a *Attempt) addSources(list []*wire.Source, groups []*wire.SourceGroup) {
	for connection, from := range wire.EachSource(list, groups) {
		set := a.sources[connection]
		if set == nil {
			if a.sources == nil {
				a.sources = map[uint32]*bitset{}
			}
			set = &bitset{}
			a.sources[connection] = set
		}
		set.add(from.Node)
		if len(a.lost) > 0 {
			delete(a.lost, channel{connection, from.Node})
		}
	}
}

// check returns whether a report of this attempt contains anything new. The error is an offence.
func (a *Attempt) check(r *wire.Report) (fresh bool, err error) {
	switch what := r.What.(type) {
	case *wire.Report_Started:
		return once(&a.started), nil
	case *wire.Report_Phase:
		return what.Phase.Executing && once(&a.executing), nil // only executing means anything
	case *wire.Report_Progress:
		if n := len(what.Progress.GetBlocked()); n > wire.BlockedBytesMax {
			return false, tooLarge("the text of what it waits for", n, wire.BlockedBytesMax)
		}
		return true, nil
	case *wire.Report_Commit:
		return once(&a.asked), nil
	case *wire.Report_InputLost:
		return a.loses(what.InputLost)
	case *wire.Report_SourcesTaken:
		fresh = a.confirm != 0 && what.SourcesTaken.Confirm == a.confirm
		if fresh {
			a.confirm = 0
		}
		return fresh, nil
	case *wire.Report_FilesWanted:
		if !a.finishes {
			return false, offence(Unknown, "it asked for output files of its job, and its attempt publishes none")
		}
		return what.FilesWanted.From == a.files && once(&a.wants), nil
	case *wire.Report_Ended:
		if a.ended {
			return false, nil
		}
		a.ended = true
		return true, a.checkEnd(what.Ended)
	}
	return false, nil
}

func once(done *bool) bool {
	first := !*done
	*done = true
	return first
}

// loses checks a report of a lost input. The attempt must have received that input, and each is
// reported once until it is replaced.
func (a *Attempt) loses(m *wire.InputLost) (fresh bool, err error) {
	if set := a.sources[m.Connection]; set == nil || !set.has(m.From) {
		return false, offence(Unknown, "it reported input %d of connection %d as lost, which its attempt does not read", m.From, m.Connection)
	}
	c := channel{m.Connection, m.From}
	if _, known := a.lost[c]; known {
		return false, nil
	}
	if a.lost == nil {
		a.lost = map[channel]struct{}{}
	}
	a.lost[c] = struct{}{}
	return true, nil
}

// checkEnd refuses an end that names nodes, files or outputs of another attempt.
func (a *Attempt) checkEnd(e *wire.AttemptEnded) error {
	own := ownNodes(a.nodes)
	for _, s := range e.Stored {
		if !own.index(s.From) {
			return offence(Unknown, "it said that its attempt stored the output of node %d, which is not of its group", s.From)
		}
	}
	for _, f := range e.Files {
		switch {
		case !own.has(f.Stage, f.Index):
			return offence(Unknown, "it said that node %d of stage %d wrote an output file, and that node is not of its group", f.Index, f.Stage)
		case !ownTemporary(a.id, f.Temporary):
			return offence(Unknown, "it named the output file %.100q as its own, and those begin with %q", f.Temporary, temporaryPrefix(a.id))
		}
	}
	for _, output := range e.Published {
		if !a.finishes || int64(output) >= int64(a.outputs) {
			return offence(Unknown, "it said that it published output %d, which its attempt does not publish", output)
		}
	}
	return nil
}

// nodes are the nodes of a group, indexed for many lookups.
type nodes struct {
	stages  map[[2]uint32]struct{}
	indexes map[uint32]struct{}
	few     []*wire.NodeRef
}

// fewNodes is the largest number of nodes that are searched one by one.
const fewNodes = 8

func ownNodes(list []*wire.NodeRef) nodes {
	if len(list) <= fewNodes {
		return nodes{few: list}
	}
	n := nodes{stages: map[[2]uint32]struct{}{}, indexes: map[uint32]struct{}{}}
	for _, x := range list {
		n.stages[[2]uint32{x.Stage, x.Index}] = struct{}{}
		n.indexes[x.Index] = struct{}{}
	}
	return n
}

func (n *nodes) has(stage, index uint32) bool {
	for _, x := range n.few {
		if x.Stage == stage && x.Index == index {
			return true
		}
	}
	_, found := n.stages[[2]uint32{stage, index}]
	return found
}

func (n *nodes) index(index uint32) bool {
	for _, x := range n.few {
		if x.Index == index {
			return true
		}
	}
	_, found := n.indexes[index]
	return found
}

// bitset is a set of small numbers.
type bitset struct{ words []uint64 }

func (b *bitset) add(i uint32) {
	for int64(len(b.words)) <= int64(i/64) {
		b.words = append(b.words, 0)
	}
	b.words[i/64] |= 1 << (i % 64)
}

func (b *bitset) has(i uint32) bool {
	return int64(i/64) < int64(len(b.words)) && b.words[i/64]&(1<<(i%64)) != 0
}

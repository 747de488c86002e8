package file

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hamadryad/hamadryad/plugins/dynamicpriority/account"
)

// positionSuffix is of the file beside the budgets that has the position.
const positionSuffix = ".applied"

// positionVersion is that of the position and of the lines of budgets beside it.
const positionVersion = 1

// remark is what a person reads who opens that file.
const remark = "Written by the policy. It says which changes are in the budgets: leave it here when you change, copy or restore them."

// position says up to which change the amounts of a file of budgets have all, in a file of its own:
// a line among the budgets is lost as soon as somebody takes it for a comment.
//
// A write takes three steps: the position is written with what comes next, then the budgets, then
// the position as it is then. The hashes of the budgets' text tell after a crash which steps were done.
type position struct {
	Remark  string `json:"remark"`
	Version int    `json:"version"` // positionVersion
	// Store names the store. One that is made anew has another name, and what was decided for
	// another store is not applied to it.
	Store string `json:"store"`
	mark
	// Next is what is being written.
	Next *mark `json:"next,omitempty"`
}

// mark is a text of budgets, and the last change that is in it.
type mark struct {
	Applied uint64 `json:"applied"`
	Budget  string `json:"budget"` // hash of the text; "": none was written
	Queues  int    `json:"queues"`
	// Charged is the end of the last interval that some queue was charged for. The budgets have it
	// in each line, so that amounts which are newer than this file are told from an edit. 0: not known.
	Charged int64 `json:"charged,omitempty"`
}

func markOf(text []byte, of *account.State) mark {
	sum := sha256.Sum256(text)
	m := mark{Applied: of.Applied, Budget: hex.EncodeToString(sum[:])}
	for _, q := range of.Queues() {
		m.Queues++
		m.Charged = max(m.Charged, q.Charged)
	}
	return m
}

// readPosition reads a position; nil: there is none.
func readPosition(path string) (*position, error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil //nolint:nilnil // there is none
	case err != nil:
		return nil, err
	}
	p := &position{}
	if err := json.Unmarshal(text, p); err != nil || p.Store == "" {
		return nil, fmt.Errorf("%s can't be read: put it back as it was, or remove it: then the budgets count as they stand, and changes that were not applied yet are left out", path)
	}
	if p.Version != positionVersion {
		return nil, fmt.Errorf("%s has version %d, and this program reads %d: use the program that wrote it%s", path, p.Version, positionVersion, orNewer(p.Version))
	}
	return p, nil
}

// orNewer says that a newer program reads what is newer too.
func orNewer(version int) string {
	if version > positionVersion {
		return ", or a newer one"
	}
	return ""
}

// text is what the file has.
func (p *position) text() []byte {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		panic(err) // numbers and words: it does not fail
	}
	return append(text, '\n')
}

// newPosition is that of a store that is made anew.
func newPosition(applied uint64) *position {
	return &position{Remark: remark, Version: positionVersion, Store: rand.Text(), mark: mark{Applied: applied}}
}

// found is a text of budgets as it is read.
type found struct {
	mark
	told   uint64 // the number in its first line
	tells  bool   // whether it has one
	edited bool   // it is none of the texts that the position knows: it was edited, copied or restored
}

// reconcile says up to which change a text has all, and makes the position say so. What
// was applied once is never applied again: amounts that somebody wrote, copied or restored count
// as they stand.
func (p *position) reconcile(f *found) error {
	is := func(m *mark) bool { return m != nil && m.Budget == f.Budget }
	switch {
	case is(p.Next):
		p.mark = *p.Next
	case is(&p.mark):
	case f.Queues == 0 && p.Queues > 0:
		return fmt.Errorf("no queue is in it, and %d were: put it back as it was; or, to begin anew without queues, remove the file %s beside it", p.Queues, positionSuffix)
	case p.Next != nil && !f.tells:
		return fmt.Errorf("it was changed after a crash in the middle of a write, and its first line is gone: make the first line %q when its amounts are from before the changes %d to %d, else, and in doubt, %q: then nothing counts twice",
			fmt.Sprint(header, p.Applied), p.Applied+1, p.Next.Applied, fmt.Sprint(header, p.Next.Applied))
	case p.isOlder(f):
		return fmt.Errorf("its amounts are newer than the file %s beside it: queues were charged up to %s, and that file knows of charges up to %s. Changes would count twice: put back the two files of one moment; "+
			"or make the first line %q with the number of the last change that is in the amounts", positionSuffix, moment(f.Charged), moment(p.Charged), header+"NUMBER")
	default:
		f.edited = p.Budget != ""
		p.Applied = max(p.Applied, f.told) // a larger one is of a version that wrote no position
	}
	p.Next = nil
	p.Budget, p.Queues, p.Charged, f.Applied = f.Budget, f.Queues, f.Charged, p.Applied
	return nil
}

// isOlder says of a text that it has charges of which the position does not know, and no number of
// its own that says so: it was put beside an older position.
func (p *position) isOlder(f *found) bool {
	knows := p.Charged
	if p.Next != nil {
		knows = max(knows, p.Next.Charged)
	}
	return knows != 0 && f.Charged > knows && f.told <= p.Applied
}

func moment(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }

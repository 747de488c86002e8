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

// positionSuffix is the suffix of the position's file, beside the budgets.
const positionSuffix = ".applied"

// positionVersion is the version of the position and of the budgets' lines.
const positionVersion = 1

// remark explains the file to a person who opens it.
const remark = "Written by the policy. It says which changes are in the budgets: leave it here when you change, copy or restore them."

// position records the last change that a file of budgets includes, in a file of its own: a line
// among the budgets would be lost as soon as a person took it for a comment.
//
// A write takes three steps: the position with the next mark, then the budgets, then the final
// position. After a crash the hashes of the budgets' text show which steps were done.
type position struct {
	Remark  string `json:"remark"`
	Version int    `json:"version"` // positionVersion
	// Store names the store. A new store has another name, and entries for another store are not
	// applied to it.
	Store string `json:"store"`
	mark
	// Next is the state being written.
	Next *mark `json:"next,omitempty"`
}

// mark identifies a text of budgets, and the last change that it includes.
type mark struct {
	Applied uint64 `json:"applied"`
	Budget  string `json:"budget"` // hash of the text; "": none was written
	Queues  int    `json:"queues"`
	// Charged is the end of the last charged interval of any queue. The budgets have it in each
	// line, which distinguishes amounts newer than this file from an edit. 0: unknown.
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

// readPosition reads a position; nil if there is none.
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

// orNewer adds that a newer program can read a newer version.
func orNewer(version int) string {
	if version > positionVersion {
		return ", or a newer one"
	}
	return ""
}

// text encodes the position.
func (p *position) text() []byte {
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		panic(err) // numbers and strings always encode
	}
	return append(text, '\n')
}

// newPosition returns the position of a new store.
func newPosition(applied uint64) *position {
	return &position{Remark: remark, Version: positionVersion, Store: rand.Text(), mark: mark{Applied: applied}}
}

// found is a text of budgets that was read.
type found struct {
	mark
	told   uint64 // the number in its first line
	tells  bool   // whether it has one
	edited bool   // the position does not know the text: it was edited, copied or restored
}

// reconcile determines the last change that a text includes, and sets it in the position. A change
// is never applied twice: amounts that a person wrote, copied or restored count as they stand.
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
		p.Applied = max(p.Applied, f.told) // a larger number is from a version without positions
	}
	p.Next = nil
	p.Budget, p.Queues, p.Charged, f.Applied = f.Budget, f.Queues, f.Charged, p.Applied
	return nil
}

// isOlder reports whether a text has charges that the position lacks, and no number of its own: it
// was put beside an older position.
func (p *position) isOlder(f *found) bool {
	knows := p.Charged
	if p.Next != nil {
		knows = max(knows, p.Next.Charged)
	}
	return knows != 0 && f.Charged > knows && f.told <= p.Applied
}

func moment(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }

package jobfile

import (
	"fmt"

	"github.com/dustin/go-humanize"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// textsMax bounds the bytes of texts in a file, since every reader of attempts reads all of them. Later texts are
// replaced by textNotKept.
const textsMax = 64 << 20

var textNotKept = fmt.Sprintf("[not kept: the job's attempts have more than %s of different reasons]", humanize.IBytes(textsMax))

// names are the launchers and texts of a file's attempts, each stored once.
type names struct {
	Launchers []launcher `json:"launchers"`
	Texts     []string   `json:"texts"`

	launchers map[launcher]uint64
	texts     map[string]uint64
	bytes     int // of Texts
}

type launcher struct {
	ID   scheduler.LauncherID `json:"id"`
	Name string               `json:"name"`
}

func (n *names) launcher(id scheduler.LauncherID, name string) uint64 {
	l := launcher{id, name}
	at, known := n.launchers[l]
	if !known {
		if n.launchers == nil {
			n.launchers = map[launcher]uint64{}
		}
		at = uint64(len(n.Launchers))
		n.launchers[l] = at
		n.Launchers = append(n.Launchers, l)
	}
	return at
}

// launcherAt returns a launcher by its number, or nothing for a number that a whole file can't have.
func (n *names) launcherAt(at uint64) (scheduler.LauncherID, string) {
	if at >= uint64(len(n.Launchers)) {
		return 0, ""
	}
	return n.Launchers[at].ID, n.Launchers[at].Name
}

// text numbers a text from 1 on; 0 is the empty one.
func (n *names) text(s string) uint64 {
	if s == "" {
		return 0
	}
	at, known := n.texts[s]
	if !known && n.bytes+len(s) > textsMax {
		s = textNotKept
		at, known = n.texts[s]
	}
	if !known {
		if n.texts == nil {
			n.texts = map[string]uint64{}
		}
		n.Texts, n.bytes = append(n.Texts, s), n.bytes+len(s)
		at = uint64(len(n.Texts))
		n.texts[s] = at
	}
	return at
}

func (n *names) textAt(at uint64) string {
	if at == 0 || at > uint64(len(n.Texts)) {
		return ""
	}
	return n.Texts[at-1]
}

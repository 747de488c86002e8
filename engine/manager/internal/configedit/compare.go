package configedit

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"go.yaml.in/yaml/v3"

	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Problem is a mistake of a text.
type Problem struct {
	File string // "": no place is known
	Line int    // 0: of the whole file
	Text string // cause and remedy
}

var atLine = regexp.MustCompile(`^(.+?):(\d+): (.*)$`)

// Problems splits an error of a configuration: each line that begins with a place is a problem, and
// a line without one belongs to the problem before.
func Problems(err error) (list []Problem) {
	if err == nil {
		return nil
	}
	for line := range strings.SplitSeq(strings.TrimRight(err.Error(), "\n"), "\n") {
		if m := atLine.FindStringSubmatch(line); m != nil {
			n, _ := strconv.Atoi(m[2]) // digits; a line too large for an int is none
			list = append(list, Problem{m[1], n, m[3]})
			continue
		}
		if len(list) == 0 {
			list = append(list, Problem{Text: line})
			continue
		}
		list[len(list)-1].Text += "\n" + line
	}
	return list
}

// Kinds of a Line.
const (
	Same    = "same"
	Removed = "removed"
	Added   = "added"
)

// Line is a line of a text or of its successor.
type Line struct {
	Kind string
	Old  int // its number in the old text; 0: it is not in it
	New  int
	Text string // without its end
	// Unended says that it is the last line and has no newline: diff calls it no newline at the end
	// of the file.
	Unended bool
}

var hunk = regexp.MustCompile(`^@@ -(\d+),\d+ \+(\d+),\d+ @@$`)

// Lines lists the lines that change from one text to another, with up to three unchanged ones on
// each side. Where numbers jump, unchanged lines are left out.
func Lines(old, text []byte) (list []Line) {
	_, rest, _ := bytes.Cut(diff.Diff("old", old, "new", text), []byte("+++ new\n"))
	a, b := 0, 0
	for at := range strings.SplitSeq(strings.TrimSuffix(string(rest), "\n"), "\n") {
		if at == "" {
			continue // there is none
		}
		if m := hunk.FindStringSubmatch(at); m != nil {
			a, _ = strconv.Atoi(m[1])
			b, _ = strconv.Atoi(m[2])
			continue
		}
		l := Line{Text: at[1:]}
		switch at[0] {
		case ' ':
			l.Kind, l.Old, l.New = Same, a, b
			a, b = a+1, b+1
		case '-':
			l.Kind, l.Old = Removed, a
			a++
		case '+':
			l.Kind, l.New = Added, b
			b++
		default: // "\ No newline at end of file"
			list[len(list)-1].Unended = true
			continue
		}
		list = append(list, l)
	}
	return list
}

// same reports whether two values mean the same: in values of several lines, comments and layout do
// not count.
func same(a, b string) bool {
	if a == b {
		return true
	}
	var x, y yaml.Node
	if yaml.Unmarshal([]byte(a), &x) != nil || yaml.Unmarshal([]byte(b), &y) != nil || len(x.Content) != 1 || len(y.Content) != 1 {
		return false
	}
	return x.Content[0].Kind != yaml.ScalarNode && sameNode(&x, &y)
}

func sameNode(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && a.ShortTag() == b.ShortTag() && a.Value == b.Value && slices.EqualFunc(a.Content, b.Content, sameNode)
}

// Key is a key whose value changes.
type Key struct {
	Key               string
	Before, After     string
	BeforeFrom, From  string
	Restart           bool // it takes effect at the manager's next start
	Appears, Vanishes bool // only one of the two texts has it
}

// Keys lists the keys whose values differ, for a manager that started with these settings.
func (s Started) Keys(before, after []*wire.Setting) (list []Key) {
	was := map[string]*wire.Setting{}
	for _, x := range before {
		was[x.Key] = x
	}
	for _, x := range after {
		old, there := was[x.Key]
		delete(was, x.Key)
		if !there || !same(old.Value, x.Value) {
			list = append(list, Key{Key: x.Key, Before: old.GetValue(), After: x.Value, BeforeFrom: old.GetFrom(), From: x.From, Restart: !s.Live(x.Key), Appears: !there})
		}
	}
	for _, x := range was {
		list = append(list, Key{Key: x.Key, Before: x.Value, BeforeFrom: x.From, Restart: !s.Live(x.Key), Vanishes: true})
	}
	slices.SortFunc(list, func(x, y Key) int { return strings.Compare(x.Key, y.Key) })
	return list
}

// OfPolicy reports whether a setting is the policy's: it is in force when the policy has accepted
// it.
func OfPolicy(key string) bool { return strings.HasPrefix(key, "policy.") }

// Started are the settings with which a manager started; they say which settings it takes over
// while it runs.
type Started []*wire.Setting

// Live reports whether a setting takes effect while the manager runs; the others do so at its next
// start. Settings of auth.oidc do if there was an issuer at the start: without, the manager takes
// no connections without a certificate.
func (s Started) Live(key string) bool {
	section, rest, _ := strings.Cut(key, ".")
	switch {
	case section == "auth" && strings.HasPrefix(rest, "oidc."):
		return slices.ContainsFunc(s, func(x *wire.Setting) bool { return x.Key == "auth.oidc.issuer" && x.Value != "" })
	case section == "auth":
		return slices.Contains(access.Keys, rest)
	}
	return OfPolicy(key) || section == "core"
}

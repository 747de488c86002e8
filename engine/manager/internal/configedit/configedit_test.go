package configedit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// bed is a configuration's file with an editor. A text is taken unless it says otherwise.
type bed struct {
	*testing.T
	folder, file string
	versions     *VersionStore
	editor       *Editor

	mu        sync.Mutex
	took      []uint64
	force     string
	offered   chan error    // what becomes of an offer; nil: the text says it
	version   func() uint64 // of that offer
	withdrawn int           // offers
}

func newBed(t *testing.T) *bed {
	b := &bed{T: t, folder: filepath.Join(t.TempDir(), "versions"), file: filepath.Join(t.TempDir(), "site.yaml"), force: "one\n"}
	b.write("one\n")
	b.open()
	return b
}

func (b *bed) write(text string) {
	b.Helper()
	if err := os.WriteFile(b.file, []byte(text), 0o640); err != nil {
		b.Fatal(err)
	}
}

// open is a manager's start with the file's text.
func (b *bed) open() Version {
	b.Helper()
	versions, err := Open(Options{Folder: b.folder, File: b.file, Keep: 3, Now: func() time.Time { return time.Unix(1, 0) }})
	if err != nil {
		b.Fatal(err)
	}
	b.versions, b.editor = versions, NewEditor(versions, nil, b.reads)
	text, err := versions.place.text()
	if err != nil {
		b.Fatal(err)
	}
	v, err := versions.BeginWith(text)
	if err != nil {
		b.Fatal(err)
	}
	return v
}

func (b *bed) reads(text []byte) (Candidate, error) {
	if strings.Contains(string(text), "mistake") {
		return nil, errors.New("site.yaml:1: there is a mistake; leave it out")
	}
	return fake{b, string(text)}, nil
}

type fake struct {
	b    *bed
	text string
}

func (f fake) Shown() []*wire.Setting {
	list := []*wire.Setting{{Key: "policy.name", Value: f.text}}
	if strings.Contains(f.text, "overridden") {
		list = append(list, &wire.Setting{Key: "core.attemptsMax", Value: "7", From: "HAMADRYAD_CORE_ATTEMPTSMAX", Over: "site.yaml:3"})
	}
	return list
}

func (f fake) Validate(context.Context) error {
	if strings.Contains(f.text, "judged") {
		return errors.New("site.yaml:2: the policy does not like it")
	}
	return nil
}

func (f fake) Offer(version func() uint64) <-chan error {
	if f.b.offered != nil {
		f.b.version = version
		return f.b.offered
	}
	told := make(chan error, 1)
	if strings.Contains(f.text, "refused") {
		told <- errors.New("the running policy does not like it")
		return told
	}
	f.b.accept(f.text, version())
	told <- nil
	return told
}

func (f fake) Withdraw() { f.b.withdrawn++ }

func (b *bed) accept(text string, version uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.force = text
	b.took = append(b.took, version)
}

func (b *bed) apply(text, known string) (Version, error) {
	return b.editor.Apply(b.Context(), []byte(text), Change{Known: Tag([]byte(known)), Who: "ann", Comment: "because"})
}

// holds checks the file's text, the one in force and the kept versions, the newest first. The
// file's folder must have no other file.
func (b *bed) holds(file, force string, versions ...string) {
	b.Helper()
	text, err := os.ReadFile(b.file)
	if err != nil || string(text) != file || b.force != force {
		b.Errorf("the file has %q (%v), and %q is in force", text, err, b.force)
	}
	var got []string
	for _, v := range b.editor.Versions() {
		full, err := b.editor.Version(v.Number)
		if err != nil || Tag(full.Text) != v.Tag {
			b.Errorf("version %d: %v", v.Number, err)
		}
		got = append(got, fmt.Sprintf("%d %s %s %q", v.Number, v.Who, v.Origin, full.Text))
	}
	if !slices.Equal(got, versions) {
		b.Errorf("versions are %q, not %q", got, versions)
	}
	entries, err := os.ReadDir(filepath.Dir(b.file))
	if err != nil || len(entries) != 1 {
		b.Errorf("beside the file lies %v (%v)", entries, err)
	}
	if _, err := os.Stat(filepath.Join(b.folder, pendingFile)); err == nil {
		b.Error("something is pending")
	}
}

// A text that is right replaces the file, with mode and owner, and becomes a version. Fewer are
// kept than there were.
func TestApplyAndRollBack(t *testing.T) {
	b := newBed(t)
	for i, text := range []string{"two\n", "three\n"} {
		v, err := b.apply(text, b.force)
		if err != nil || v.Number != uint64(i+2) || v.Comment != "because" || v.Before == v.Tag {
			t.Fatalf("%+v, %v", v, err)
		}
	}
	b.holds("three\n", "three\n", `3 ann applied "three\n"`, `2 ann applied "two\n"`, `1  found at a start "one\n"`)
	if v, err := b.editor.RollBack(t.Context(), 1, Change{Known: Tag([]byte("three\n")), Who: "bob"}); err != nil || v.Number != 4 {
		t.Fatalf("%+v, %v", v, err)
	}
	b.holds("one\n", "one\n", `4 bob rolled back to 1 "one\n"`, `3 ann applied "three\n"`, `2 ann applied "two\n"`)
	if info, err := os.Stat(b.file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := b.editor.RollBack(t.Context(), 1, Change{Known: Tag([]byte("one\n"))}); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	if !slices.Equal(b.took, []uint64{2, 3, 4}) {
		t.Errorf("in force came %v", b.took)
	}
	if v := b.open(); v.Number != 4 {
		t.Errorf("after a restart it is version %d", v.Number)
	}
	if v, err := b.apply("one\n", "three\n"); err != nil || v.Number != 4 {
		t.Errorf("who lost the answer and asks again is told %+v, %v", v, err)
	}
}

// If anything is wrong nothing changes, and the error has its kind.
func TestNothingChanges(t *testing.T) {
	b := newBed(t)
	for _, story := range []struct {
		text, known string
		want        error
		says        string
	}{
		{"mistake", "one\n", ErrInvalid, "site.yaml:1: there is a mistake; leave it out"},
		{"judged", "one\n", ErrInvalid, "site.yaml:2: the policy does not like it"},
		{"refused", "one\n", ErrInvalid, "the running policy does not like it"},
		{"two\n", "another\n", ErrChanged, "and you saw"},
		{strings.Repeat("x", TextBytesMax+1), "one\n", ErrInvalid, "at most 1048576"},
	} {
		if _, err := b.apply(story.text, story.known); !errors.Is(err, story.want) || !strings.Contains(err.Error(), story.says) {
			t.Errorf("%.20q: %v", story.text, err)
		}
		b.holds("one\n", "one\n", `1  found at a start "one\n"`)
	}
	if len(b.took) != 0 {
		t.Errorf("in force came %v", b.took)
	}
}

// A text is compared with the one in force: if a mistake was just made in the file, that is the
// version before.
func TestDifferenceFromWhatCounts(t *testing.T) {
	b := newBed(t)
	for _, file := range []string{"one\n", "mistake\n"} {
		b.write(file)
		d, err := b.editor.Diff([]byte("two\n"))
		if err != nil || len(d.Lines) != 2 || len(d.Keys) != 1 || d.Keys[0].Before != "one\n" || d.Keys[0].After != "two\n" {
			t.Errorf("with %q in the file: %+v, %v", file, d, err)
		}
	}
}

// Settings of a text that the environment or a flag overrides are reported: they change no value.
func TestDifferenceSaysWhatCountsForNothing(t *testing.T) {
	b := newBed(t)
	for text, want := range map[string]int{"two\n": 0, "overridden\n": 1} {
		d, err := b.editor.Diff([]byte(text))
		if err != nil || len(d.Overridden) != want || want > 0 && d.Overridden[0].Over != "site.yaml:3" {
			t.Errorf("%q: %+v, %v", text, d, err)
		}
	}
}

// A file that can't be replaced is reported before, with the remedy, and left alone.
func TestReadOnly(t *testing.T) {
	for says, spoil := range map[string]func(*bed) error{
		"symbolic link": func(b *bed) error {
			return errors.Join(os.Rename(b.file, b.file+".real"), os.Symlink(b.file+".real", b.file))
		},
		"hard links":   func(b *bed) error { return os.Link(b.file, b.file+".other") },
		"no such file": func(b *bed) error { return os.Remove(b.file) },
		"is a dir":     func(b *bed) error { return errors.Join(os.Remove(b.file), os.Mkdir(b.file, 0o700)) },
		"no file":      func(b *bed) error { return errors.Join(os.Remove(b.file), unix.Mkfifo(b.file, 0o600)) },
		"edit it":      func(b *bed) error { return os.WriteFile(b.file, make([]byte, TextBytesMax+1), 0o600) },
		"without a c":  func(b *bed) error { b.versions.place.path = ""; return nil },
		"mounted by": func(b *bed) error {
			b.versions.place.renaming = func(string, string) error { return unix.EBUSY }
			return nil
		},
		"read-only file system": func(b *bed) error {
			b.versions.place.renaming = func(string, string) error { return unix.EROFS }
			return nil
		},
	} {
		b := newBed(t)
		if err := spoil(b); err != nil {
			t.Fatal(err)
		}
		known := "one\n"
		if says == "no file" {
			known = ""
		}
		if _, err := b.apply("two\n", known); !errors.Is(err, ErrReadOnly) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
		if says != "mounted by" && says != "read-only file system" && b.editor.ReadOnly() == nil {
			t.Errorf("%s: it looks as if it could be changed", says)
		}
		if b.force != "one\n" {
			t.Errorf("%s: %q is in force", says, b.force)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(b.file), ".*")); len(left) > 0 {
			t.Errorf("%s: %v is left", says, left)
		}
	}
}

// Of many changes of the same text at once one is made, and the others are refused.
func TestApplyAtOnce(t *testing.T) {
	b := newBed(t)
	done := make(chan string, 8)
	for i := range 8 {
		go func() {
			text := fmt.Sprintf("text %d\n", i)
			_, err := b.apply(text, "one\n")
			switch {
			case errors.Is(err, ErrChanged):
				text = ""
			case err != nil:
				t.Error(err)
			}
			done <- text
		}()
	}
	won := ""
	for range 8 {
		if text := <-done; text != "" {
			if won != "" {
				t.Errorf("%q and %q were applied", won, text)
			}
			won = text
		}
	}
	b.holds(won, won, fmt.Sprintf("2 ann applied %q", won), `1  found at a start "one\n"`)
}

// An edit by hand at the last moment is never overwritten: neither in its place nor by another
// file, nor when it is repeated while it is being restored.
func TestByHandAtTheLastMoment(t *testing.T) {
	for times := 1; times <= 3; times++ {
		b := newBed(t)
		done := 0
		b.versions.place.renaming = func(from, to string) error {
			if done < times {
				done++
				other := b.file + ".editor"
				if err := errors.Join(os.WriteFile(other, fmt.Appendf(nil, "by hand %d\n", done), 0o640), os.Rename(other, b.file)); err != nil {
					return err
				}
			}
			return exchange(from, to)
		}
		if _, err := b.apply("two\n", "one\n"); !errors.Is(err, ErrChanged) {
			t.Fatal(err)
		}
		b.holds(fmt.Sprintf("by hand %d\n", times), "one\n", `1  found at a start "one\n"`)
	}
}

// Where a file system can't exchange files, a file that changed is found by a look.
func TestWithoutExchange(t *testing.T) {
	b := newBed(t)
	b.versions.place.renaming = func(string, string) error { return unix.EINVAL }
	if _, err := b.apply("two\n", "one\n"); err != nil {
		t.Fatal(err)
	}
	b.holds("two\n", "two\n", `2 ann applied "two\n"`, `1  found at a start "one\n"`)
	b.versions.place.renaming = func(string, string) error {
		b.write("by hand\n")
		return unix.EINVAL
	}
	if _, err := b.apply("three\n", "two\n"); !errors.Is(err, ErrChanged) {
		t.Fatal(err)
	}
	b.holds("by hand\n", "two\n", `2 ann applied "two\n"`, `1  found at a start "one\n"`)
}

// killed ends a manager where it stands.
type killed struct{}

// Whatever moment a manager is killed at, the file is whole, and the next manager knows the author
// of its text.
func TestKilledWhileItApplies(t *testing.T) {
	for at, want := range map[string][]string{
		"beside the file":   {`1  found at a start "one\n"`},
		"before the rename": {`1  found at a start "one\n"`},
		"behind the rename": {`2 ann applied "two\n"`, `1  found at a start "one\n"`},
	} {
		b := newBed(t)
		b.versions.place.renaming = func(from, to string) error {
			if at == "behind the rename" {
				if err := exchange(from, to); err != nil {
					t.Error(err)
				}
			}
			panic(killed{})
		}
		if at == "beside the file" {
			b.versions.place.prepared = func() { panic(killed{}) }
		}
		func() {
			defer func() {
				if _, yes := recover().(killed); !yes {
					t.Error("it was not killed")
				}
			}()
			_, _ = b.apply("two\n", "one\n")
		}()
		v := b.open()
		text := "one\n"
		if v.Number == 2 {
			text = "two\n"
		}
		b.force = text
		b.holds(text, text, want...)
		if _, err := b.apply("three\n", text); err != nil {
			t.Error(err)
		}
	}
}

// A text written by hand becomes a version once it is in force. If it is replaced before that, it
// is kept.
func TestByHand(t *testing.T) {
	b := newBed(t)
	hear := func(text string) <-chan error { return b.editor.OnFileChange([]byte(text), fake{b, text}) }
	b.write("two refused\n")
	if err := <-hear("two refused\n"); err == nil {
		t.Error("a refusal is not told")
	}
	if hear("stale") != nil {
		t.Error("a text that the file has no more is taken")
	}
	if _, err := b.apply("three\n", "two refused\n"); err != nil {
		t.Fatal(err)
	}
	b.holds("three\n", "three\n", `3 ann applied "three\n"`, `2  changed by hand "two refused\n"`, `1  found at a start "one\n"`)
	b.write("four\n")
	b.offered = make(chan error, 1)
	hear("four\n")
	four := b.version
	b.offered = nil
	b.write("five\n")
	if err := <-hear("five\n"); err != nil {
		t.Error(err)
	}
	if n := four(); n != 4 { // the policy accepts it late, and the file has another text
		t.Errorf("got version %d, want 4", n)
	}
	b.holds("five\n", "five\n", `4  changed by hand "five\n"`, `3 ann applied "three\n"`, `2  changed by hand "two refused\n"`)
}

// An offer that the policy gives up is withdrawn, and its text is no version however late the
// policy accepts it. An accepted one counts, whatever the answer.
func TestAcceptedLate(t *testing.T) {
	for _, accepted := range []bool{false, true} {
		b := newBed(t)
		late := candidateOf{fake{b, "two\n"}, accepted}
		b.editor.reads = func([]byte) (Candidate, error) { return late, nil }
		v, err := b.apply("two\n", "one\n")
		if accepted {
			if err != nil || v.Number != 2 || b.withdrawn != 0 {
				t.Errorf("got %+v, error %v, %d withdrawn", v, err, b.withdrawn)
			}
			continue
		}
		if !errors.Is(err, ErrInvalid) || b.withdrawn != 1 {
			t.Errorf("got error %v, %d withdrawn", err, b.withdrawn)
		}
		if n := b.version(); n != 1 {
			t.Errorf("got version %d, want 1", n)
		}
		b.holds("one\n", "one\n", `1  found at a start "one\n"`)
	}
}

// candidateOf is given up by the policy, perhaps after it was accepted.
type candidateOf struct {
	fake
	accepted bool
}

func (c candidateOf) Offer(version func() uint64) <-chan error {
	c.b.version = version
	if c.accepted {
		version()
	}
	told := make(chan error, 1)
	told <- errors.New("the policy is gone")
	return told
}

// A version that was damaged is left out; the others are there, and numbers go on.
func TestADamagedVersion(t *testing.T) {
	b := newBed(t)
	for _, text := range []string{"two\n", "three\n"} {
		if _, err := b.apply(text, b.force); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(b.folder, "2.json")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, bytes.Replace(text, []byte(`"sha256":"`), []byte(`"sha256":"0`), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if v := b.open(); v.Number != 3 {
		t.Errorf("it goes on with version %d", v.Number)
	}
	b.holds("three\n", "three\n", `3 ann applied "three\n"`, `1  found at a start "one\n"`)
}

// Lines describe each line's change: by them one text is made of the other, and they have only
// lines of the two texts.
func TestLines(t *testing.T) {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "", "-x", "+++ new", "@@ -1,1 +1,1 @@", `\ No newline`}), 0, 30)
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string {
			s := strings.Join(words.Draw(t, name), "\n")
			if rapid.Bool().Draw(t, name+" ends") {
				s += "\n"
			}
			return s
		}
		old, now := text("old"), text("new")
		if got := patched(t, old, Lines([]byte(old), []byte(now))); got != now {
			t.Fatalf("%q became %q, not %q", old, got, now)
		}
		for _, l := range Lines([]byte(old), []byte(old)) {
			t.Fatalf("of what stays the same: %+v", l)
		}
	})
}

// patched makes the new text of the old one, line by line.
func patched(t *rapid.T, old string, list []Line) (text string) {
	was := strings.SplitAfter(old, "\n")
	at := 0 // lines of the old text that were gone through
	for _, l := range list {
		for l.Old != 0 && at < l.Old-1 {
			text += was[at]
			at++
		}
		end := "\n"
		if l.Unended {
			end = ""
		}
		if l.Kind != Added {
			if was[at] != l.Text+end {
				t.Fatalf("line %d is %q, not %+v", l.Old, was[at], l)
			}
			at++
		}
		if l.Kind != Removed {
			if n := strings.Count(text, "\n") + 1; l.New != n {
				t.Fatalf("%+v is line %d", l, n)
			}
			text += l.Text + end
		}
	}
	return text + strings.Join(was[at:], "")
}

// Keys are those with a changed value, in order; a value's position does not count.
func TestKeys(t *testing.T) {
	before := []*wire.Setting{{Key: "core.a", Value: "1", From: "f:1"}, {Key: "gone", Value: "x"}, {Key: "manager.b", Value: "2"}, {Key: "same", Value: "s", From: "f:2"}}
	after := []*wire.Setting{{Key: "core.a", Value: "9", From: "f:3"}, {Key: "manager.b", Value: "3"}, {Key: "new", Value: "y"}, {Key: "same", Value: "s", From: "default"}}
	var got []string
	for _, k := range Started(nil).Keys(before, after) {
		got = append(got, fmt.Sprint(k.Key, " ", k.Before, " ", k.After, " ", k.Restart, k.Appears, k.Vanishes))
	}
	if want := []string{"core.a 1 9 false false false", "gone x  true false true", "manager.b 2 3 true false false", "new  y true true false"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Settings that a running manager takes over are marked so, and no others: tokens' issuers if it
// had one at its start.
func TestLive(t *testing.T) {
	without := Started{{Key: "auth.oidc.issuer"}, {Key: "auth.oidc.nameClaim", Value: "sub"}}
	with := Started{{Key: "auth.oidc.issuer", Value: "https://login.example.org"}}
	for key, want := range map[string][2]bool{
		"policy.settings": {true, true}, "core.retries": {true, true}, "auth.roles": {true, true}, "auth.pools": {true, true}, "auth.revoked": {true, true}, "auth.defaultPool": {true, true},
		"auth.oidc.issuer": {false, true}, "auth.oidc.namePrefix": {false, true},
		"auth.kerberos.realms": {false, false}, "auth.kerberos.keytab": {false, false}, "auth.mode": {false, false}, "auth.certificate": {false, false}, "auth.join": {false, false},
		"manager.http": {false, false}, "log.level": {false, false}, "auth.oidcx": {false, false},
	} {
		if got := [2]bool{without.Live(key), with.Live(key)}; got != want {
			t.Errorf("%s: %v, not %v", key, got, want)
		}
	}
}

// A text of several settings that is written in another way is the same, and one with another value, order or
// type is not.
func TestWhatMeansTheSame(t *testing.T) {
	const text = "a: 1\nb:\n- x\n"
	for other, changes := range map[string]int{
		text: 0, "a: 1 # why\n\nb: [ 'x' ]": 0, "{a: 1, b: [x]}": 0, "a: 1\r\nb:\r\n- x\r\n": 0,
		"a: 2\nb: [x]": 1, "b: [x]\na: 1": 1, "a: '1'\nb: [x]": 1, "a: 1": 1, "{": 1, "": 1,
	} {
		if list := (Started{}).Keys([]*wire.Setting{{Key: "policy.settings", Value: text}}, []*wire.Setting{{Key: "policy.settings", Value: other}}); len(list) != changes {
			t.Errorf("%q: %+v", other, list)
		}
	}
	if len((Started{}).Keys([]*wire.Setting{{Key: "manager.data", Value: "x # a"}}, []*wire.Setting{{Key: "manager.data", Value: "x # b"}})) != 1 {
		t.Error("a single value is taken for another")
	}
}

// Problems have the place that a line begins with.
func TestProblems(t *testing.T) {
	got := Problems(errors.New("the text is not taken:\n/a b/x.yaml:3: bad: do this\nand that\ny.yaml:12: worse"))
	if want := []Problem{{"", 0, "the text is not taken:"}, {"/a b/x.yaml", 3, "bad: do this\nand that"}, {"y.yaml", 12, "worse"}}; !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// A text written by hand at the moment when a manager was killed while it replaced the file is not
// removed with that manager's leftovers.
func TestKilledWhileSomebodyWrites(t *testing.T) {
	b := newBed(t)
	b.versions.place.renaming = func(from, to string) error {
		b.write("by hand\n")
		if err := exchange(from, to); err != nil {
			t.Error(err)
		}
		panic(killed{})
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = b.apply("two\n", "one\n")
	}()
	b.open()
	left, err := filepath.Glob(filepath.Join(filepath.Dir(b.file), ".*.new-*"))
	if err != nil || len(left) != 1 {
		t.Fatalf("beside the file lies %q (%v)", left, err)
	}
	if text, err := os.ReadFile(left[0]); err != nil || string(text) != "by hand\n" {
		t.Errorf("it has %q (%v)", text, err)
	}
}

// A file that was removed has no text, so its problem stays when a policy takes over the accepted one.
func TestARemovedFileHasNoText(t *testing.T) {
	b := newBed(t)
	if !b.editor.IsCurrent([]byte("one\n")) || b.editor.IsCurrent([]byte("two\n")) {
		t.Error("the file's text is not the current one")
	}
	if err := os.Remove(b.file); err != nil {
		t.Fatal(err)
	}
	if b.editor.IsCurrent([]byte("one\n")) {
		t.Error("a file that is not there has a text")
	}
}

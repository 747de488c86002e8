// Package storagetest checks a storage.Store against its contract. Each store's
// own tests run it:
//
//	func TestContract(t *testing.T) { storagetest.Run(t, myStore, "my://host/folder") }
package storagetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/storage"
)

// Run runs all checks of a store, in folders of their own below an existing writable folder.
func Run(t *testing.T, s storage.Store, folder string) {
	for _, check := range []struct {
		name string
		run  func(*kit)
	}{
		{"rename", (*kit).rename},
		{"renameAtOnce", (*kit).renameAtOnce},
		{"createAtOnce", (*kit).createAtOnce},
		{"errorsThatStay", (*kit).errorsThatStay},
		{"guarded", (*kit).guarded},
		{"patterns", (*kit).patterns},
		{"patternsNotUnderstood", (*kit).patternsNotUnderstood},
	} {
		t.Run(check.name, func(t *testing.T) {
			k := &kit{T: t, store: s, folder: storage.Join(folder, check.name)}
			k.must(s.Mkdir(t.Context(), k.folder))
			check.run(k)
			k.must(s.Delete(context.WithoutCancel(t.Context()), k.folder))
		})
	}
}

// kit is one check of a store.
type kit struct {
	*testing.T
	store  storage.Store
	folder string
}

func (k *kit) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

func (k *kit) at(name string) string { return storage.Join(k.folder, name) }

func (k *kit) mkdir(name string) { k.Helper(); k.must(k.store.Mkdir(k.Context(), k.at(name))) }

func (k *kit) write(name, content string) {
	k.Helper()
	f, err := k.store.Create(k.Context(), k.at(name))
	k.must(err)
	_, err = io.WriteString(f, content)
	k.must(err)
	k.must(f.Commit())
}

// content returns a file's content, or the error.
func (k *kit) content(name string) string {
	r, err := k.store.Open(k.Context(), k.at(name), 0, -1)
	if err != nil {
		return err.Error()
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// fails checks the kind of an error, and whether Stays reports it.
func (k *kit) fails(what string, err, want error) {
	k.Helper()
	if !errors.Is(err, want) {
		k.Errorf("%s: %v, want %v", what, err, want)
	}
	if err != nil && !storage.Stays(err) {
		k.Errorf("%s: %v counts as an error that passes", what, err)
	}
}

func (k *kit) rename() {
	for _, folder := range []string{"folder", "empty", "full"} {
		k.mkdir(folder)
	}
	k.write("a", "a")
	k.write("b", "b")
	k.write("folder/c", "c")
	k.write("full/d", "d")
	for _, taken := range []string{"b", "folder", "empty", "a"} {
		k.fails("a file over "+taken, k.store.Rename(k.Context(), k.at("a"), k.at(taken)), fs.ErrExist)
	}
	for _, taken := range []string{"a", "empty", "full"} {
		k.fails("a folder over "+taken, k.store.Rename(k.Context(), k.at("folder"), k.at(taken)), fs.ErrExist)
	}
	k.fails("what is not there", k.store.Rename(k.Context(), k.at("none"), k.at("x")), fs.ErrNotExist)
	k.fails("what is not there, over a file", k.store.Rename(k.Context(), k.at("none"), k.at("a")), fs.ErrNotExist)
	k.fails("into no folder", k.store.Rename(k.Context(), k.at("a"), k.at("none/a")), fs.ErrNotExist)
	k.must(k.store.Rename(k.Context(), k.at("folder"), k.at("moved")))
	k.must(k.store.Rename(k.Context(), k.at("a"), k.at("moved/e")))
	for name, want := range map[string]string{"moved/c": "c", "moved/e": "a", "b": "b", "full/d": "d"} {
		if got := k.content(name); got != want {
			k.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
}

// many is the number of concurrent operations in a race.
const many = 16

// race runs do many times at once and returns the winner. The others must have found that the name
// is taken.
func (k *kit) race(do func(i int) error) (winner int) {
	k.Helper()
	var all sync.WaitGroup
	begin, errs := make(chan struct{}), make([]error, many)
	for i := range many {
		all.Go(func() {
			<-begin
			errs[i] = do(i)
		})
	}
	close(begin)
	all.Wait()
	winner = slices.IndexFunc(errs, func(err error) bool { return err == nil })
	for i, err := range errs {
		if i != winner {
			k.fails(fmt.Sprintf("%d, beside winner %d", i, winner), err, fs.ErrExist)
		}
	}
	if winner < 0 {
		k.Fatal("nobody won")
	}
	return winner
}

// renameAtOnce: if many rename to one name at once, one wins, and the others lose nothing. The
// files are empty, so that a remote store has little to do.
func (k *kit) renameAtOnce() {
	for round := range 5 {
		name := func(i int) string { return fmt.Sprintf("from-%d-%d", round, i) }
		var versions [many]string
		for i := range many {
			k.write(name(i), "")
			versions[i] = k.version(name(i))
		}
		to := fmt.Sprint("to-", round)
		winner := k.race(func(i int) error { return k.store.Rename(k.Context(), k.at(name(i)), k.at(to)) })
		for i := range many {
			at := name(i)
			if i == winner {
				at = to
			}
			if got := k.version(at); got != versions[i] {
				k.Errorf("%s is %s, want %s", at, got, versions[i])
			}
		}
	}
}

// version is a file's version, or the error.
func (k *kit) version(name string) string {
	info, err := k.store.Stat(k.Context(), k.at(name))
	if err != nil {
		return err.Error()
	}
	return info.Version
}

// createAtOnce: of many that create one file at once, one wins.
func (k *kit) createAtOnce() {
	const rounds = 2
	for round := range rounds {
		name := fmt.Sprint("file-", round)
		winner := k.race(func(i int) error {
			f, err := k.store.Create(k.Context(), k.at(name))
			if err != nil {
				return err
			}
			if _, err := fmt.Fprint(f, i); err != nil {
				return errors.Join(err, f.Abort())
			}
			return f.Commit()
		})
		if got := k.content(name); got != fmt.Sprint(winner) {
			k.Errorf("%s holds %q, want %d", name, got, winner)
		}
	}
	infos, err := k.store.List(k.Context(), k.folder)
	if err != nil || len(infos) != rounds {
		k.Errorf("%d files, want %d: %v", len(infos), rounds, err)
	}
}

// guarded: a store that reports write permissions reports those of its own folders, and lets no
// other user change anything there.
func (k *kit) guarded() {
	s, ok := k.store.(storage.Guarded)
	if !ok {
		return
	}
	k.must(s.MkdirGuarded(k.Context(), k.at("folder")))
	k.fails("a guarded folder that is there", s.MkdirGuarded(k.Context(), k.at("folder")), fs.ErrExist)
	k.write("folder/file", "x")
	k.write("file", "x")
	folder, err := s.Access(k.Context(), k.at("folder"))
	k.must(err)
	if !folder.Folder || folder.Owner == "" || folder.Mode&0o002 != 0 || folder.Mode&0o700 != 0o700 {
		k.Errorf("a guarded folder: %+v", folder)
	}
	file, err := s.Access(k.Context(), k.at("file"))
	k.must(err)
	if file.Folder || file.Owner != folder.Owner || file.Own != folder.Own {
		k.Errorf("a file of the same owner: %+v", file)
	}
	_, err = s.Access(k.Context(), k.at("none"))
	k.fails("access to nothing", err, fs.ErrNotExist)
}

// errorsThatStay: Stays reports the errors that no retry mends.
func (k *kit) errorsThatStay() {
	k.write("file", "x")
	long := strings.Repeat("n", 300)
	_, taken := k.store.Create(k.Context(), k.at("file"))
	_, none := k.store.Create(k.Context(), k.at("none/x"))
	_, inFile := k.store.Create(k.Context(), k.at("file/x"))
	_, missing := k.store.Stat(k.Context(), k.at("none"))
	k.fails("create what is there", taken, fs.ErrExist)
	k.fails("create in no folder", none, fs.ErrNotExist)
	k.fails("stat of nothing", missing, fs.ErrNotExist)
	k.fails("a folder that is there", k.store.Mkdir(k.Context(), k.at("file")), fs.ErrExist)
	k.fails("a folder in no folder", k.store.Mkdir(k.Context(), k.at("none/x")), fs.ErrNotExist)
	k.fails("a name of 300 bytes", k.store.Rename(k.Context(), k.at("file"), k.at(long)), storage.ErrName)
	k.fails("a folder's name of 300 bytes", k.store.Mkdir(k.Context(), k.at(long)), storage.ErrName)
	if !storage.Stays(inFile) {
		k.Errorf("create below a file: %v", inFile)
	}
}

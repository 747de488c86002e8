package manager

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/internal/dataformat"
)

// contents are all files of a folder, by name.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, folder)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// edited changes the one file that a pattern names.
func edited(t *testing.T, folder, pattern string, change func(string) string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	path := paths[len(paths)-1]
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := change(string(text))
	if changed == string(text) {
		t.Fatalf("%s is as it was", path)
	}
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
}

// swapped replaces a part of a text.
func swapped(old, to string) func(string) string {
	return func(text string) string { return strings.Replace(text, old, to, 1) }
}

// otherLog replaces the log by one of another core, or with another checkpoint.
func otherLog(t *testing.T, folder string, version int, checkpoint string, records ...string) {
	t.Helper()
	path := filepath.Join(folder, "log")
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	log, err := eventlog.Open(eventlog.Options{Folder: path, NoSync: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	err = log.Begin(eventlog.Header{Core: version, Identity: "other", Term: 1}, func(w io.Writer) error {
		_, err := io.WriteString(w, checkpoint)
		return err
	})
	for _, r := range records {
		if err == nil {
			_, err = log.Append([]byte(r))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// Data of another version, newer or older, is named with its version and what to start, and
// is left as it is, each byte. The table has each file of a data folder that has a version.
func TestDataOfOtherVersionsIsLeftAlone(t *testing.T) {
	b := newTestbed(t)
	b.start()
	b.launcher("a", 1, false)
	job := b.submit(2)
	b.follow(job)
	b.stop()
	data := b.cfg.Data
	good := string(core.New(core.DefaultSettings()).Checkpoint())
	const format = "hamadryad core checkpoint "
	newerFormat := strings.Replace(good, good[:len(format)+1], format+"9", 1)
	for name, test := range map[string]struct {
		change func(folder string)
		want   []string
	}{
		"a newer core by the mark": {func(folder string) {
			edited(t, folder, dataformat.File, swapped(`"core": `, `"core": 9`))
		}, []string{"is newer than this program: its core has version 9", "start hamadryad ", "nothing was changed"}},
		"a file of a kind that is not known": {func(folder string) {
			edited(t, folder, dataformat.File, swapped(`"versions": {`, `"versions": {"votes": 1,`))
		}, []string{"its votes has version 1, and this program has no such format"}},
		"a launcher's data": {func(folder string) {
			edited(t, folder, dataformat.File, swapped(`"manager"`, `"launcher"`))
		}, []string{"has the data of a launcher"}},
		"a newer event log": {func(folder string) {
			edited(t, folder, "log/events-*.log", swapped("HAMALOG\x02", "HAMALOG\x03"))
		}, []string{"has format version 3, and this program reads 1 to 2: start the version of Hamadryad that wrote it, or a newer one"}},
		"a newer core by the log": {
			func(folder string) { otherLog(t, folder, core.Version+1, good) },
			[]string{"and this is version", "start the version of Hamadryad that wrote it, or a newer one"},
		},
		"an older core that decided": {
			func(folder string) { otherLog(t, folder, core.Version-1, good, "x") },
			[]string{"start the old program once more on this data and stop it with SIGTERM"},
		},
		// As a build of an early commit left it when it was stopped: another form has the same number.
		"a checkpoint of the format that was written in two forms": {
			func(folder string) {
				otherLog(t, folder, core.Version-1, strings.Replace(good, good[:len(format)+1], format+"5", 1))
			},
			[]string{"it has format 5, which programs before a release wrote in two forms", "start the version of Hamadryad that wrote it"},
		},
		"a newer list of numbers": {func(folder string) {
			edited(t, folder, "numbers", swapped(`"version":1`, `"version":2`))
		}, []string{"numbers has version 2, and this program reads 1: start the version of Hamadryad that wrote it, or a newer one"}},
		"a newer part of the history's journal": {func(folder string) {
			edited(t, folder, "history/journal/part-*", swapped("HAMPART\x01", "HAMPART\x02"))
		}, []string{"has format version 2, and this program reads version 1", "start the version of Hamadryad that wrote it, or a newer one"}},
		"a newer checkpoint": {
			func(folder string) { otherLog(t, folder, core.Version, newerFormat) },
			[]string{"it has format 9, and this program reads formats 1 to", "start the version of Hamadryad that wrote it, or a newer one"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "data")
			if err := errors.Join(os.CopyFS(folder, os.DirFS(data)), os.Chmod(filepath.Join(folder, "key"), 0o600)); err != nil {
				t.Fatal(err) // a copy has the modes of new files, and the key is the manager's alone
			}
			test.change(folder)
			before := contents(t, folder)
			cfg := b.cfg
			cfg.Data, cfg.Log = folder, slog.New(slog.DiscardHandler)
			cfg.History.Folder = filepath.Join(folder, "history")
			err := Run(context.Background(), cfg)
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v, want one with %q", err, want)
				}
			}
			if after := contents(t, folder); !maps.Equal(before, after) {
				for path := range after {
					if before[path] != after[path] {
						t.Errorf("%s was changed", path)
					}
				}
				for path := range before {
					if _, there := after[path]; !there {
						t.Errorf("%s is gone", path)
					}
				}
			}
		})
	}
}

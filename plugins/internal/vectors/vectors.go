// Package vectors runs the test cases that a policy keeps in testdata/vectors: facts of the systems
// that it follows, from their tests and sources.
//
// Each file of that folder is an object whose "vectors" is a list of cases. A case has at least an
// "id", unlike all others, and a "kind". A case is run, or testdata/excluded.json lists its id with
// the reason. Anything else fails, so that no behaviour of the originals is left out silently.
//
//	func TestVectors(t *testing.T) {
//		vectors.Run(t, map[string]func(*testing.T, vector){"fifo-order": order})
//	}
//
// It is for tests of this folder's policies only. policytest is for all policies.
package vectors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// vectorCase is a case before it is read by its kind.
type vectorCase struct {
	id, kind string
	raw      []byte
}

// Run runs each case of the calling package's testdata as a subtest of the case's
// id, by the function of its kind. V is how cases are read: a field of a case that V
// lacks fails that case.
func Run[V any](t *testing.T, kinds map[string]func(*testing.T, V)) {
	t.Helper()
	cases, err := read(os.DirFS("testdata"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.id, func(t *testing.T) {
			run, known := kinds[c.kind]
			if !known {
				t.Fatalf("unknown kind %q: implement it, or list the case in testdata/excluded.json with the reason", c.kind)
			}
			play(t, c, run)
		})
	}
}

// RunKinds is Run for what stands beside a policy, such as its shell: it runs all cases of its
// kinds in a policy's testdata, those that the policy's excluded.json lists, too.
func RunKinds[V any](t *testing.T, testdata string, kinds map[string]func(*testing.T, V)) {
	t.Helper()
	of := os.DirFS(testdata)
	files, err := filesOf(of)
	if err != nil {
		t.Fatal(err)
	}
	left := maps.Clone(kinds)
	for _, file := range files {
		cases, err := casesOf(of, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			if run, mine := kinds[c.kind]; mine {
				delete(left, c.kind)
				t.Run(c.id, func(t *testing.T) { play(t, c, run) })
			}
		}
	}
	for kind := range left {
		t.Errorf("%s has no case of kind %q", testdata, kind)
	}
}

func play[V any](t *testing.T, c vectorCase, run func(*testing.T, V)) {
	t.Helper()
	var v V
	d := json.NewDecoder(bytes.NewReader(c.raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("kind %q: %v: teach the test the field, or list the case in testdata/excluded.json", c.kind, err)
	}
	run(t, v)
}

// Priority is the one that a case names, Normal where it names none.
func Priority(t *testing.T, name string) scheduler.Priority {
	t.Helper()
	if name == "" {
		return scheduler.Normal
	}
	p, err := scheduler.ParsePriority(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// read returns the cases that are to be run, in order of file and place.
func read(testdata fs.FS) ([]vectorCase, error) {
	excluded := map[string]string{}
	if err := decode(testdata, "excluded.json", &excluded); err != nil {
		return nil, err
	}
	for id, reason := range excluded {
		if strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("excluded.json: %s is excluded without a reason", id)
		}
	}
	files, err := filesOf(testdata)
	if err != nil {
		return nil, err
	}
	var cases []vectorCase
	seen := map[string]bool{}
	for _, file := range files {
		all, err := casesOf(testdata, file)
		if err != nil {
			return nil, err
		}
		for i, c := range all {
			if c.id == "" || seen[c.id] {
				return nil, fmt.Errorf("%s, case %d: id %q is empty or there already", file, i, c.id)
			}
			seen[c.id] = true
			if _, out := excluded[c.id]; !out {
				cases = append(cases, c)
			}
			delete(excluded, c.id)
		}
	}
	if len(excluded) > 0 {
		return nil, fmt.Errorf("excluded.json lists cases that no file has: %v", slices.Sorted(maps.Keys(excluded)))
	}
	return cases, nil
}

func filesOf(testdata fs.FS) ([]string, error) {
	files, err := fs.Glob(testdata, path.Join("vectors", "*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no file matches testdata/vectors/*.json: %w", fs.ErrNotExist)
	}
	return files, nil
}

func casesOf(testdata fs.FS, file string) ([]vectorCase, error) {
	var content struct{ Vectors []json.RawMessage }
	if err := decode(testdata, file, &content); err != nil {
		return nil, err
	}
	var cases []vectorCase
	for i, raw := range content.Vectors {
		var name struct{ ID, Kind string }
		if err := json.Unmarshal(raw, &name); err != nil {
			return nil, fmt.Errorf("%s, case %d: %w", file, i, err)
		}
		cases = append(cases, vectorCase{name.ID, name.Kind, raw})
	}
	return cases, nil
}

func decode(testdata fs.FS, file string, into any) error {
	data, err := fs.ReadFile(testdata, file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

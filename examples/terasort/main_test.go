package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// input makes records whose keys are mostly alike: ranges of equal width would
// send nearly all of them to one reducer.
func input(n int) []byte {
	rng := rand.New(rand.NewPCG(3, 4))
	var b bytes.Buffer
	for i := range n {
		key := fmt.Sprintf("aaaa%06d", rng.IntN(1000))
		if i%10 == 0 {
			key = fmt.Sprintf("%c%09d", 'A'+rng.IntN(50), rng.IntN(1_000_000))
		}
		fmt.Fprintf(&b, "%s%088d\r\n", key, i)
	}
	return b.Bytes()
}

func TestSortsOverAllFiles(t *testing.T) {
	dir := t.TempDir()
	const n = 20_000
	if err := os.WriteFile(dir+"/in", input(n), 0o666); err != nil {
		t.Fatal(err)
	}
	j := sorted
	j.Reducers, j.SplitBytes = 5, 300_000
	if _, err := jobtest.Run(t.Context(), j.Definition(), []string{dir + "/in", dir + "/out"}, jobtest.Options{}); err != nil {
		t.Fatal(err)
	}
	if got, err := validate(t.Context(), []string{dir + "/in"}, dir+"/out"); err != nil || got != n {
		t.Fatalf("%d records, %v", got, err)
	}
	parts, err := jobtest.Output(dir + "/out")
	if err != nil || len(parts) != 5 {
		t.Errorf("%d files, want 5, %v", len(parts), err)
	}
	for i, part := range parts {
		if len(part) > n*recordBytes/2 {
			t.Errorf("file %d has %d of %d bytes: the ranges are not even", i, len(part), n*recordBytes)
		}
	}
}

// The validator finds what a wrong sort would do.
func TestValidatorSeesFaults(t *testing.T) {
	dir := t.TempDir()
	data := input(3)
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one, two, three := data[:100], data[100:200], data[200:]
	if bytes.Compare(one, two) > 0 {
		one, two = two, one
	}
	if bytes.Compare(two, three) > 0 {
		two, three = three, two
	}
	if bytes.Compare(one, two) > 0 {
		one, two = two, one
	}
	in := write("in", data)
	for _, c := range []struct {
		name string
		out  []byte
		want string
	}{
		{"order", bytes.Join([][]byte{two, one, three}, nil), "offset 100 is out of order"},
		{"lost", bytes.Join([][]byte{one, three}, nil), "3 records came in and 2 went out"},
		{"doubled", bytes.Join([][]byte{one, one, three}, nil), "not those of the input"},
		{"cut", data[:250], "offset 200: unexpected EOF"},
	} {
		if _, err := validate(t.Context(), []string{in}, write(c.name, c.out)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

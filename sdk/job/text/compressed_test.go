package text_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
	"github.com/hamadryad/hamadryad/sdk/job/text"
	"github.com/klauspost/compress/gzip"
)

// packed runs a compressor of the machine over data.
func packed(t *testing.T, command string, data string) []byte {
	t.Helper()
	cmd := exec.Command(command, "-c")
	cmd.Stdin = strings.NewReader(data)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s, which the tests need: %v", command, err)
	}
	return out
}

// lines reads a stored file by a job in splits of 64 bytes.
func lines(path string) (got []string, nodes int, err error) {
	_, err = jobtest.Run(context.Background(), job.Definition{Name: "x", Build: func(g *job.Graph, args []string) error {
		tasks, err := g.Files(job.Files{Patterns: args, SplitBytes: 64})
		nodes = len(tasks)
		g.Stage("read", len(tasks), func(ctx context.Context, n *job.Node) error {
			for line, err := range text.Lines(ctx, n) {
				if err != nil {
					return err
				}
				got = append(got, string(line))
			}
			return nil
		}).Read(tasks)
		return err
	}}, []string{path}, jobtest.Options{Parallel: 1})
	return got, nodes, err
}

var commands = map[string]string{".gz": "gzip", ".bz2": "bzip2", ".zst": "zstd"}

func sample() string {
	var b strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&b, "line %d %x\n", i, i*i*7919)
	}
	return b.String()
}

func TestCompressedFilesOfOtherProgramsAreReadWhole(t *testing.T) {
	data := sample()
	half := len(data) / 2 // within a line: members need not end where lines do
	for suffix, command := range commands {
		path := t.TempDir() + "/f" + suffix
		whole := slices.Concat(packed(t, command, data[:half]), packed(t, command, data[half:]))
		if err := os.WriteFile(path, whole, 0o666); err != nil {
			t.Fatal(err)
		}
		got, nodes, err := lines(path)
		if err != nil || nodes != 1 || !slices.Equal(got, wanted(data)) {
			t.Errorf("%s: %d lines in %d nodes, %v", suffix, len(got), nodes, err)
		}
	}
}

func TestDamagedCompressedFilesAreErrors(t *testing.T) {
	data := sample()
	for suffix, command := range commands {
		whole := packed(t, command, data)
		flipped := bytes.Clone(whole)
		flipped[len(whole)/2] ^= 0x55
		cases := map[string][]byte{
			"cut": whole[:len(whole)/2], "cut by a byte": whole[:len(whole)-1], "flipped": flipped,
			"not compressed": []byte("plain text, and no more than that\n"), "followed by others": append(bytes.Clone(whole), "garbage behind it"...),
		}
		for name, stored := range cases {
			path := t.TempDir() + "/f" + suffix
			if err := os.WriteFile(path, stored, 0o666); err != nil {
				t.Fatal(err)
			}
			_, _, err := lines(path)
			if err == nil || !strings.Contains(err.Error(), path+" at offset ") || !strings.Contains(err.Error(), "of the stored file") {
				t.Errorf("%s, %s: %v", suffix, name, err)
			}
		}
	}
}

func TestAnEmptyMemberEndsNothing(t *testing.T) {
	var b bytes.Buffer
	for _, part := range []string{"a\nb", "", "c\n"} {
		w := gzip.NewWriter(&b)
		w.Write([]byte(part))
		w.Close()
	}
	path := t.TempDir() + "/f.gz"
	os.WriteFile(path, b.Bytes(), 0o666)
	if got, _, err := lines(path); err != nil || !slices.Equal(got, []string{"a", "bc"}) {
		t.Errorf("%q, %v", got, err)
	}
}

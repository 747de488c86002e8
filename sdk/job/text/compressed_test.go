package text_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
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
	"github.com/klauspost/compress/snappy"
	"github.com/pierrec/lz4/v4"
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

var commands = map[string]string{".gz": "gzip", ".bz2": "bzip2", ".zst": "zstd", ".xz": "xz", ".lz4": "lz4", ".XZ": "xz", ".Gz": "gzip"}

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
			// A file that is not compressed fails for good; a damaged one may be read right
			// elsewhere.
			if none := name == "not compressed" && suffix != ".lz4" && suffix != ".snappy"; errors.Is(err, job.ErrPermanent) != none {
				t.Errorf("%s, %s: is another attempt in vain? %v", suffix, name, err)
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

// zlibOf is data as Python's zlib packs it.
func zlibOf(t *testing.T, data string) []byte {
	t.Helper()
	cmd := exec.Command("python3", "-c", "import sys, zlib; sys.stdout.buffer.write(zlib.compress(sys.stdin.buffer.read()))")
	cmd.Stdin = strings.NewReader(data)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("python3, which the tests need: %v", err)
	}
	return out
}

// hadoop is data in Hadoop's blocks, each of chunks of at most so many bytes.
func hadoop(data string, block, chunk int, pack func([]byte) []byte) []byte {
	var all []byte
	for len(data) > 0 {
		rest := data[:min(block, len(data))]
		data = data[len(rest):]
		all = binary.BigEndian.AppendUint32(all, uint32(len(rest)))
		for len(rest) > 0 {
			packed := pack([]byte(rest[:min(chunk, len(rest))]))
			rest = rest[min(chunk, len(rest)):]
			all = append(binary.BigEndian.AppendUint32(all, uint32(len(packed))), packed...)
		}
	}
	return all
}

func lz4Block(plain []byte) []byte {
	packed := make([]byte, lz4.CompressBlockBound(len(plain)))
	n, err := lz4.CompressBlock(plain, packed, nil)
	if err != nil || n == 0 {
		panic(fmt.Sprint(n, err))
	}
	return packed[:n]
}

func snappyBlock(plain []byte) []byte { return snappy.Encode(nil, plain) }

func snappyFrames(data string) []byte {
	var b bytes.Buffer
	w := snappy.NewBufferedWriter(&b)
	w.Write([]byte(data))
	w.Close()
	return b.Bytes()
}

// Files are read whole in all forms that a name stands for, and damage is an error: in
// frames and in Hadoop's blocks.
func TestFormsOfCompressedFiles(t *testing.T) {
	data := sample()
	lz4Of := func(args ...string) []byte {
		cmd := exec.Command("lz4", append(args, "-c", "-")...)
		cmd.Stdin = strings.NewReader(data)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("lz4, which the tests need: %v", err)
		}
		return out
	}
	for name, stored := range map[string][]byte{
		"zlib.deflate": zlibOf(t, data), "parts.deflate": append(zlibOf(t, data[:1000]), zlibOf(t, data[1000:])...),
		"legacy.lz4": lz4Of("-l"), "linked.LZ4": lz4Of("-BD", "-B4"),
		"hadoop.lz4": hadoop(data, 256<<10, 256<<10, lz4Block), "chunks.lz4": hadoop(data, 1<<20, 4000, lz4Block),
		"hadoop.snappy": hadoop(data, 256<<10, 256<<10, snappyBlock), "chunks.snappy": hadoop(data, 1<<20, 4000, snappyBlock),
		"framed.snappy": snappyFrames(data),
	} {
		path := t.TempDir() + "/" + name
		os.WriteFile(path, stored, 0o666)
		if got, nodes, err := lines(path); err != nil || nodes != 1 || !slices.Equal(got, wanted(data)) {
			t.Errorf("%s: %d lines in %d nodes, %v", name, len(got), nodes, err)
		}
		// Without a checksum, damage may go unnoticed; truncation never does.
		for _, bad := range [][]byte{stored[:len(stored)/2], stored[:len(stored)-1], append(bytes.Clone(stored), "garbage behind it"...), []byte("plain text, and no more than that\n")} {
			os.WriteFile(path, bad, 0o666)
			if _, _, err := lines(path); err == nil && name != "legacy.lz4" || err != nil && !strings.Contains(err.Error(), "of the stored file") {
				t.Errorf("%s damaged: %v", name, err)
			}
		}
	}
}

// Zeros behind members of gzip are passed over, as gzip does; other bytes are damage.
func TestZerosBehindMembers(t *testing.T) {
	data, zeros := sample(), make([]byte, 512)
	member := packed(t, "gzip", data)
	path := t.TempDir() + "/f.gz"
	for name, c := range map[string]struct {
		stored []byte
		times  int
	}{
		"at the end": {append(bytes.Clone(member), zeros...), 1}, "one": {append(bytes.Clone(member), 0), 1},
		"between members": {slices.Concat(member, zeros, member, zeros), 2},
		"garbage behind":  {slices.Concat(member, zeros, []byte("x")), 0},
	} {
		os.WriteFile(path, c.stored, 0o666)
		got, _, err := lines(path)
		if (err == nil) != (c.times > 0) || err == nil && !slices.Equal(got, wanted(strings.Repeat(data, c.times))) {
			t.Errorf("%s: %d lines, %v", name, len(got), err)
		}
	}
}

// What a file asks for in memory is bounded.
func TestBombsAreBounded(t *testing.T) {
	bomb := packed(t, "xz", "x\n")
	bomb[14+2] = 40 // the dictionary of 4 GiB, in the head of the first block
	for name, stored := range map[string][]byte{
		"dictionary.xz": bomb, "chunk.lz4": {0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff}, "chunk.snappy": {0, 0, 1, 0, 0x40, 0, 0, 0},
		"plain.snappy": {0, 0, 0, 9, 0, 0, 0, 6, 0xff, 0xff, 0xff, 0xff, 0x0f, 0},
	} {
		path := t.TempDir() + "/" + name
		os.WriteFile(path, stored, 0o666)
		if _, _, err := lines(path); err == nil || !strings.Contains(err.Error(), "at most") && !strings.Contains(err.Error(), "larger than its block") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A file is refused if its name names a compression that can't be read.
func TestUnreadableCompressionIsRefused(t *testing.T) {
	for _, name := range []string{"a.Z", "a.lzo", "a.br", "a.LZMA"} {
		path := t.TempDir() + "/" + name
		os.WriteFile(path, []byte("x\n"), 0o666)
		if _, _, err := lines(path); !errors.Is(err, job.ErrPermanent) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), ".gz") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

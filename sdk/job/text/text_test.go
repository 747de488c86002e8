package text_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
	"github.com/hamadryad/hamadryad/sdk/job/text"
)

// source is a runtime that serves one task from memory, in reads of odd sizes.
type source struct {
	job.Runtime
	task job.Task
	data string
	step int

	memory int64
}

func (s *source) Info() job.Info   { return job.Info{Memory: s.memory} }
func (s *source) Task() job.Task   { return s.task }
func (s *source) At(string, int64) {}
func (s *source) Open(_ context.Context, split job.Split) (io.ReadCloser, error) {
	return io.NopCloser(&steps{strings.NewReader(s.data[split.Offset:]), s.step}), nil
}

type steps struct {
	r    io.Reader
	step int
}

func (s *steps) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), s.step)]) }

func read(t interface{ Fatal(...any) }, data string, cuts []int, step int) []string {
	var lines []string
	from := 0
	for _, cut := range append(cuts, len(data)) {
		s := &source{data: data, step: step, task: job.Task{{Path: "/f", Offset: int64(from), Length: int64(cut - from), Size: int64(len(data))}}}
		for line, err := range text.Lines(context.Background(), job.NewNode(s)) {
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(line))
		}
		from = cut
	}
	return lines
}

// wanted is the obvious way to cut text into lines.
func wanted(data string) []string {
	if data == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(data, "\n"), "\n")
	for i := range lines {
		if i < len(lines)-1 || strings.HasSuffix(data, "\n") {
			lines[i] = strings.TrimSuffix(lines[i], "\r")
		}
	}
	return lines
}

func TestEachLineIsReadOnceWhereverTheFileIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.StringMatching(`([ab\r\n]{0,8}|\n\n|x{0,30}){0,20}`).Draw(t, "data")
		cuts := rapid.SliceOfN(rapid.IntRange(0, len(data)), 0, 6).Draw(t, "cuts")
		slices.Sort(cuts)
		got := read(t, data, cuts, rapid.IntRange(1, 9).Draw(t, "step"))
		if want := wanted(data); !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestLinesLargerThanTheBuffer(t *testing.T) {
	huge := strings.Repeat("y", 3<<20)
	data := "a\n" + huge + "\r\n\xff\xfe\n" + huge
	got := read(t, data, []int{1, 5, 1 << 20, 3<<20 + 4}, 100_000)
	if want := wanted(data); !slices.Equal(got, want) {
		t.Fatalf("%d lines, want %d", len(got), len(want))
	}
}

// A line that is too large for the task's memory ends the task before it takes more
// than that; the error names file, offset, limit and remedy.
func TestLineTooLargeForTheTask(t *testing.T) {
	for size, ok := range map[int]bool{1 << 20: true, 3 << 20: false, 40 << 20: false} {
		s := &source{data: "first\n" + strings.Repeat("y", size) + "\nlast\n", step: 1 << 20, memory: 8 << 20}
		s.task = job.Task{{Path: "/f", Length: int64(len(s.data)), Size: int64(len(s.data))}}
		lines := 0
		var failed error
		for _, err := range text.Lines(t.Context(), job.NewNode(s)) {
			if failed = err; err == nil {
				lines++
			}
		}
		if ok {
			if failed != nil || lines != 3 {
				t.Errorf("line of %d bytes: %d lines, %v", size, lines, failed)
			}
			continue
		}
		if failed == nil || lines != 1 {
			t.Fatalf("line of %d bytes: %d lines, %v", size, lines, failed)
		}
		for _, want := range []string{"/f at offset 6:", "larger than 2097152", "Memory of"} {
			if !strings.Contains(failed.Error(), want) {
				t.Errorf("%v does not say %q", failed, want)
			}
		}
		// The remedy is one: with so much it goes through.
		_, remedy, _ := strings.Cut(failed.Error(), "Memory of ")
		if _, err := fmt.Sscan(remedy, &s.memory); err != nil {
			t.Fatalf("%v in %v", err, failed)
		}
		for _, err := range text.Lines(t.Context(), job.NewNode(s)) {
			if err != nil {
				t.Errorf("with a memory of %d: %v", s.memory, err)
			}
		}
	}
}

func TestErrorsNameFileAndOffset(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(dir+"/f", []byte("good\ngood\nbad\ngood\n"), 0o666)
	boom := errors.New("boom")
	run := func(program job.Program) error {
		_, err := jobtest.Run(context.Background(), job.Definition{Name: "x", Build: func(g *job.Graph, args []string) error {
			tasks, err := g.Files(job.Files{Patterns: args})
			g.Stage("read", len(tasks), program).Read(tasks)
			return err
		}}, []string{dir + "/f"}, jobtest.Options{})
		return err
	}
	err := run(func(ctx context.Context, n *job.Node) error {
		for line, err := range text.Lines(ctx, n) {
			if err != nil {
				return err
			}
			if string(line) == "bad" {
				return boom
			}
		}
		return nil
	})
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), dir+"/f:10") || !strings.Contains(err.Error(), "stage read, node 0") {
		t.Errorf("error of the body: %v", err)
	}
	err = run(func(ctx context.Context, n *job.Node) error {
		for line := range text.Lines(ctx, n) {
			if string(line) == "bad" {
				panic("ouch")
			}
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), dir+"/f:10") || !strings.Contains(err.Error(), "ouch") {
		t.Errorf("panic of the body: %v", err)
	}
	var once sync.Once
	err = run(func(ctx context.Context, n *job.Node) error {
		once.Do(func() { os.WriteFile(dir+"/f", []byte("other"), 0o666) })
		for _, err := range text.Lines(ctx, n) {
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), dir+"/f changed") {
		t.Errorf("changed file: %v", err)
	}
}

// A split that is a part of a file is no file to open: each part would be read on to the
// file's end.
func TestOpenRefusesAPartOfAFile(t *testing.T) {
	path := t.TempDir() + "/f"
	os.WriteFile(path, []byte(strings.Repeat("line\n", 100)), 0o666)
	read := func(files job.Files) (bytes int, err error) {
		_, err = jobtest.Run(t.Context(), job.Definition{Name: "x", Build: func(g *job.Graph, _ []string) error {
			tasks, err := g.Files(files)
			g.Stage("read", len(tasks), func(ctx context.Context, n *job.Node) error {
				for _, s := range n.Task() {
					f, err := text.Open(ctx, n, s)
					if err != nil {
						return err
					}
					data, err := io.ReadAll(f)
					if bytes += len(data); err != nil {
						return err
					}
				}
				return nil
			}).Read(tasks)
			return err
		}}, nil, jobtest.Options{Parallel: 1})
		return bytes, err
	}
	if n, err := read(job.Files{Patterns: []string{path}, SplitBytes: 64}); !errors.Is(err, job.ErrPermanent) || !strings.Contains(err.Error(), "of 500 are asked for") {
		t.Errorf("%d bytes, %v", n, err)
	}
	if n, err := read(job.Files{Patterns: []string{path}, SplitBytes: 64, Whole: true}); n != 500 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}

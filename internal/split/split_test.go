package split

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

func file(name string, size int64, hosts ...string) File {
	return File{
		Info:   storage.Info{Path: name, Size: size, Version: "v" + name},
		Blocks: []storage.Block{{Length: size, Hosts: hosts, Racks: make([]string, len(hosts))}},
	}
}

func TestEveryByteIsInOneTask(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var files []File
		for i := range rapid.IntRange(0, 60).Draw(t, "files") {
			size := rapid.Int64Range(0, 3<<20).Draw(t, "size")
			host := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "host")
			files = append(files, file(fmt.Sprintf("/f%02d", i), size, host))
		}
		splitBytes := rapid.Int64Range(20_000, 2<<20).Draw(t, "splitBytes")
		whole := rapid.Bool().Draw(t, "whole")
		tasks := Tasks(files, splitBytes, whole)
		read := map[string]int64{}
		for _, task := range tasks {
			for _, s := range task {
				if s.Offset != read[s.Path] {
					t.Fatalf("%s: split at %d after %d bytes", s.Path, s.Offset, read[s.Path])
				}
				read[s.Path] += s.Length
				if whole && s.Length != s.Size {
					t.Fatalf("%s was cut", s.Path)
				}
			}
			if limit := int64(float64(splitBytes) * slack); len(task) > 1 && task.Bytes() > limit {
				t.Fatalf("a packed task of %d bytes, splits are %d", task.Bytes(), splitBytes)
			}
		}
		for _, f := range files {
			if read[f.Path] != f.Size {
				t.Fatalf("%s: %d of %d bytes are read", f.Path, read[f.Path], f.Size)
			}
		}
		if len(tasks) == 0 {
			t.Fatal("no task at all")
		}
	})
}

func TestSmallFilesArePackedByPlace(t *testing.T) {
	var files []File
	for i := range 2000 {
		files = append(files, file(fmt.Sprintf("/f%04d", i), 1000, []string{"a", "b"}[i%2]))
	}
	tasks := Tasks(files, 16<<20, false)
	if len(tasks) < 6 || len(tasks) > 12 {
		t.Errorf("2000 files of 1000 bytes in %d tasks", len(tasks))
	}
	mixed := 0
	for _, task := range tasks {
		for _, s := range task {
			if s.Places[0].Host != task[0].Places[0].Host {
				mixed++
				break
			}
		}
	}
	if mixed > 1 {
		t.Errorf("%d tasks mix places: only the left-overs may", mixed)
	}
}

func TestPlacesOfAPart(t *testing.T) {
	f := File{Info: storage.Info{Path: "/f", Size: 100}, Blocks: []storage.Block{
		{Offset: 0, Length: 40, Hosts: []string{"a", "b"}, Racks: []string{"r1", "r2"}},
		{Offset: 40, Length: 60, Hosts: []string{"b", "c"}, Racks: []string{"r2", "r3"}},
	}}
	got := fmt.Sprint(part(f, 30, 20).Places)
	if want := "[{b r2 20} {a r1 10} {c r3 10}]"; got != want {
		t.Errorf("places %s, want %s", got, want)
	}
}

func TestEmptyInputIsOneTask(t *testing.T) {
	if tasks := Tasks([]File{file("/e", 0)}, 0, false); len(tasks) != 1 || len(tasks[0]) != 0 {
		t.Errorf("%v", tasks)
	}
}

func TestPlannerReadsRealFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/x", "a/y", "b"} {
		os.MkdirAll(filepath.Dir(dir+"/"+name), 0o777)
		os.WriteFile(dir+"/"+name, []byte(name), 0o666)
	}
	p := Planner(context.Background(), nil)
	tasks, err := p.Plan(job.Files{Patterns: []string{dir, dir + "/a/*"}})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, s := range tasks[0] {
		paths = append(paths, strings.TrimPrefix(s.Path, dir))
		if len(s.Places) != 1 || s.Places[0].Bytes != s.Size || s.Version == "" {
			t.Errorf("split %+v", s)
		}
	}
	if got := strings.Join(paths, " "); len(tasks) != 1 || got != "/a/x /a/y /b /a/x /a/y" { // as in Hadoop, once for each pattern
		t.Errorf("%d tasks, files %s", len(tasks), got)
	}
	if _, err := p.Plan(job.Files{Patterns: []string{dir + "/none"}}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), dir+"/none") {
		t.Errorf("missing input: %v", err)
	}
	if _, err := p.Plan(job.Files{}); err == nil {
		t.Error("no input is no error")
	}
}

// TestPlannerTellsWhatIsPassedOver: files that no task reads are counted, and the
// folder that a relative pattern begins in is no pattern.
func TestPlannerTellsWhatIsPassedOver(t *testing.T) {
	dir := t.TempDir() + "/[odd]*{a,b}"
	for name, text := range map[string]string{"in/a.txt": "a", "in/deep/b.txt": "b", "in/empty.txt": "", "in/c.log": "c", "in/empty.log": ""} {
		os.MkdirAll(filepath.Dir(dir+"/"+name), 0o777)
		os.WriteFile(dir+"/"+name, []byte(text), 0o666)
	}
	t.Chdir(dir)
	for _, test := range []struct {
		files      job.Files
		read, says string
	}{
		{job.Files{Patterns: []string{"in"}}, "a.txt c.log deep/b.txt", "input: 2 of 5 files are passed over: 2 empty"},
		{job.Files{Patterns: []string{"in"}, Whole: true}, "a.txt c.log deep/b.txt empty.log empty.txt", ""},
		{job.Files{Patterns: []string{"in/**/*.txt"}}, "a.txt deep/b.txt", "input: 1 of 3 files are passed over: 1 empty"},
		{
			job.Files{Patterns: []string{"in", "in/*"}, Suffixes: []string{".log", ".gz"}},
			"c.log c.log",
			"input: files that several of the inputs name, and that are read once for each: 1input: 4 of 5 files are passed over: 1 empty, 3 that do not end in .log or .gz",
		},
	} {
		said := ""
		tasks, err := Planner(t.Context(), func(text string) { said += text }).Plan(test.files)
		var read []string
		for _, task := range tasks {
			for _, s := range task {
				read = append(read, strings.TrimPrefix(s.Path, dir+"/in/"))
			}
		}
		if got := strings.Join(read, " "); err != nil || got != test.read || said != test.says {
			t.Errorf("%v: %q, %v, said %q; want %q, said %q", test.files, got, err, said, test.read, test.says)
		}
	}
	for _, wrong := range []job.Files{{Patterns: []string{"in"}, Suffixes: []string{".none"}}, {Patterns: []string{"in"}, Suffixes: []string{""}}} {
		if _, err := Planner(t.Context(), nil).Plan(wrong); err == nil {
			t.Errorf("%v is no error", wrong)
		}
	}
}

// A folder without files is said to be that, and not to lack files of no suffix.
func TestFolderWithoutFiles(t *testing.T) {
	folder := t.TempDir()
	_, err := Planner(t.Context(), nil).Plan(job.Files{Patterns: []string{folder}})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "holds no files") {
		t.Errorf("%v", err)
	}
}

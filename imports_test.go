package hamadryad_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/hamadryad/hamadryad/"

// directions is the table of docs/ARCHITECTURE.md, "Folders and which way imports
// point". A package may import, of this project, only what lies in the folders
// listed for its own folder (the longest one that matches). Do not loosen it to
// mend a build: move the code, or pass what is needed in through an interface.
var directions = []struct {
	folder string
	may    []string
	remedy string
}{
	{"sdk/scheduler/schedwire", []string{"sdk/scheduler"}, "sdk is for people outside the project: pass engine things in as values"},
	{"sdk", []string{"sdk"}, "sdk is for people outside the project: pass engine things in as values"},
	{"engine", []string{"sdk", "engine"}, "cmd wires policies, stores and MapReduce to the engine: pass them in through Config"},
	{"plugins", []string{"sdk", "plugins"}, "a policy is what an outsider could write: move what it needs to sdk"},
	{"hdfs", []string{"sdk", "hdfs"}, "hdfs implements sdk/storage and nothing else"},
	{"mapreduce", []string{"sdk", "mapreduce"}, "MapReduce is written only on sdk/job: extend sdk/job"},
	{"cmd/internal/processes", []string{"internal/watch"}, "it is for tests of processes alone, as internal/watch is"},
	{"cmd", []string{"sdk", "engine", "plugins", "hdfs", "mapreduce", "cmd"}, ""},
	{"examples", []string{"sdk", "engine/app", "mapreduce", "hdfs", "examples"}, "an example is what a user would write: use the public packages"},
}

// forbidden names what a folder must not import from outside the project.
var forbidden = []struct{ folder, imported, remedy string }{
	{"engine/core", "google.golang.org/grpc", "the core decides, it does not talk: give the shell an Action"},
	{"engine/core", "net", "the core decides, it does not talk: give the shell an Action"},
	{"engine/core", "os", "the core does not touch the machine: give the shell an Action"},
	{"engine/graph", "google.golang.org/grpc", "graph expansion is pure"},
	{"sdk/scheduler/schedwire", "google.golang.org/grpc", "messages are used by the core: the service lives in sdk/scheduler/schedwire/rpc"},
	{"engine/wire", "google.golang.org/grpc", "messages are used by the core: the services live in engine/wire/rpc"},
}

// excepted are folders below a forbidden row's folder that the row does not mean.
var excepted = map[string]bool{"sdk/scheduler/schedwire/rpc": true, "engine/wire/rpc": true}

// standardOnly are the folders that import nothing but the standard library.
var standardOnly = map[string]bool{"sdk/scheduler": true}

func TestImportDirection(t *testing.T) {
	for _, i := range imports(t) {
		if strings.HasSuffix(i.file, "_test.go") {
			continue
		}
		checkInside(t, i)
		checkOutside(t, i)
	}
}

type imported struct{ file, folder, path string }

func checkInside(t *testing.T, i imported) {
	target, ok := strings.CutPrefix(i.path, module)
	if !ok {
		return
	}
	for _, row := range directions {
		if !within(i.folder, row.folder) {
			continue
		}
		for _, may := range row.may {
			if within(target, may) {
				return
			}
		}
		t.Errorf("%s imports %s: %s may import only %v. %s", i.file, target, row.folder, row.may, row.remedy)
		return
	}
	t.Errorf("%s: folder %s is in no row of the table: put it where docs/ARCHITECTURE.md says, or add a row there and here", i.file, i.folder)
}

func checkOutside(t *testing.T, i imported) {
	if standardOnly[i.folder] && strings.Contains(strings.Split(i.path, "/")[0], ".") {
		t.Errorf("%s imports %s: %s uses the standard library only", i.file, i.path, i.folder)
	}
	for _, f := range forbidden {
		if within(i.folder, f.folder) && !excepted[i.folder] && within(i.path, f.imported) {
			t.Errorf("%s imports %s: %s", i.file, i.path, f.remedy)
		}
	}
}

func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// imports lists the imports of all Go files, in order of file.
func imports(t *testing.T) []imported {
	t.Helper()
	var all []imported
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "testdata" || name == "build" || strings.HasPrefix(name, ".") && name != ".") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || filepath.Dir(path) == "." {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			all = append(all, imported{path, filepath.ToSlash(filepath.Dir(path)), p})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.SliceStable(all, func(a, b int) bool { return all[a].file < all[b].file })
	return all
}

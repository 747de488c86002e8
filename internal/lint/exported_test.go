package lint_test

import (
	"flag"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/internal/lint"
)

// listingFile has the exported names of the public packages: what applications, policies and authors of
// storage build on.
const listingFile = "docs/api.txt"

// public are the folders of the packages for people outside the project. One that is not there yet is
// taken up when it comes.
var public = []string{"app", "hdfs", "mapreduce", "policytest", "sdk"}

var accept = flag.Bool("accept", false, "write the exported names to "+listingFile)

// The exported names of the public packages change on purpose alone: a change shows in the listing.
func TestExportedNames(t *testing.T) {
	var lines []string
	for _, p := range publicPackages(t) {
		lines = append(lines, p.exported...)
	}
	slices.Sort(lines)
	for _, line := range lines {
		if strings.Contains(line, "engine/") {
			t.Errorf("%s: an exported name has a type of the engine, which people outside do not import: give it one of its own", line)
		}
	}
	if *accept {
		if err := os.WriteFile(listingFile, []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := strings.Split(strings.TrimSuffix(mustRead(t, listingFile), "\n"), "\n")
	gone, added := missing(want, lines), missing(lines, want)
	for _, line := range gone {
		t.Errorf("- %s", line)
	}
	for _, line := range added {
		t.Errorf("+ %s", line)
	}
	if len(gone)+len(added) > 0 {
		t.Errorf("the exported names are not those of %s. Accept the difference with: make api", listingFile)
	}
}

// Each public package has an Example, which the compiler holds: its reader learns the smallest use.
func TestPublicPackagesHaveExamples(t *testing.T) {
	for _, p := range publicPackages(t) {
		tests, err := filepath.Glob(p.path + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(tests, func(file string) bool { return hasExample(t, file) }) {
			t.Errorf("%s has no Example: write its smallest use into %s/example_test.go", p.path, p.path)
		}
	}
}

func hasExample(t *testing.T, file string) bool {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(tree.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Example")
	})
}

// publicPackage is a package for people outside, with the lines of its exported names.
type publicPackage struct {
	path     string
	exported []string
}

// publicPackages reads what the compiler exports of the public packages. A package of generated code
// alone has no lines, and is left out.
func publicPackages(t *testing.T) (all []publicPackage) {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Name}} {{.Export}}"}
	for _, folder := range public {
		if isFolder(folder) {
			args = append(args, "./"+folder+"/...")
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	compiled, paths := map[string]string{}, []string(nil)
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), " ")
		compiled[f[0]] = f[len(f)-1]
		if path, ours := strings.CutPrefix(f[0], module); ours && f[1] != "main" && isPublic(path) {
			paths = append(paths, path)
		}
	}
	fset := token.NewFileSet()
	from := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(compiled[path]) })
	for _, path := range paths {
		pkg, err := from.Import(module + path)
		if err != nil {
			t.Fatal(err)
		}
		if lines := lint.Exported(pkg, path, fset); len(lines) > 0 {
			all = append(all, publicPackage{path, lines})
		}
	}
	return all
}

func isPublic(path string) bool {
	return !slices.Contains(strings.Split(path, "/"), "internal") &&
		slices.ContainsFunc(public, func(folder string) bool { return within(path, folder) })
}

// viewMethodsMax bounds the methods of each type that a policy reads the cluster with. A method about
// a job, a bundle, an attempt, a launcher or capacity belongs to that type, and not to the view.
const viewMethodsMax = 30

// TestViewIsSmall reads docs/api.txt, which TestExportedNames compares with the code.
func TestViewIsSmall(t *testing.T) {
	counts := map[string]int{}
	for line := range strings.Lines(mustRead(t, listingFile)) {
		if rest, is := strings.CutPrefix(line, "sdk/scheduler/view, method ("); is {
			of, _, _ := strings.Cut(rest, ")")
			counts[strings.TrimPrefix(of, "*")]++
		}
	}
	for of, n := range counts {
		if n > viewMethodsMax {
			t.Errorf("view.%s has %d methods, at most %d are allowed", of, n, viewMethodsMax)
		}
	}
	if counts["View"] == 0 {
		t.Errorf("%s lists no method of view.View", listingFile)
	}
}

// missing lists the lines of one sorted listing that the other has not.
func missing(of, in []string) (lines []string) {
	for _, line := range of {
		if _, found := slices.BinarySearch(in, line); !found {
			lines = append(lines, line)
		}
	}
	return lines
}

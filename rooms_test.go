package hamadryad_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// houses are the packages in which types are rooms of their own. A room is one file, or
// the files that stand in one line. Nobody touches the unexported fields of a type but the
// room that declares it. The fields of facts, which are types too, others may read, and
// not change. Where a type has parts that other rooms keep, parts says of the file and the
// field which files do. Do not lengthen it to mend a test: give the type a method.
var houses = []struct {
	folder string
	rooms  []string
	parts  map[string]string
	facts  string
}{
	{
		"sdk/scheduler/view",
		[]string{
			"view.go events.go",
			"launcher.go",
			"capacity.go fit.go gang.go near.go reservations.go where.go",
			"job.go jobs.go bundle.go launchable.go list.go",
			"attempt.go attempts.go live.go held.go",
		},
		map[string]string{
			"launcher.go seat": "capacity.go fit.go where.go",
			"bundle.go near":   "near.go",
			"job.go live":      "attempts.go",
			"job.go held":      "attempts.go",
		},
		"",
	},
	{
		"sdk/scheduler/schedtest/cluster",
		[]string{
			"timeline.go",
			"exchange.go",
			"reservations.go",
			"launchers.go room.go",
			"job.go jobs.go",
			"attempt.go attempts.go",
			"cluster.go apply.go preempt.go snapshot.go",
		},
		map[string]string{
			"job.go runs": "attempts.go",
		},
		"job bundle launcher run attempt emission",
	},
	{
		"engine/faultsim",
		[]string{
			"clients.go jobs.go drawing.go wrong.go storage.go",
			"fleet.go launcher.go attempts.go",
			"policy.go",
			"records.go",
			"ledger.go",
			"sim.go faults.go",
		},
		map[string]string{},
		"play fakeJob fake",
	},
	{
		"engine/launcher",
		[]string{
			"agent.go lifecycle.go attempts.go workers.go credentials.go",
			"session.go stream.go",
			"divider.go",
			"workerstarter.go",
			"workdir.go",
			"leftovers.go",
			"pages.go",
			"metrics.go",
			"timeout.go",
			"launcher.go listeners.go",
		},
		map[string]string{},
		"agent metrics workerStarter endpoints",
	},
	{
		"engine/worker",
		[]string{
			"main.go group.go node.go command.go connect.go guard.go stuck.go",
			"inputs.go source.go",
			"finish.go",
			"files.go",
			"iostats.go",
			"commit.go",
			"gracefulstop.go",
			"folders.go",
			"place.go",
			"report.go",
			"watchdog.go",
			"tickets.go",
			"activity.go",
			"idle.go",
			"limits.go",
		},
		map[string]string{},
		"worker group node place folders gracefulStop inPort guard countedBytes",
	},
}

func TestRoomsKeepTheirFields(t *testing.T) {
	for _, h := range houses {
		t.Run(h.folder, func(t *testing.T) {
			room := map[string]string{}
			for _, r := range h.rooms {
				for _, file := range strings.Fields(r) {
					if _, err := os.Stat(filepath.Join(h.folder, file)); err != nil {
						t.Errorf("%v: take it off the list", err)
					}
					room[file] = r
				}
			}
			used := map[string]bool{}
			for _, f := range fieldsFromOutside(t, h.folder) {
				if r := room[f.declared]; r != "" && r == room[f.touched] {
					continue
				}
				if !f.changed && slices.Contains(strings.Fields(h.facts), f.of) {
					continue
				}
				part := f.declared + " " + f.name
				used[part+" "+f.touched] = true
				if !slices.Contains(strings.Fields(h.parts[part]), f.touched) {
					t.Errorf("%s touches the field %s, which is declared in %s: give its type a method", f.place, f.name, f.declared)
				}
			}
			for part, files := range h.parts {
				for _, touched := range strings.Fields(files) {
					if !used[part+" "+touched] {
						t.Errorf("%s does not touch the field of %s any more: take it off the list", touched, part)
					}
				}
			}
		})
	}
}

// touch is the use of a field of a type in another file than that which declares it.
type touch struct {
	of, name, declared, touched string
	changed                     bool
	place                       token.Position
}

// fieldsFromOutside lists the uses of a package's unexported fields in other files.
func fieldsFromOutside(t *testing.T, folder string) (all []touch) {
	t.Helper()
	fset := token.NewFileSet()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files in %s: %v", folder, err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", compiled(t, folder))}
	pkg, err := config.Check(module+folder, fset, files, &info)
	if err != nil {
		t.Fatal(err)
	}
	owner, changed := ownersOf(pkg), changedIn(files)
	for id, o := range info.Uses {
		v, ok := o.(*types.Var)
		if !ok || !v.IsField() || v.Pkg() != pkg || v.Exported() {
			continue
		}
		declared, place := filepath.Base(fset.Position(v.Origin().Pos()).Filename), fset.Position(id.Pos())
		if touched := filepath.Base(place.Filename); touched != declared {
			all = append(all, touch{owner[v.Origin()], v.Name(), declared, touched, changed[id], place})
		}
	}
	return all
}

// ownersOf finds the type of which each field is.
func ownersOf(pkg *types.Package) map[*types.Var]string {
	owner := map[*types.Var]string{}
	for _, name := range pkg.Scope().Names() {
		if s, ok := pkg.Scope().Lookup(name).Type().Underlying().(*types.Struct); ok {
			for f := range s.Fields() {
				owner[f] = name
			}
		}
	}
	return owner
}

// changedIn finds the names of fields that are assigned to, whole or in part, or whose
// address is taken.
func changedIn(files []*ast.File) map[*ast.Ident]bool {
	changed := map[*ast.Ident]bool{}
	var mark func(e ast.Expr)
	mark = func(e ast.Expr) {
		switch e := e.(type) {
		case *ast.SelectorExpr:
			changed[e.Sel] = true
		case *ast.IndexExpr:
			mark(e.X)
		case *ast.ParenExpr:
			mark(e.X)
		}
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, e := range n.Lhs {
					mark(e)
				}
			case *ast.IncDecStmt:
				mark(n.X)
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					mark(n.X)
				}
			case *ast.KeyValueExpr:
				if id, ok := n.Key.(*ast.Ident); ok {
					changed[id] = true
				}
			}
			return true
		})
	}
	return changed
}

// compiled finds what the packages that a package imports export.
func compiled(t *testing.T, folder string) importer.Lookup {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "./"+folder).Output()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	return func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("%s is not compiled", path)
		}
		return os.Open(files[path])
	}
}

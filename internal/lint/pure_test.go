package lint_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// deciding are the folders of code that decides: the core and its dependencies, the policies and
// their shared code, and the laboratory's runs. All their input is passed in, so that they decide
// the same again.
var deciding = []string{
	"engine/core", "engine/graph", "engine/auth/access", "internal/expand", "plugins", "sdk/scheduler/view", "sdk/scheduler/algorithms", "laboratory/workload", "laboratory/cluster", "laboratory/queueing", "laboratory/internal",
}

// impure are the packages that look or reach outside, and what to do instead.
var impure = []struct{ imported, remedy string }{
	{"os", "files and processes are the shell's: give it an Action, or a policy a shell (serve.WithShell)"},
	{"path/filepath", "files are the shell's: give it an Action, or a policy a shell (serve.WithShell)"},
	{"io/ioutil", "files are the shell's: give it an Action, or a policy a shell (serve.WithShell)"},
	{"syscall", "the machine is the shell's: give it an Action"},
	{"net", "sockets are the shell's: give it an Action"},
	{"google.golang.org/grpc", "sockets are the shell's: give it an Action"},
	{"math/rand", "lots are drawn by the shell: take the number as an input"},
	{"crypto/rand", "lots are drawn by the shell: take the number as an input"},
}

// clocks are the functions of package time that read a clock or wait for one.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// sizes are the parts of package unsafe that read no memory: they are constants, by
// which view and core say how much of an object is worth touching ahead.
var sizes = []string{"Offsetof", "Sizeof", "Alignof"}

// shells are folders below those that decide which are there to reach outside, each with the
// reason.
var shells = map[string]string{
	"plugins/dynamicpriority/shell": "it is the shell of the plug-in: the policy and it exchange notes, which are logged",
}

func inShell(folder string) bool {
	for shell := range shells {
		if within(folder, shell) {
			return true
		}
	}
	return false
}

// pureBut are the exceptions, by file or folder, each with its reason.
var pureBut = map[string]map[string]string{
	"plugins/internal/queued":  {"math/rand": "it draws games of tests, in tests"},
	"plugins/internal/vectors": {"os": "it reads the cases of tests, in tests"},
	"plugins/fair/tracefile":   {"os": "it is the shell of the plug-in: the policy hands it lines and reads nothing back but a failure"},
}

// What decides reads no clock, draws no lots, and touches no file, no socket and no
// memory but by the language's rules.
func TestDecidingCodeIsPure(t *testing.T) {
	used := map[string]bool{}
	for _, f := range sources(t) {
		if strings.HasSuffix(f.path, "_test.go") || f.tree.Name.Name == "main" || inShell(f.folder) || !slices.ContainsFunc(deciding, func(d string) bool { return within(f.folder, d) }) {
			continue
		}
		for _, i := range f.imports(t) {
			for _, row := range impure {
				if !within(i.path, row.imported) {
					continue
				}
				if where, ok := reasoned(f, row.imported); ok {
					used[where+" "+row.imported] = true
					continue
				}
				t.Errorf("%s imports %s: %s", f.path, i.path, row.remedy)
			}
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			switch p, _ := s.X.(*ast.Ident); {
			case p == nil:
			case p.Name == "time" && slices.Contains(clocks, s.Sel.Name):
				t.Errorf("%s uses time.%s: time is in what comes in: take it from the batch or the round", f.path, s.Sel.Name)
			case p.Name == "unsafe" && !slices.Contains(sizes, s.Sel.Name):
				t.Errorf("%s uses unsafe.%s: what decides reads memory as the language lets it", f.path, s.Sel.Name)
			}
			return true
		})
	}
	for where, packages := range pureBut {
		for imported := range packages {
			if !used[where+" "+imported] {
				t.Errorf("the exception of %s for %s is not needed any more: take it out", where, imported)
			}
		}
	}
}

func reasoned(f source, imported string) (where string, ok bool) {
	for _, where := range []string{f.path, f.folder} {
		if pureBut[where][imported] != "" {
			return where, true
		}
	}
	return "", false
}

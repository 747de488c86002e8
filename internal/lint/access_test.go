package lint_test

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/auth/access"
)

// Each page of a launcher is in the table of rules, and nothing else of a launcher is. The
// manager's own test walks what the manager has.
func TestEveryPageOfALauncherHasARule(t *testing.T) {
	var have []string
	for _, f := range sources(t) {
		if f.folder != "engine/launcher" {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || method.Sel.Name != "Handle" && method.Sel.Name != "HandleFunc" {
				return true
			}
			pattern, ok := call.Args[0].(*ast.BasicLit)
			if !ok {
				t.Errorf("%s: a page has its pattern as a literal, so that this test finds it", f.path)
				return true
			}
			text, err := strconv.Unquote(pattern.Value)
			if err != nil {
				t.Error(err)
			}
			have = append(have, access.LauncherRoute(text))
			return true
		})
	}
	if len(have) == 0 {
		t.Fatal("no page of a launcher was found: are they in engine/launcher still?")
	}
	for _, request := range have {
		if _, ok := access.RuleOf(request); !ok {
			t.Errorf("%s has no rule: add one to the table of engine/auth/access", request)
		}
	}
	for _, request := range access.Requests() {
		if strings.HasPrefix(request, access.LauncherRoute("")) && !slices.Contains(have, request) {
			t.Errorf("there is a rule for %s, which no launcher has", request)
		}
	}
}

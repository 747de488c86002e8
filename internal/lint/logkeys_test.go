package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// logCalls are the methods of slog.Logger whose arguments are keys and values, with the index of the first key.
var logCalls = map[string]int{
	"Debug": 1, "Info": 1, "Warn": 1, "Error": 1, "DebugContext": 2, "InfoContext": 2, "WarnContext": 2, "ErrorContext": 2, "Log": 3, "With": 0,
}

// logKey is the form of a key: one word, which begins in lower case, as in the JSON of all programs.
var logKey = regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)

// Each key of a log line is one word, so that a reader of JSON names it without quotation marks.
func TestLogKeysAreWords(t *testing.T) {
	found := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "build" || d.Name() == "testdata" || d.Name() == "baselines" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		files := token.NewFileSet()
		tree, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			for _, key := range logKeys(call) {
				if found++; !logKey.MatchString(key.text) {
					t.Errorf("%s: the key %q of a log is to be one word, such as linesMissing", files.Position(key.pos), key.text)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 300 {
		t.Errorf("only %d keys were found", found)
	}
}

// foundKey is a key of a log, and where it stands.
type foundKey struct {
	text string
	pos  token.Pos
}

// logKeys are the literal keys that a call gives a log; none where it is no such call.
func logKeys(call *ast.CallExpr) (keys []foundKey) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	first, logs := logCalls[method.Sel.Name]
	if !logs || first > len(call.Args) || !literalAt(call.Args, first-1) {
		return nil
	}
	for i := first; i < len(call.Args); i += 2 {
		l, ok := call.Args[i].(*ast.BasicLit)
		if !ok || l.Kind != token.STRING {
			return keys // an attribute, or a list of arguments
		}
		if text, err := strconv.Unquote(l.Value); err == nil {
			keys = append(keys, foundKey{text, l.Pos()})
		}
	}
	return keys
}

// literalAt says whether the argument at an index is a text of the program, as messages are; below 0 it is.
func literalAt(args []ast.Expr, i int) bool {
	if i < 0 {
		return true
	}
	switch x := args[i].(type) {
	case *ast.BasicLit:
		return x.Kind == token.STRING
	case *ast.BinaryExpr:
		return literalAt([]ast.Expr{x.X}, 0) || literalAt([]ast.Expr{x.Y}, 0)
	}
	return false
}

package site

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/core"
)

var document = flag.Bool("document", false, "write docs/operations/CONFIGURATION.md anew")

const reference = "../../docs/operations/CONFIGURATION.md"

// The reference of all keys is what the code says: keys and defaults as "config show" tells them, forms by the types of
// the fields, bounds by what is checked, and meanings by the comments.
func TestReferenceOfTheConfiguration(t *testing.T) {
	want := writeReference(t)
	if *document {
		if err := os.WriteFile(reference, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != want {
		t.Errorf("%s is not what the code says: run go test ./engine/site -run TestReference -document", reference)
	}
}

// key is a key of the configuration as its field declares it.
type key struct{ form, bounds, meaning string }

func writeReference(t *testing.T) string {
	t.Helper()
	c, err := config.Load(config.Sources{CoreKeys: CoreKeys()})
	if err != nil {
		t.Fatal(err)
	}
	declared := declaredKeys(t)
	var b strings.Builder
	b.WriteString(`# Configuration

Every key of the file that ` + "`--config`" + ` names, with its default. Written by a test from the code; do not edit it.

A variable ` + "`HAMADRYAD_SECTION_KEY`" + ` sets a key too, and a flag beats both: ` + "`manager.listen`" + ` is ` + "`HAMADRYAD_MANAGER_LISTEN`" + `
and ` + "`--listen`" + `. "hamadryad config show" tells what is in force and where it was set, "hamadryad config check FILE"
what is wrong with a file. A running manager takes changes of the sections ` + "`policy` and `core`" + ` and of who may do
what at once; all else counts from the next start.

Sizes are a number of bytes, or one with a unit: ` + "`64KiB`, `1GB`" + `. Durations are such as ` + "`500ms`, `30s`, `1h30m`" + `.
The settings of a policy (` + "`policy.settings`" + `) are told by ` + "`go doc ./plugins/NAME`" + `, the lists of who may do what in
` + "`auth`" + ` by [ACCESS.md](../ACCESS.md).
`)
	section := ""
	for _, s := range c.Settings(core.DefaultSettings(), CoreKeys()) {
		if now, _, _ := strings.Cut(s.Key, "."); now != section {
			section = now
			fmt.Fprintf(&b, "\n## %s\n\n| key | default | form | what it is |\n|---|---|---|---|\n", section)
		}
		k, ok := declared[s.Key]
		if !ok || k.meaning == "" {
			t.Errorf("%s has no field with a comment", s.Key)
		}
		form := strings.TrimSuffix(k.form+"; "+k.bounds, "; ")
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Key, quoted(s.Value), cell(form), cell(k.meaning))
	}
	return b.String()
}

func quoted(value string) string {
	if value == "" {
		return ""
	}
	return "`" + value + "`"
}

// cell is a text in a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "/")
}

// declaredKeys reads the declarations of all keys.
func declaredKeys(t *testing.T) map[string]key {
	t.Helper()
	all := map[string]key{}
	types := structs(t, "../config")
	types.describe(all, "", "Config", "koanf")
	structs(t, "../core/internal/step").describe(all, "core.", "Settings", "json")
	return all
}

// declarations are the structs of a package, by name.
type declarations map[string]*ast.StructType

func structs(t *testing.T, folder string) declarations {
	t.Helper()
	all := declarations{}
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok {
				if fields, ok := s.Type.(*ast.StructType); ok {
					all[s.Name.Name] = fields
				}
			}
			return true
		})
	}
	return all
}

// describe adds the keys of a struct, whose tags have their names. A comment above several fields is of them all.
func (d declarations) describe(all map[string]key, prefix, name, tag string) {
	above := ""
	names := map[string]string{} // of keys, by their fields'
	for _, f := range d[name].Fields.List {
		if n := nameOf(f, tag); n != "" {
			names[f.Names[0].Name] = n
		}
	}
	for _, f := range d[name].Fields.List {
		if f.Doc != nil {
			above = f.Doc.Text()
		}
		n := nameOf(f, tag)
		if n == "" {
			continue
		}
		form := typeOf(f.Type)
		if d[form] != nil {
			d.describe(all, prefix+n+".", form, tag)
		}
		meaning := cmp.Or(f.Comment.Text(), above)
		for field, key := range names {
			meaning = regexp.MustCompile(`\b`+field+`\b`).ReplaceAllString(meaning, key)
		}
		all[prefix+n] = key{forms(form), bounds(tagOf(f).Get("validate"), form), meaning}
	}
}

func tagOf(f *ast.Field) reflect.StructTag {
	if f.Tag == nil {
		return ""
	}
	return reflect.StructTag(strings.Trim(f.Tag.Value, "`"))
}

// nameOf is the name of a field's key; "" when it has none.
func nameOf(f *ast.Field, tag string) string {
	name, _, _ := strings.Cut(tagOf(f).Get(tag), ",")
	if name == "-" || len(f.Names) == 0 {
		return ""
	}
	return name
}

func typeOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.ArrayType:
		return "[]" + typeOf(e.Elt)
	}
	return "map"
}

// forms says how a value of a type is written.
func forms(of string) string {
	switch of {
	case "Size":
		return "size"
	case "Duration":
		return "duration"
	case "bool":
		return "true or false"
	case "[]string":
		return "list"
	case "string":
		return "text"
	case "Slots", "Resources", "map", "Limits", "UserLimits", "ScheduleLimits":
		return "mapping"
	}
	return "number"
}

// bounds says in words what a validate tag checks.
func bounds(tag, of string) string {
	var list []string
	for _, rule := range strings.Split(tag, ",") {
		name, value, _ := strings.Cut(rule, "=")
		var size config.Size
		if of == "Size" {
			_, _ = fmt.Sscan(value, &size)
			value = cmp.Or(map[bool]string{true: size.String()}[size > 0], value)
		}
		switch name {
		case "min":
			list = append(list, "at least "+value)
		case "max":
			list = append(list, "at most "+value)
		case "oneof":
			list = append(list, strings.Join(strings.Fields(value), " or "))
		case "address":
			list = append(list, "HOST:PORT")
		case "gtfield":
			list = append(list, "more than "+strings.ToLower(value[:1])+value[1:])
		case "required":
			list = append(list, "not empty")
		case "dive":
			return strings.Join(list, ", ") // what follows is of the elements
		}
	}
	return strings.Join(slices.Compact(list), ", ")
}

// Package document reads a YAML file into a struct, strictly. It reports problems by file and line,
// also those that are found later.
//
//	d, err := document.Decode("cluster.yaml", text, &c)
//	...
//	return d.Error([]document.Problem{{Path: []any{"launchers", 2, "count"}, Message: "it is 0"}})
package document

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
)

// BytesMax bounds the text of a document.
const BytesMax = 4 << 20

// Problem is a problem of a value, with the keys and list indexes that lead to it.
type Problem struct {
	Path    []any
	Message string
}

// Below prefixes the problems' paths with keys, for a value below them.
func Below(list []Problem, keys ...any) []Problem {
	for i := range list {
		list[i].Path = append(slices.Clone(keys), list[i].Path...)
	}
	return list
}

// Document is a decoded text.
type Document struct {
	file string
	root yaml.Node
}

// Decode reads a text into a pointer to a struct with yaml tags, which holds the defaults. The
// error is a scheduler.Problems: unknown keys, values of another type, duplicate keys, a second
// document.
func Decode(file string, text []byte, into any) (*Document, error) {
	d := &Document{file: file}
	if len(text) > BytesMax {
		return nil, d.problem(1, "the file has %d bytes: at most %d are allowed", len(text), BytesMax)
	}
	if err := settings.Decode(scheduler.Config{File: file, Line: 1, Text: text}, into); err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(text, &d.root); err != nil {
		return nil, d.problem(1, "%v", err)
	}
	return d, nil
}

func (d *Document) problem(line int, format string, args ...any) error {
	return scheduler.Problems{{File: d.file, Line: line, Message: fmt.Sprintf(format, args...)}}
}

// Has reports whether the text has a value at a path.
func (d *Document) Has(path ...any) bool {
	_, all := find(&d.root, path)
	return all
}

// Error converts problems to a scheduler.Problems with their lines; nil where there are none.
func (d *Document) Error(list []Problem) error {
	var all scheduler.Problems
	for _, p := range list {
		n, _ := find(&d.root, p.Path)
		all = append(all, scheduler.Problem{File: d.file, Line: max(n.Line, 1), Message: shown(p.Path) + ": " + p.Message})
	}
	return orNil(all)
}

// Error converts problems to a scheduler.Problems without positions, for values without a text.
func Error(list []Problem) error {
	var all scheduler.Problems
	for _, p := range list {
		all = append(all, scheduler.Problem{Message: shown(p.Path) + ": " + p.Message})
	}
	return orNil(all)
}

func orNil(all scheduler.Problems) error {
	if len(all) == 0 {
		return nil
	}
	return all
}

// shown writes keys as people do: launchers[2].slots.map.
func shown(path []any) string {
	var b strings.Builder
	for i, p := range path {
		if n, ok := p.(int); ok {
			fmt.Fprintf(&b, "[%d]", n+1)
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		fmt.Fprint(&b, p)
	}
	return b.String()
}

// find follows a path as far as it exists.
func find(root *yaml.Node, path []any) (n *yaml.Node, all bool) {
	if len(root.Content) == 0 {
		return root, false
	}
	n = root.Content[0]
	for _, p := range path {
		next := below(n, p)
		if next == nil {
			return n, false
		}
		n = next
	}
	return n, true
}

func below(n *yaml.Node, key any) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if i, ok := key.(int); ok {
		if n.Kind == yaml.SequenceNode && i < len(n.Content) {
			return n.Content[i]
		}
		return nil
	}
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

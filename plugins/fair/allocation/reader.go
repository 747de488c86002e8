package allocation

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
)

// reader reads YAML strictly, key by key, so that every problem has its line. That includes wrong
// values, which a decoder into structs does not see.
type reader struct {
	file     string
	first    int // line on which the text starts
	parts    Parts
	problems scheduler.Problems
}

func (r *reader) problem(line int, format string, args ...any) {
	r.problems = append(r.problems, scheduler.Problem{File: r.file, Line: line, Message: fmt.Sprintf(format, args...)})
}

func (r *reader) at(n *yaml.Node, format string, args ...any) {
	r.problem(r.line(n), format, args...)
}

func (r *reader) line(n *yaml.Node) int { return max(r.first, 1) + n.Line - 1 }

// err returns the problems as an error, in order of line.
func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b scheduler.Problem) int { return a.Line - b.Line })
	return r.problems
}

// root parses text; nil if it is empty or invalid.
func (r *reader) root(text []byte) *yaml.Node {
	var doc, second yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(text))
	err := documents.Decode(&doc)
	if err == nil {
		err = documents.Decode(&second)
	}
	if err == nil {
		r.at(&second, "a second document begins here: there is to be one")
		return nil
	}
	if !errors.Is(err, io.EOF) {
		message, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
		if rest, ok := strings.CutPrefix(message, "line "); ok {
			if number, what, ok := strings.Cut(rest, ": "); ok {
				line, _ = strconv.Atoi(number)
				message = what
			}
		}
		r.problem(max(r.first, 1)+line-1, "%s", message)
		return nil
	}
	if len(doc.Content) == 0 {
		return nil
	}
	return doc.Content[0]
}

// fields hands each value of a mapping to the function for its key.
func (r *reader) fields(n *yaml.Node, of string, known map[string]func(*yaml.Node)) {
	r.each(n, of, func(key, value *yaml.Node) {
		read, ok := known[key.Value]
		if !ok {
			names := make([]string, 0, len(known))
			for name := range known {
				names = append(names, name)
			}
			slices.Sort(names)
			r.at(key, "unknown setting %q of %s: correct its name or remove it; there are %s", key.Value, of, strings.Join(names, ", "))
			return
		}
		read(value)
	})
}

// each walks the keys of a mapping. A repeated key is a problem.
func (r *reader) each(n *yaml.Node, of string, do func(key, value *yaml.Node)) {
	if n == nil || n.Tag == "!!null" {
		return
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		r.at(n, "%s: must be settings by name, like \"name: value\"", of)
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if line, twice := seen[key.Value]; twice {
			r.at(key, "%q stands twice in %s (first on line %d): remove one", key.Value, of, line)
			continue
		}
		seen[key.Value] = r.line(key)
		do(key, n.Content[i+1])
	}
}

func (r *reader) text(into *string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.ScalarNode {
			r.at(n, "must be a word")
			return
		}
		*into = n.Value
	}
}

// oneOf reads one of the given words.
func (r *reader) oneOf(into *string, words ...string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if !slices.Contains(words, n.Value) {
			r.at(n, "%s", settings.Unknown(n.Value, words))
			return
		}
		*into = n.Value
	}
}

func (r *reader) list(into *[]string, words ...string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.SequenceNode {
			r.at(n, "must be a list, like [%s]", strings.Join(words, ", "))
			return
		}
		*into = nil
		for _, item := range n.Content {
			var word string
			r.oneOf(&word, words...)(item)
			*into = append(*into, word)
		}
	}
}

func (r *reader) flag(into *bool) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Value != "true" && n.Value != "false" {
			r.at(n, "%q: must be true or false", n.Value)
			return
		}
		*into = n.Value == "true"
	}
}

// count reads a whole number of at least low.
func (r *reader) count(into *int, low int) func(*yaml.Node) { return r.countTo(into, low, countMax) }

// countTo reads a whole number from low to high.
func (r *reader) countTo(into *int, low, high int) func(*yaml.Node) {
	return func(n *yaml.Node) { r.countTextTo(into, low, high, r.line(n), n.Value) }
}

// countMax keeps sums of counts from overflowing.
const countMax = math.MaxInt32

func (r *reader) countText(into *int, low, line int, text string) {
	r.countTextTo(into, low, countMax, line, text)
}

func (r *reader) countTextTo(into *int, low, high, line int, text string) {
	i, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || i < low || i > high {
		r.problem(line, "%q: must be a whole number from %d to %d", text, low, high)
		return
	}
	*into = i
}

// number reads a number greater than low and at most high.
func (r *reader) number(into *float64, low, high float64) func(*yaml.Node) {
	return func(n *yaml.Node) { r.numberText(into, low, high, r.line(n), n.Value) }
}

func (r *reader) numberText(into *float64, low, high float64, line int, text string) {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(x > low && x <= high) { // also false for NaN
		r.problem(line, "%q: must be a number above %v and at most %v", text, low, high)
		return
	}
	*into = x
}

// duration reads a time of at least low.
func (r *reader) duration(into *time.Duration, low time.Duration) func(*yaml.Node) {
	return func(n *yaml.Node) {
		d, err := time.ParseDuration(n.Value)
		if err != nil || d < low {
			r.at(n, "%q: must be a time of at least %s, like 90s or 5m", n.Value, low)
			return
		}
		*into = d
	}
}

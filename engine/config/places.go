package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/hamadryad/hamadryad/internal/suggest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// places says where each key was set: "file:line", a variable or a flag.
type places map[string]string

// nowhere is the place of keys that nobody set.
const nowhere = "defaults"

// of finds the place of a key, or of its nearest set parent.
func (p places) of(key string) string {
	for {
		if place, ok := p[key]; ok {
			return place
		}
		i := strings.LastIndexByte(key, '.')
		if i < 0 {
			return nowhere
		}
		key = key[:i]
	}
}

// set reports whether a key, and not only a section, is set.
func (p places) set(known []string) bool {
	for key := range p {
		if free(key) || slices.Contains(known, key) {
			return true
		}
	}
	return false
}

// Errors are all mistakes of a configuration, in order of place.
type Errors []string

// Error lists them, one a line.
func (e Errors) Error() string { return strings.Join(e, "\n") }

// document is the parsed YAML file with the lines of its keys.
type document struct {
	file  string
	lines []string
	root  *yaml.Node
}

func parseDocument(file string, text []byte) (*document, error) {
	node, err := parse(file, text)
	if err != nil {
		return nil, err
	}
	d := &document{file: file, lines: strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")}
	if len(node.Content) > 0 {
		d.root = node.Content[0]
	}
	if d.root != nil && d.root.Kind != yaml.MappingNode && d.root.Tag != "!!null" {
		return nil, fmt.Errorf("%s:%d: a configuration is made of sections: manager, launcher, policy, auth, log, core", file, d.root.Line)
	}
	var wrong Errors
	if d.odd(node, &wrong); len(wrong) > 0 {
		return nil, wrong
	}
	return d, nil
}

// free are the parts whose keys other packages check.
func free(path string) bool {
	key, inAuth := strings.CutPrefix(path, "auth.")
	return path == "policy.settings" || path == "policy.shadowSettings" || inAuth && slices.Contains(AccessKeys, key)
}

// AccessKeys are the keys of the section auth that define rights. Package access reads them.
var AccessKeys = []string{"roles", "pools", "groups", "impersonators", "defaultPool", "revoked", "users"}

// check collects the places of all keys, and their mistakes.
func (d *document) check(known []string, p places) Errors {
	var wrong Errors
	if d.root == nil {
		return nil
	}
	d.walk(d.root, "", known, p, &wrong)
	return wrong
}

func (d *document) walk(n *yaml.Node, path string, known []string, p places, wrong *Errors) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		full := join(path, key.Value)
		place := fmt.Sprintf("%s:%d", d.file, key.Line)
		if _, twice := p[full]; twice {
			*wrong = append(*wrong, fmt.Sprintf("%s: %s is set twice", place, full))
			continue
		}
		p[full] = place
		switch {
		case free(full):
		case slices.Contains(known, full):
			if value.Kind == yaml.MappingNode && !isMap(full) {
				*wrong = append(*wrong, fmt.Sprintf("%s: %s is a single value", place, full))
			}
		case !hasPrefix(known, full+"."):
			*wrong = append(*wrong, fmt.Sprintf("%s: there is no %s%s", place, full, didYouMean(full, known)))
		case value.Kind == yaml.MappingNode:
			d.walk(value, full, known, p, wrong)
		case value.Tag != "!!null":
			*wrong = append(*wrong, fmt.Sprintf("%s: %s is a section: its keys stand below it", place, full))
		}
	}
}

// isMap reports whether a key's value is a mapping of free names.
func isMap(path string) bool {
	return path == "launcher.slots" || path == "launcher.resources" || path == "policy.shadowFiles" || strings.HasPrefix(path, "core.")
}

func hasPrefix(known []string, prefix string) bool {
	return slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, prefix) })
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// settings cuts policy.settings out of the text, with its line, so that the
// policy can name lines of the file in its own messages.
func (d *document) settings() scheduler.Config {
	return d.cut(find(find(d.root, "policy"), "settings"))
}

// shadowSettings cuts the settings of each policy below policy.shadowSettings out likewise.
func (d *document) shadowSettings() (map[string]scheduler.Config, error) {
	n := find(find(d.root, "policy"), "shadowSettings")
	if n == nil || n.Tag == "!!null" {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: policy.shadowSettings has the settings of each shadow below its name", d.file, n.Line)
	}
	texts := map[string]scheduler.Config{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		texts[n.Content[i].Value] = d.cut(n.Content[i+1])
	}
	return texts, nil
}

// access cuts the section auth out likewise.
func (d *document) access() scheduler.Config { return d.cut(find(d.root, "auth")) }

// lists are the texts of AccessKeys.
func (d *document) lists() map[string]string {
	texts := map[string]string{}
	for _, key := range AccessKeys {
		if n := find(find(d.root, "auth"), key); n != nil {
			texts[key] = strings.TrimSpace(string(d.cut(n).Text))
		}
	}
	return texts
}

func (d *document) cut(node *yaml.Node) scheduler.Config {
	if node == nil || node.Tag == "!!null" {
		return scheduler.Config{File: d.file}
	}
	c := scheduler.Config{File: d.file, Line: node.Line}
	if node.Style&yaml.FlowStyle != 0 || node.Kind != yaml.MappingNode {
		c.Text, _ = yaml.Marshal(node)
		return c
	}
	indent := node.Column - 1
	var text strings.Builder
	for _, line := range d.lines[node.Line-1:] {
		body := strings.TrimLeft(line, " ")
		if body != "" && len(line)-len(body) < indent && !strings.HasPrefix(body, "#") {
			break
		}
		text.WriteString(line[min(indent, len(line)-len(body)):])
		text.WriteByte('\n')
	}
	c.Text = []byte(text.String())
	return c
}

func find(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// didYouMean names the nearest known key, if one is near, or the keys of the section.
func didYouMean(key string, known []string) string {
	if hint := suggest.Hint(key, append(sections(known), known...)); hint != "" {
		return hint
	}
	return "; there are " + strings.Join(sections(known), ", ")
}

func sections(known []string) []string {
	var s []string
	for _, k := range known {
		section, _, _ := strings.Cut(k, ".")
		if !slices.Contains(s, section) {
			s = append(s, section)
		}
	}
	return s
}

package config

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Setting is one key of a configuration with its value, as text, and where it was set: FILE:LINE,
// the name of a variable, "flag" or "default". Over is the overridden place in the file, if any.
type Setting struct{ Key, Value, From, Over string }

// Settings lists every key of the configuration, in order. core is the struct that DecodeCore
// filled, and coreKeys are its keys to list.
func (c *Config) Settings(core any, coreKeys []string) []Setting {
	var list []Setting
	for key := range defaults() {
		value := textOf(c.values[key])
		if key == "launcher.slots" { // its kinds are keys of their own
			value = c.slotsText()
		}
		if key == "launcher.resources" { // likewise
			value = c.resourcesText()
		}
		list = append(list, Setting{key, value, c.From(key), c.over[key]})
	}
	v := reflect.ValueOf(core)
	for i := range v.NumField() {
		if name := jsonName(v.Type().Field(i)); slices.Contains(coreKeys, name) {
			list = append(list, Setting{"core." + name, textOf(v.Field(i).Interface()), c.From("core." + name), c.over["core."+name]})
		}
	}
	if text := c.Policy.Config.Text; len(text) > 0 {
		list = append(list, Setting{Key: "policy.settings", Value: strings.TrimRight(string(text), "\n"), From: c.From("policy.settings")})
	}
	for name, of := range c.Policy.ShadowConfigs {
		list = append(list, Setting{Key: "policy.shadowSettings." + name, Value: strings.TrimRight(string(of.Text), "\n"), From: c.From("policy.shadowSettings")})
	}
	for _, key := range AccessKeys {
		if text := c.lists[key]; text != "" {
			list = append(list, Setting{Key: "auth." + key, Value: text, From: c.From("auth." + key)})
		}
	}
	slices.SortFunc(list, func(a, b Setting) int { return cmp.Compare(a.Key, b.Key) })
	return list
}

// Place is where a key, or its nearest set parent, was set, for messages about mistakes: FILE:LINE,
// the name of a variable, "flag" or "defaults".
func (c *Config) Place(key string) string { return c.places.of(key) }

// From returns where a key was set.
func (c *Config) From(key string) string {
	if place, ok := c.places[key]; ok {
		return place
	}
	return "default"
}

func (c *Config) resourcesText() string {
	var parts []string
	for kind, n := range c.Launcher.Resources {
		parts = append(parts, fmt.Sprintf("%s:%d", kind, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

func (c *Config) slotsText() string {
	var parts []string
	for kind, n := range c.Launcher.Slots {
		parts = append(parts, fmt.Sprintf("%s=%d", kind, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// textOf writes a value as in a file, on one line.
func textOf(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []string:
		return strings.Join(v, ",")
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = textOf(v[i])
		}
		return strings.Join(parts, ",")
	case time.Duration:
		return v.String()
	}
	v := reflect.ValueOf(value)
	if v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String {
		var parts []string
		for _, k := range v.MapKeys() {
			parts = append(parts, k.String()+": "+textOf(v.MapIndex(k).Interface()))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	}
	if v.Kind() == reflect.Struct {
		var parts []string
		for i := range v.NumField() {
			name := cmp.Or(jsonName(v.Type().Field(i)), v.Type().Field(i).Name)
			parts = append(parts, name+": "+textOf(v.Field(i).Interface()))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(value)
}

// DataFolder finds manager.data or launcher.data, by its section, in sources that may be wrong
// otherwise. The data there is needed above all when the rest can't be read.
func DataFolder(s Sources, section string) string {
	key, variable := section+".data", "HAMADRYAD_"+strings.ToUpper(section)+"_DATA="
	if v := s.Flags[key]; v != "" {
		return v
	}
	for _, e := range slices.Backward(s.Environ) {
		if v, ok := strings.CutPrefix(e, variable); ok {
			return v
		}
	}
	if s.File != "" {
		if text, err := readBounded(s.File); err == nil {
			if v := dataIn(text, section); v != "" {
				return v
			}
		}
	}
	return defaults()[key].(string)
}

// dataTries bounds how many lines, from the mistake on, are cut from a file to find a readable
// beginning.
const dataTries = 100

// mistakeAt finds the line that an error of the YAML reader names.
var mistakeAt = regexp.MustCompile(`^yaml: line (\d+):`)

// dataIn reads the key data of a section from a file. If the file is no document as a whole, it
// reads the longest beginning that is one.
func dataIn(text []byte, section string) string {
	for range dataTries {
		file := map[string]struct {
			Data string `yaml:"data"`
		}{}
		// A wrong type elsewhere leaves the right values.
		if err := yaml.Unmarshal(text, &file); file[section].Data != "" {
			return file[section].Data
		} else if err == nil {
			return ""
		} else {
			text = shorter(text, err)
		}
	}
	return ""
}

// shorter leaves out the text from a mistake on, or the last line. The line that the reader names
// can be the one before the mistake.
func shorter(text []byte, mistake error) []byte {
	if m := mistakeAt.FindStringSubmatch(mistake.Error()); m != nil {
		line, _ := strconv.Atoi(m[1]) // digits
		if head := firstLines(text, line+1); len(head) < len(text) {
			return head
		}
	}
	text = bytes.TrimRight(text, "\n")
	return text[:bytes.LastIndexByte(text, '\n')+1]
}

// firstLines returns at most so many lines of a text.
func firstLines(text []byte, n int) []byte {
	end := 0
	for range n {
		i := bytes.IndexByte(text[end:], '\n')
		if i < 0 {
			return text
		}
		end += i + 1
	}
	return text[:end]
}

// Package settings reads a policy's settings: YAML into a struct, with every
// unknown key and wrong value named by file and line.
//
//	s := defaults
//	err := settings.Decode(config, &s)
//
// The struct's fields carry yaml tags; time.Duration is written like 30s.
package settings

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

var (
	atLine  = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)
	unknown = regexp.MustCompile(`^field (\S+) not found in type (.*)$`)
)

// Decode reads config.Text into a pointer to a struct that holds the defaults.
// Empty text changes nothing. The error is a scheduler.Problems, and the struct
// may then be partly filled. An unknown key is told with the known one that is nearest.
func Decode(config scheduler.Config, into any) error {
	d := yaml.NewDecoder(bytes.NewReader(config.Text))
	d.KnownFields(true)
	err := d.Decode(into)
	if err == nil {
		var second yaml.Node
		if err = d.Decode(&second); err == nil {
			return scheduler.Problems{{File: config.File, Line: lineOf(config, max(second.Line, 1)), Message: "a second document begins here: there is to be one"}}
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	var wrong *yaml.TypeError
	if !errors.As(err, &wrong) {
		return scheduler.Problems{problem(config, err.Error(), into)}
	}
	var all scheduler.Problems
	for _, m := range wrong.Errors {
		all = append(all, problem(config, m, into))
	}
	return all
}

// At returns a problem with the key of that name at the top of the settings, on
// the line where it stands.
func At(config scheduler.Config, key, message string) scheduler.Problem {
	line := 0
	var doc yaml.Node
	if yaml.Unmarshal(config.Text, &doc) == nil && len(doc.Content) == 1 {
		keys := doc.Content[0].Content
		for i := 0; i+1 < len(keys); i += 2 {
			if keys[i].Value == key {
				line = lineOf(config, keys[i].Line)
			}
		}
	}
	return scheduler.Problem{File: config.File, Line: line, Message: key + ": " + message}
}

// Checks gathers what is wrong with settings that Decode read.
type Checks struct {
	Config   scheduler.Config
	problems scheduler.Problems
}

// That notes a problem with a key at the top of the settings where something does not hold.
func (c *Checks) That(holds bool, key, message string) {
	if !holds {
		c.problems = append(c.problems, At(c.Config, key, message))
	}
}

// Choice notes a problem where a key has none of the values that it may have.
func (c *Checks) Choice(key, value string, choices ...string) {
	c.That(slices.Contains(choices, value), key, Unknown(value, choices))
}

// CollectAfter notes a problem with the key collect-after, which several policies have. It says how
// long smaller work may pass a large bundle before slots are collected for that.
func (c *Checks) CollectAfter(after time.Duration) {
	c.That(after >= 0, "collect-after", "must not be negative; 0s lets smaller work pass for ever")
}

// CollectAfterDefault is long against the usual task, so that slots seldom stand empty for work that
// would have fitted anyway.
const CollectAfterDefault = 30 * time.Second

// Err returns the problems, or nil.
func (c *Checks) Err() error {
	if len(c.problems) == 0 {
		return nil
	}
	return c.problems
}

// Verdict is a policy's answer to new settings. It accepts them when err is nil, else it rejects
// them with the problems that err holds, or with err itself as the only one.
func Verdict(s scheduler.SettingChanged, err error) scheduler.SettingsVerdict {
	v := scheduler.SettingsVerdict{Version: s.Version}
	var problems scheduler.Problems
	switch {
	case err == nil:
	case errors.As(err, &problems) && len(problems) > 0: // none would mean: accepted
		v.Problems = problems
	default:
		v.Problems = scheduler.Problems{{File: s.Config.File, Message: err.Error()}}
	}
	return v
}

func problem(config scheduler.Config, message string, into any) scheduler.Problem {
	p := scheduler.Problem{File: config.File, Message: message}
	if m := atLine.FindStringSubmatch(message); m != nil {
		n, err := strconv.Atoi(m[1])
		if err == nil {
			p.Line = lineOf(config, n)
		}
		p.Message = m[2]
	}
	if m := unknown.FindStringSubmatch(p.Message); m != nil {
		p.Message = "unknown setting " + strconv.Quote(m[1]) + ": correct its name or remove it" + Hint(m[1], keysOf(reflect.TypeOf(into), m[2], map[reflect.Type]bool{}))
	}
	return p
}

// keysOf lists the keys of the struct of a name that t is, or has below it. seen has the types that were looked at.
func keysOf(t reflect.Type, name string, seen map[reflect.Type]bool) (keys []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return nil
	}
	seen[t] = true
	for f := range t.Fields() {
		key, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case options == "inline" && t.String() == name:
			keys = append(keys, keysOf(f.Type, f.Type.String(), seen)...)
		case t.String() == name && key != "" && key != "-":
			keys = append(keys, key)
		case t.String() != name:
			keys = append(keys, keysOf(f.Type, name, seen)...)
		}
	}
	return keys
}

func lineOf(config scheduler.Config, line int) int { return max(config.Line, 1) + line - 1 }

package settings

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/internal/suggest"
)

// Choices are the parts of a policy that one of its settings may name. A program that serves
// the policy registers parts of its own, so that nobody has to change the policy:
//
//	func init() { placing.LoadManagers.Register("one-each", newOneEach) }
//
// Registering and asking must not overlap: register from init functions.
type Choices[T any] struct {
	setting string
	parts   map[string]T
}

// Choice is a setting with the names that it may have, in order.
type Choice struct {
	Setting string // its keys, joined by dots
	Names   []string
}

// listed are the Choices of this program.
var listed []interface{ choice() Choice }

// NewChoices returns the choices of a setting, with the parts that the policy itself has.
// All lists them from then on: make each once, as a variable of a package.
func NewChoices[T any](setting string, parts map[string]T) *Choices[T] {
	c := &Choices[T]{setting: setting, parts: map[string]T{}}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		c.Register(name, parts[name])
	}
	listed = append(listed, c)
	return c
}

// partName matches a valid name of a part: a word that YAML reads as text, in lower case.
var partName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// Register adds a part. It panics when the name is taken, or is not lower-case letters, digits
// and hyphens after a first letter.
func (c *Choices[T]) Register(name string, part T) {
	if _, taken := c.parts[name]; taken || !partName.MatchString(name) {
		panic(fmt.Sprintf("settings: %s %q is there already, or is not a name of lower-case letters, digits and hyphens", c.setting, name))
	}
	c.parts[name] = part
}

// Named returns the part of a name, and false where there is none.
func (c *Choices[T]) Named(name string) (T, bool) {
	part, ok := c.parts[name]
	return part, ok
}

// Names lists all names, in order.
func (c *Choices[T]) Names() []string { return slices.Sorted(maps.Keys(c.parts)) }

// Unknown says that there is no part of a name, and which there are.
func (c *Choices[T]) Unknown(name string) string { return Unknown(name, c.Names()) }

// Unknown says that a setting has none of the values that it may have.
func Unknown(value string, known []string) string {
	return fmt.Sprintf("%q is unknown: use one of %s", value, strings.Join(known, ", "))
}

// Hint is the end of a sentence about an unknown name: "; did you mean NAME?" with the known name
// that is nearest by spelling, without regard to case. It is "" when none is near.
func Hint(unknown string, known []string) string { return suggest.Hint(unknown, known) }

func (c *Choices[T]) choice() Choice { return Choice{c.setting, c.Names()} }

// All lists the Choices of the packages that this program is made of, in order of setting.
func All() []Choice {
	var all []Choice
	for _, c := range listed {
		all = append(all, c.choice())
	}
	slices.SortFunc(all, func(a, b Choice) int { return strings.Compare(a.Setting, b.Setting) })
	return all
}

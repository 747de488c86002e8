package settings

import (
	"reflect"
	"slices"
	"testing"
)

// Registered parts are found, and listed in order beside those that the policy has. No name is
// given twice, and none is one that YAML would not take as text.
func TestChoicesTakeParts(t *testing.T) {
	before := listed
	defer func() { listed = before }()
	c := NewChoices("test.part", map[string]int{"one": 1, "two": 2})
	c.Register("a-third", 3)
	if n, ok := c.Named("a-third"); !ok || n != 3 {
		t.Errorf("the part is %d (%v)", n, ok)
	}
	if _, ok := c.Named("four"); ok {
		t.Error("there is a part that nobody registered")
	}
	want := Choice{"test.part", []string{"a-third", "one", "two"}}
	if !slices.ContainsFunc(All(), func(c Choice) bool { return reflect.DeepEqual(c, want) }) {
		t.Errorf("listed are %v, and should be %v too", All(), want)
	}
	if got, want := c.Unknown("four"), `"four" is unknown: use one of a-third, one, two`; got != want {
		t.Errorf("%q is said, want %q", got, want)
	}
	for _, name := range []string{"one", "", "One", "two words", "5"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q is taken", name)
				}
			}()
			c.Register(name, 0)
		}()
	}
}

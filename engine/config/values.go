package config

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Size is a number of bytes; in text, a number with an optional unit: B, kB, MB,
// GB, TB in powers of 1000, KiB, MiB, GiB, TiB in powers of 1024.
type Size int64

var sizeUnits = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
	{"kB", 1e3},
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"B", 1},
}

// ParseSize reads a size.
func ParseSize(s string) (Size, error) {
	number, unit := strings.TrimSpace(s), 1.0
	for _, u := range sizeUnits {
		if n, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(n), u.bytes
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || v < 0 || math.IsNaN(v) || v*unit >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is no size: write a number of bytes, or one with a unit, such as 256MiB", s)
	}
	return Size(v * unit), nil
}

// String writes the size with the largest unit that leaves a whole number.
func (s Size) String() string {
	for _, u := range []struct {
		name  string
		shift uint
	}{{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}} {
		if s != 0 && s%(1<<u.shift) == 0 {
			return strconv.FormatInt(int64(s)>>u.shift, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// Slots are numbers of slots by kind; in text "4" or "default=4,map=2".
type Slots map[string]int

// ParseSlots reads slots from one string.
func ParseSlots(s string) (Slots, error) {
	slots := Slots{}
	if strings.TrimSpace(s) == "" {
		return slots, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		kind, count, named := strings.Cut(strings.TrimSpace(part), "=")
		if !named {
			kind, count = "default", kind
		}
		n, err := strconv.Atoi(strings.TrimSpace(count))
		kind = strings.TrimSpace(kind)
		if _, twice := slots[kind]; err != nil || n < 0 || kind == "" || twice {
			return nil, fmt.Errorf("%q are no slots: write a number, or kinds with numbers such as default=4,map=2", s)
		}
		slots[kind] = n
	}
	return slots, nil
}

// Resources are amounts of countable resources by kind; in text "gpu:4,license-x:10".
type Resources map[string]int

// ParseResources reads resources from one string.
func ParseResources(s string) (Resources, error) {
	parsed, err := scheduler.ParseResources(s)
	if err != nil {
		return nil, err
	}
	all := Resources{}
	for _, c := range parsed.Counts() {
		all[c.Kind] = c.Count
	}
	return all, nil
}

// resourcesOf reads amounts by kind.
func resourcesOf(values map[string]any) (Resources, error) {
	all := Resources{}
	for _, kind := range slices.Sorted(maps.Keys(values)) {
		n, err := strconv.Atoi(fmt.Sprint(values[kind]))
		if err != nil {
			return nil, fmt.Errorf("%s is no amount of resource %q: write a number such as 4", inText(values[kind]), kind)
		}
		if err := scheduler.CheckResources([]scheduler.ResourceCount{{Kind: kind, Count: n}}); err != nil {
			return nil, err
		}
		all[kind] = n
	}
	return all, nil
}

// decodeText turns texts into the types of this package. It refuses values that the decoder would
// quietly convert: a bare number as a duration, a fraction as a count.
func decodeText(from, to reflect.Type, value any) (any, error) {
	switch to {
	case reflect.TypeFor[Size]():
		switch v := value.(type) {
		case string:
			return ParseSize(v)
		case int, int64, uint64, float64:
			return ParseSize(fmt.Sprint(v))
		}
		return nil, fmt.Errorf("%v is no size: write one such as 256MiB", value)
	case reflect.TypeFor[time.Duration]():
		text, ok := value.(string)
		d, err := time.ParseDuration(text)
		if !ok || err != nil {
			return nil, fmt.Errorf("%v is no duration: write a number with a unit, such as 500ms, 30s or 5m", value)
		}
		return d, nil
	case reflect.TypeFor[Slots]():
		switch v := value.(type) {
		case string:
			return ParseSlots(v)
		case int:
			return ParseSlots(strconv.Itoa(v))
		case map[string]any:
			return slotsOf(v)
		}
		return nil, fmt.Errorf("%s are no slots: write a number, or kinds with numbers such as default=4,map=2", inText(value))
	}
	if to == reflect.TypeFor[Resources]() {
		switch v := value.(type) {
		case string:
			return ParseResources(v)
		case map[string]any:
			return resourcesOf(v)
		}
		return nil, fmt.Errorf("%s are no resources: write kinds with numbers such as gpu:4,license-x:10", inText(value))
	}
	if text, is := value.(string); is && to.Kind() == reflect.Int64 { // all are numbers of bytes
		size, err := ParseSize(text)
		return int64(size), err
	}
	if err := simple(to, value); err != nil {
		return nil, err
	}
	if text, ok := value.(string); ok && to == reflect.TypeFor[[]string]() {
		if text == "" {
			return []string{}, nil
		}
		return strings.Split(text, ","), nil
	}
	return value, nil
}

// slotsOf reads slots by kind.
func slotsOf(values map[string]any) (Slots, error) {
	slots := Slots{}
	for _, kind := range slices.Sorted(maps.Keys(values)) {
		n, err := strconv.Atoi(fmt.Sprint(values[kind]))
		if err != nil || n < 0 || kind == "" {
			return nil, fmt.Errorf("%s are no slots of kind %q: write a number such as 4", inText(values[kind]), kind)
		}
		slots[kind] = n
	}
	return slots, nil
}

// simple says why a value is not of a simple type, in place of the decoder's words.
func simple(to reflect.Type, value any) error {
	kind := reflect.ValueOf(value).Kind()
	several := kind == reflect.Map || kind == reflect.Slice
	text, isText := value.(string)
	switch {
	case isInteger(to):
		if isText {
			_, err := strconv.ParseInt(text, 0, 64)
			several = err != nil
		}
		if f, ok := value.(float64); several || ok && f != math.Trunc(f) {
			return fmt.Errorf("%s is no whole number: write one such as 5", inText(value))
		}
	case to.Kind() == reflect.Bool:
		if isText {
			_, err := strconv.ParseBool(text)
			several = err != nil
		}
		if several {
			return fmt.Errorf("%s is neither true nor false: write one of the two", inText(value))
		}
	case to.Kind() == reflect.String && several:
		return fmt.Errorf("%s stands where one value has to: write that alone", inText(value))
	case to == reflect.TypeFor[[]string]() && kind == reflect.Map:
		return fmt.Errorf("%s stands where a list has to: write [a, b]", inText(value))
	case to.Kind() == reflect.Struct && kind != reflect.Map:
		return fmt.Errorf("%s is a single value, and this takes several by their names", inText(value))
	}
	return nil
}

// inText is a value as a message repeats it.
func inText(value any) string {
	switch reflect.ValueOf(value).Kind() {
	case reflect.Map:
		return "what has keys of its own"
	case reflect.Slice:
		return "a list"
	case reflect.String:
		return fmt.Sprintf("%.64q", value)
	case reflect.Invalid:
		return "nothing"
	}
	return fmt.Sprintf("%.64s", fmt.Sprint(value))
}

func isInteger(t reflect.Type) bool {
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64
}

package config

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
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

// decodeText turns texts into the types of this package, and refuses what the
// decoder would quietly bend: a bare number as a duration, a fraction as a count.
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
		}
	}
	if f, ok := value.(float64); ok && isInteger(to) && f != math.Trunc(f) {
		return nil, fmt.Errorf("%v is no whole number", value)
	}
	if text, ok := value.(string); ok && to == reflect.TypeFor[[]string]() {
		if text == "" {
			return []string{}, nil
		}
		return strings.Split(text, ","), nil
	}
	return value, nil
}

func isInteger(t reflect.Type) bool {
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64
}

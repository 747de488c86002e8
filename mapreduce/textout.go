package mapreduce

import (
	"fmt"
	"reflect"
	"strconv"
)

// appendText returns the formatter of values in text output.
func appendText[T any]() func(dst []byte, v T) []byte {
	var zero T
	var f any
	switch any(zero).(type) {
	case string:
		f = func(b []byte, v string) []byte { return append(b, v...) }
	case []byte:
		f = func(b, v []byte) []byte { return append(b, v...) }
	case int64:
		f = func(b []byte, v int64) []byte { return strconv.AppendInt(b, v, 10) }
	case int:
		f = func(b []byte, v int) []byte { return strconv.AppendInt(b, int64(v), 10) }
	case float64:
		f = func(b []byte, v float64) []byte { return strconv.AppendFloat(b, v, 'g', -1, 64) }
	default:
		return func(b []byte, v T) []byte { return fmt.Append(b, v) }
	}
	return f.(func([]byte, T) []byte)
}

// textable refuses types that fmt would print as an address, which is meaningless and differs in
// each run.
func textable[T any]() error {
	w := textWalk{seen: map[textSeen]bool{}}
	path, bad := w.address(reflect.TypeFor[T](), "", false)
	if bad == nil {
		return nil
	}
	return fmt.Errorf("text of type %s would show an address, that of%s (%s): give the type a String method, set Output, or emit a string", reflect.TypeFor[T](), path, bad)
}

var printers = []reflect.Type{reflect.TypeFor[fmt.Formatter](), reflect.TypeFor[error](), reflect.TypeFor[fmt.Stringer]()}

// textWalk walks a type as fmt walks a value.
type textWalk struct {
	seen  map[textSeen]bool
	depth int
}

type textSeen struct {
	reflect.Type
	hidden bool
}

// address finds what would be printed as an address. Below an unexported field fmt calls no
// methods.
func (w *textWalk) address(t reflect.Type, path string, hidden bool) (string, reflect.Type) {
	for _, p := range printers {
		if !hidden && t.Implements(p) {
			return "", nil
		}
	}
	if w.seen[textSeen{t, hidden}] {
		return "", nil // it contains itself
	}
	w.seen[textSeen{t, hidden}] = t.Kind() != reflect.Pointer // for a pointer the result depends on the depth
	w.depth++
	defer func() { w.depth-- }()
	switch t.Kind() {
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return path, t
	case reflect.Pointer:
		switch t.Elem().Kind() {
		case reflect.Struct, reflect.Map, reflect.Slice, reflect.Array: // fmt follows one pointer
			if w.depth == 1 {
				return w.address(t.Elem(), path, hidden)
			}
		}
		return path, t
	case reflect.Slice, reflect.Array:
		return w.address(t.Elem(), path+" []", hidden)
	case reflect.Map:
		if path, bad := w.address(t.Key(), path+" [key]", hidden); bad != nil {
			return path, bad
		}
		return w.address(t.Elem(), path+" []", hidden)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if path, bad := w.address(f.Type, path+" "+f.Name, hidden || !f.IsExported()); bad != nil {
				return path, bad
			}
		}
	}
	return "", nil
}

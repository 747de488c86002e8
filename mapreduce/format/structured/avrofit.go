package structured

import (
	"encoding"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hamba/avro/v2"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// avroFit compares a schema with a program's type. hamba/avro refuses many types that do not fit,
// but only when it meets such a value. It also truncates some numbers, and skips fields that only
// the schema or only the type has.
type avroFit struct {
	writing bool
	within  []avroPair // pairs being compared: types may contain themselves
}

type avroPair struct {
	schema avro.Schema
	of     reflect.Type
}

// avroFits returns an error if values of the schema can't be read into the type, or, when writing,
// if values of the type can't be written by the schema.
func avroFits(schema avro.Schema, of reflect.Type, writing bool) error {
	f := avroFit{writing: writing}
	return job.Permanent(f.fits("", schema, of))
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	ratType      = reflect.TypeFor[big.Rat]()
)

// fits compares a schema with a type, both at a path from the record.
func (f *avroFit) fits(path string, schema avro.Schema, of reflect.Type) error {
	if ref, is := schema.(*avro.RefSchema); is {
		schema = ref.Schema()
	}
	pair := avroPair{schema, of}
	if of.Kind() == reflect.Interface || slices.Contains(f.within, pair) || f.custom(schema, of) {
		return nil
	}
	f.within = append(f.within, pair)
	defer func() { f.within = f.within[:len(f.within)-1] }()
	switch s := schema.(type) {
	case *avro.UnionSchema:
		return f.union(path, s, of)
	case *avro.RecordSchema:
		if of.Kind() == reflect.Pointer {
			return f.fits(path, schema, of.Elem())
		}
		if of.Kind() == reflect.Struct {
			return f.record(path, s, of)
		}
		if of.Kind() == reflect.Map {
			return nil // a map of any, as hamba reads records
		}
	case *avro.ArraySchema:
		if of.Kind() == reflect.Slice {
			return f.fits(path+"[]", s.Items(), of.Elem())
		}
	case *avro.MapSchema:
		if of.Kind() == reflect.Map {
			return f.fits(path+"{}", s.Values(), of.Elem())
		}
	case *avro.EnumSchema:
		if of.Kind() == reflect.String {
			return nil
		}
	default:
		if f.leaf(schema, of) {
			return nil
		}
	}
	return f.mismatch(path, schema, of)
}

// custom reports whether a type has its own text or union conversion.
func (f *avroFit) custom(schema avro.Schema, of reflect.Type) bool {
	is := func(t reflect.Type) bool { return of.Implements(t) || reflect.PointerTo(of).Implements(t) }
	switch schema.Type() {
	case avro.String, avro.Enum:
		return is(reflect.TypeFor[encoding.TextUnmarshaler]()) || is(reflect.TypeFor[encoding.TextMarshaler]())
	case avro.Union:
		return is(reflect.TypeFor[avro.UnionConverter]())
	}
	return false
}

// union compares a union: a type and null fit a pointer or slice, other unions fit any.
func (f *avroFit) union(path string, u *avro.UnionSchema, of reflect.Type) error {
	switch of.Kind() {
	case reflect.Map:
		return nil // keyed by the name of the type, as hamba has it
	case reflect.Pointer, reflect.Slice:
		if u.Nullable() {
			_, at := u.Indices()
			if of.Kind() == reflect.Pointer && (of.Elem() != ratType || !f.leaf(u.Types()[at], of)) {
				of = of.Elem()
			}
			return f.fits(path, u.Types()[at], of)
		}
	}
	return f.mismatch(path, u, of)
}

// record compares all fields of a record. Exceptions: when reading, fields that only the file has,
// and the program's fields that are pointers; when writing, the schema's fields that have a
// default.
func (f *avroFit) record(path string, r *avro.RecordSchema, of reflect.Type) error {
	fields := map[string]reflect.StructField{}
	if err := avroFields(of, fields); err != nil {
		return fmt.Errorf("the program's %s: %w", of, err)
	}
	schema := map[string]bool{}
	for _, s := range r.Fields() {
		name := s.Name()
		for _, alias := range s.Aliases() {
			if _, own := fields[name]; !own && !f.writing {
				name = alias
			}
		}
		schema[name] = true
		if own, ok := fields[name]; ok {
			if err := f.fits(join(path, name), s.Type(), own.Type); err != nil {
				return err
			}
		} else if f.writing && !s.HasDefault() {
			return fmt.Errorf("the schema has a field %q without a default, which the program's %s has not", join(path, name), of)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch own := fields[name]; {
		case schema[name]:
		case f.writing:
			return fmt.Errorf("the program's %s has a field %q, which the schema has not, so it would be lost: give it the tag avro:\"-\", or add it to the schema", of, name)
		case own.Type.Kind() != reflect.Pointer:
			return fmt.Errorf("the file has no field %q, which the program reads into %s: it has %s. A field may be missing only where it is a pointer",
				join(path, name), own.Type, avroNames(r))
		}
	}
	return nil
}

// avroFields finds a struct's fields by name, as hamba does: fields of embedded structs count as
// the struct's own.
func avroFields(of reflect.Type, fields map[string]reflect.StructField) error {
	for i := range of.NumField() {
		s := of.Field(i)
		name, tagged := s.Tag.Lookup("avro")
		if name, _, _ = strings.Cut(name, ","); !tagged {
			name = s.Name
		}
		inner := s.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "-":
		case s.Anonymous && inner.Kind() == reflect.Struct:
			if err := avroFields(inner, fields); err != nil {
				return err
			}
		case !s.IsExported():
			return fmt.Errorf("its field %s is not exported, so it would be lost: begin its name with a capital, or give it the tag avro:\"-\"", s.Name)
		default:
			fields[name] = s
		}
	}
	return nil
}

// leaf reports whether a type holds a schema's values, or, when writing, the reverse.
func (f *avroFit) leaf(schema avro.Schema, of reflect.Type) bool {
	as := avroLogical(schema)
	if as == avro.Decimal && (of == ratType || of == reflect.PointerTo(ratType)) {
		return true
	}
	k := of.Kind()
	switch schema.Type() {
	case avro.Null:
		return k == reflect.Pointer
	case avro.Boolean:
		return k == reflect.Bool
	case avro.String:
		return k == reflect.String
	case avro.Bytes:
		return k == reflect.Slice && of.Elem().Kind() == reflect.Uint8
	case avro.Float:
		return k == reflect.Float32
	case avro.Double:
		return k == reflect.Float64 || f.writing && k == reflect.Float32
	case avro.Fixed:
		size := schema.(*avro.FixedSchema).Size()
		return k == reflect.Array && of.Elem().Kind() == reflect.Uint8 && of.Len() == size ||
			k == reflect.Uint64 && size == 8 || as == avro.Duration && of.ConvertibleTo(reflect.TypeFor[avro.LogicalDuration]())
	case avro.Int:
		return avroInt(as, of, f.writing)
	case avro.Long:
		return avroLongFits(as, of, f.writing)
	}
	return false
}

func avroInt(as avro.LogicalType, of reflect.Type, writing bool) bool {
	switch of.Kind() {
	case reflect.Int32:
		return true
	case reflect.Int:
		return !writing
	case reflect.Int8, reflect.Int16, reflect.Uint8, reflect.Uint16:
		return writing
	case reflect.Int64:
		return as == avro.TimeMillis && of == durationType
	}
	return as == avro.Date && of.ConvertibleTo(timeType)
}

func avroLongFits(as avro.LogicalType, of reflect.Type, writing bool) bool {
	switch of.Kind() {
	case reflect.Int:
		return of.Size() == 8 || writing
	case reflect.Int64:
		return (as == avro.TimeMicros) == (of == durationType) || as == "" // hamba counts nanoseconds then
	case reflect.Int32, reflect.Uint32:
		return writing
	}
	return as != "" && as != avro.TimeMicros && of.ConvertibleTo(timeType)
}

func avroLogical(schema avro.Schema) avro.LogicalType {
	if s, is := schema.(avro.LogicalTypeSchema); is && s.Logical() != nil {
		return s.Logical().Type()
	}
	return ""
}

func (f *avroFit) mismatch(path string, schema avro.Schema, of reflect.Type) error {
	kind := string(schema.Type())
	if as := avroLogical(schema); as != "" {
		kind += " (" + string(as) + ")"
	}
	if u, is := schema.(*avro.UnionSchema); is {
		kind = "union of " + u.String()
	}
	where := "the record"
	if path != "" {
		where = fmt.Sprintf("field %q", path)
	}
	if f.writing {
		return fmt.Errorf("%s is %s in the schema, and %s in the program: give both a type that holds all values", where, kind, of)
	}
	return fmt.Errorf("%s is Avro's %s, the program reads it as %s: give it a type that holds all values, such as int64 for long, and a pointer for a union with null", where, kind, of)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func avroNames(r *avro.RecordSchema) string {
	var all []string
	for _, f := range r.Fields() {
		all = append(all, f.Name())
	}
	return strings.Join(all, ", ")
}

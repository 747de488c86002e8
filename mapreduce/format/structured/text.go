package structured

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hamba/avro/v2"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// checkText refuses text that is not UTF-8, as strings of Avro and Parquet must be.
func checkText(text string) error {
	if utf8.ValidString(text) {
		return nil
	}
	return fmt.Errorf("is %.60q, which is not UTF-8, and a string of the format must be: make it a []byte, and bytes in the schema, or convert it", text)
}

// at adds a field's name to an error.
func at(name string, err error) error {
	if err == nil {
		return nil
	}
	var rest fieldError
	if errors.As(err, &rest) {
		return fieldError{name + "." + rest.path, rest.error}
	}
	return fieldError{name, err}
}

type fieldError struct {
	path string
	error
}

func (e fieldError) Error() string { return "field " + e.path + " " + e.error.Error() }
func (e fieldError) Unwrap() error { return e.error }

// rule checks a value. It returns the value to write instead, or same. A nil rule accepts every
// value.
type rule func(v reflect.Value) (reflect.Value, error)

// same stands for the unchanged value.
var same reflect.Value

// dynamic is the rule of values whose type the schema does not fix: those within any.
func dynamic(v reflect.Value) (reflect.Value, error) { return same, checkAny(v) }

func checkAny(v reflect.Value) (err error) {
	switch v.Kind() {
	case reflect.String:
		return checkText(v.String())
	case reflect.Interface, reflect.Pointer:
		return checkAny(v.Elem())
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() < reflect.Array { // numbers
			return nil
		}
		for i := 0; i < v.Len() && err == nil; i++ {
			err = checkAny(v.Index(i))
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			if err = checkAny(key); err == nil {
				err = at(fmt.Sprint(key), checkAny(value))
			}
			if err != nil {
				break
			}
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && err == nil; i++ {
			if v.Type().Field(i).IsExported() {
				err = at(v.Type().Field(i).Name, checkAny(v.Field(i)))
			}
		}
	}
	return err
}

// avroRules makes rules of a schema and the type that is written by it.
type avroRules struct{ made map[avroPair]*rule }

func (a *avroRules) of(schema avro.Schema, t reflect.Type) rule {
	if ref, is := schema.(*avro.RefSchema); is {
		schema = ref.Schema()
	}
	pair := avroPair{schema, t}
	if r, is := a.made[pair]; is { // a type that contains itself: its rule is already being made
		return func(v reflect.Value) (reflect.Value, error) {
			if *r == nil {
				return same, nil
			}
			return (*r)(v)
		}
	}
	r := new(rule)
	a.made[pair] = r
	*r = a.make(schema, t)
	delete(a.made, pair)
	return *r
}

func (a *avroRules) make(schema avro.Schema, t reflect.Type) rule {
	if t.Kind() == reflect.Interface {
		return dynamic
	}
	switch s := schema.(type) {
	case *avro.UnionSchema:
		if _, at := s.Indices(); s.Nullable() && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice) {
			return a.of(s.Types()[at], t)
		}
		return dynamic
	case *avro.RecordSchema:
		switch t.Kind() {
		case reflect.Pointer:
			return pointed(a.of(s, t.Elem()))
		case reflect.Struct:
			return a.record(s, t)
		}
		return dynamic
	case *avro.ArraySchema:
		if t.Kind() == reflect.Pointer {
			return pointed(a.of(s, t.Elem()))
		}
		return listed(a.of(s.Items(), t.Elem()))
	case *avro.MapSchema:
		if t.Kind() == reflect.Pointer {
			return pointed(a.of(s, t.Elem()))
		}
		return mapped(a.of(s.Values(), t.Elem()))
	}
	if t.Kind() == reflect.Pointer {
		return pointed(a.of(schema, t.Elem()))
	}
	switch as := avroLogical(schema); {
	case schema.Type() == avro.String && t.Kind() == reflect.String:
		return func(v reflect.Value) (reflect.Value, error) { return same, checkText(v.String()) }
	case as == avro.Date && t.ConvertibleTo(timeType):
		return floorDate
	case (as == avro.TimeMillis || as == avro.TimeMicros) && t == durationType:
		return timeOfDay
	}
	return nil
}

// record is the rule of a struct: those of its fields.
func (a *avroRules) record(s *avro.RecordSchema, t reflect.Type) rule {
	var all []ruled
	for i := range t.NumField() {
		f := t.Field(i)
		name, tagged := f.Tag.Lookup("avro")
		if name, _, _ = strings.Cut(name, ","); !tagged {
			name = f.Name
		}
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		var r rule
		if f.Anonymous && inner.Kind() == reflect.Struct && name != "-" { // its fields are the record's
			r = a.of(s, f.Type)
		} else if at := slices.IndexFunc(s.Fields(), func(f *avro.Field) bool { return f.Name() == name }); at >= 0 {
			r = a.of(s.Fields()[at].Type(), f.Type)
		}
		if r != nil {
			all = append(all, ruled{i, name, r})
		}
	}
	return structured(t, all)
}

// ruled is a field of a struct with its rule.
type ruled struct {
	index int
	name  string
	rule  rule
}

// structured is the rule of a struct whose fields have the given rules.
func structured(t reflect.Type, all []ruled) rule {
	if all == nil {
		return nil
	}
	return func(v reflect.Value) (reflect.Value, error) {
		var out reflect.Value
		for _, f := range all {
			field := v.Field(f.index)
			now, err := f.rule(field)
			if err != nil {
				return same, at(f.name, err)
			}
			if !now.IsValid() {
				continue
			}
			if !out.IsValid() { // do not change the author's value
				out = reflect.New(t).Elem()
				out.Set(v)
			}
			out.Field(f.index).Set(now)
		}
		return out, nil
	}
}

func pointed(r rule) rule {
	if r == nil {
		return nil
	}
	return func(v reflect.Value) (reflect.Value, error) {
		if v.IsNil() {
			return same, nil
		}
		now, err := r(v.Elem())
		if err != nil || !now.IsValid() {
			return same, err
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(now)
		return out, nil
	}
}

func listed(r rule) rule {
	if r == nil {
		return nil
	}
	return func(v reflect.Value) (reflect.Value, error) {
		var out reflect.Value
		for i := range v.Len() {
			now, err := r(v.Index(i))
			if err != nil {
				return same, err
			}
			if !now.IsValid() {
				continue
			}
			if !out.IsValid() {
				out = reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v)
			}
			out.Index(i).Set(now)
		}
		return out, nil
	}
}

// mapped is the rule of a map, whose keys are strings of the format.
func mapped(r rule) rule {
	return func(v reflect.Value) (reflect.Value, error) {
		var out reflect.Value
		for key, value := range v.Seq2() {
			if err := checkAny(key); err != nil {
				return same, err
			}
			if r == nil {
				continue
			}
			now, err := r(value)
			if err != nil {
				return same, at(fmt.Sprint(key), err)
			}
			if !now.IsValid() {
				continue
			}
			if !out.IsValid() {
				out = reflect.MakeMap(v.Type())
				for key, value := range v.Seq2() {
					out.SetMapIndex(key, value)
				}
			}
			out.SetMapIndex(key, now)
		}
		return out, nil
	}
}

const daySeconds = 24 * 60 * 60

// floorDate moves a time before 1970 to the beginning of its day: hamba/avro divides towards zero,
// which gives the day after.
func floorDate(v reflect.Value) (reflect.Value, error) {
	t := v.Convert(timeType).Interface().(time.Time)
	begin, is := beginOfDay(t)
	if !is {
		return same, nil
	}
	return reflect.ValueOf(begin).Convert(v.Type()), nil
}

// beginOfDay returns the beginning of the day, in UTC, for a time before 1970; false if the time
// itself is right.
func beginOfDay(t time.Time) (time.Time, bool) {
	over := t.Unix() % daySeconds
	if over >= 0 {
		return t, false
	}
	return time.Unix(t.Unix()-over-daySeconds, 0).UTC(), true
}

// timeOfDay refuses durations that are no time of day, which hamba/avro would truncate.
func timeOfDay(v reflect.Value) (reflect.Value, error) {
	if d := time.Duration(v.Int()); d < 0 || d >= 24*time.Hour {
		return same, fmt.Errorf("is %v, and a time of day goes from 0 to below 24h: use a long for other durations", d)
	}
	return same, nil
}

// dates and datesOfUnions convert times within any, which hamba/avro passes to converters.
var dates = avro.TypeConversionFuncs{
	AvroType: avro.Int, AvroLogicalType: avro.Date,
	EncoderTypeConversion: func(in any, _ avro.Schema) (any, error) { return floorAny(in), nil },
}

var datesOfUnions = avro.TypeConversionFuncs{
	AvroType: avro.Union,
	EncoderTypeConversion: func(in any, union avro.Schema) (any, error) {
		for _, member := range union.(*avro.UnionSchema).Types() {
			switch as := avroLogical(member); {
			case as == avro.Date:
				return floorAny(in), nil
			case as != "":
				return in, nil // hamba/avro writes the first type of the union that fits a time
			}
		}
		return in, nil
	},
}

func floorAny(in any) any {
	if t, is := in.(time.Time); is {
		in, _ = beginOfDay(t)
	}
	return in
}

// textTags are the tags of a field of a Parquet row, and those of its parts.
type textTags struct{ own, element, key, value []string }

func textTagsOf(f reflect.StructField) textTags {
	options := func(key string) []string {
		_, options, _ := strings.Cut(f.Tag.Get(key), ",")
		return strings.Split(options, ",")
	}
	return textTags{options("parquet"), options("parquet-element"), options("parquet-key"), options("parquet-value")}
}

// textRule is the rule for values of a type that Parquet columns are made of; nil if they hold no
// text.
func textRule(t reflect.Type, tags textTags) rule {
	raw := slices.ContainsFunc(tags.own, func(tag string) bool { return tag == "bytes" || tag == "json" || tag == "uuid" || tag == "variant" })
	switch t.Kind() {
	case reflect.String:
		if raw {
			return nil
		}
		return func(v reflect.Value) (reflect.Value, error) { return same, checkText(v.String()) }
	case reflect.Pointer:
		return pointed(textRule(t.Elem(), tags))
	case reflect.Slice:
		switch {
		case t.Elem().Kind() == reflect.Uint8 && slices.Contains(tags.own, "string"):
			return func(v reflect.Value) (reflect.Value, error) { return same, checkText(string(v.Bytes())) }
		case t.Elem().Kind() == reflect.Uint8 || raw:
			return nil
		case slices.Contains(tags.own, "list"):
			return listed(textRule(t.Elem(), textTags{own: tags.element}))
		}
		return listed(textRule(t.Elem(), tags))
	case reflect.Map:
		if raw {
			return nil
		}
		return mappedText(textRule(t.Key(), textTags{own: tags.key}), textRule(t.Elem(), textTags{own: tags.value}))
	case reflect.Struct:
		if t != timeType && !raw {
			return textFields(t)
		}
	}
	return nil
}

// textFields is the rule of a struct: those of its fields.
func textFields(t reflect.Type) rule {
	var all []ruled
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		if !f.IsExported() && !f.Anonymous || name == "-" {
			continue
		}
		if r := textRule(f.Type, textTagsOf(f)); r != nil {
			all = append(all, ruled{i, f.Name, r})
		}
	}
	return structured(t, all)
}

func mappedText(key, value rule) rule {
	if key == nil && value == nil {
		return nil
	}
	return func(v reflect.Value) (reflect.Value, error) {
		for k, e := range v.Seq2() {
			if key != nil {
				if _, err := key(k); err != nil {
					return same, err
				}
			}
			if value != nil {
				if _, err := value(e); err != nil {
					return same, at(fmt.Sprint(k), err)
				}
			}
		}
		return same, nil
	}
}

// unwritable is the error of a record that breaks a rule.
func unwritable(what string, err error) error {
	return job.Permanent(fmt.Errorf("%s can't be written: %w", what, err))
}

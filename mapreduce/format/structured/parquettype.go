package structured

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// schemaFor returns the schema that parquet-go makes of a program's type.
func schemaFor[T any](of string) (s *parquet.Schema, err error) {
	t := reflect.TypeFor[T]()
	defer func() {
		if p := recover(); p != nil { // the library panics on types and tags that it refuses
			err = job.Permanent(fmt.Errorf("rows of Parquet as %s can't be of type %s: %v", of, t, p))
		}
	}()
	if err := eachField(t, nil, nil, checkField); err != nil {
		return nil, job.Permanent(fmt.Errorf("rows of Parquet as %s can't be of type %s: %w", of, t, err))
	}
	return parquet.SchemaOf(new(T)), nil
}

// field is a field of a struct within a program's type.
type field struct {
	reflect.StructField
	path    []string // names in Go
	of      reflect.Type
	options []string // options of the tag
}

// eachField calls check for the fields of a type and of its parts. within are the structs that
// enclose t.
func eachField(t reflect.Type, path []string, within []reflect.Type, check func(f field) error) error {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return eachField(t.Elem(), path, within, check)
	case reflect.Map:
		return errors.Join(eachField(t.Key(), path, within, check), eachField(t.Elem(), path, within, check))
	case reflect.Struct:
	default:
		return nil
	}
	if t == reflect.TypeFor[time.Time]() || slices.Contains(within, t) {
		return nil
	}
	within = append(slices.Clip(within), t)
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		if name == "-" && options == "" && f.Tag.Get("parquet") == "-" {
			continue
		}
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		path := append(slices.Clip(path), f.Name)
		if err := check(field{f, path, of, strings.Split(options, ",")}); err != nil {
			return fmt.Errorf("its field %s %w", strings.Join(path, "."), err)
		}
		if !slices.Contains(strings.Split(options, ","), "json") {
			if err := eachField(f.Type, path, within, check); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkField refuses fields that parquet-go skips, or reads and writes as other numbers.
func checkField(f field) error {
	if !f.IsExported() && !f.Anonymous {
		return errors.New("is not exported, so it would be lost: begin its name with a capital, or give it the tag parquet:\"-\"")
	}
	if f.of.Kind() == reflect.Interface {
		return fmt.Errorf("is of type %s, of which nothing is kept: give it the type of its values", f.Type)
	}
	if f.of.Kind() == reflect.Slice && f.of.Elem().Kind() == reflect.Uint8 && slices.Contains(f.options, "list") {
		return errors.New("is bytes with the tag list, of which parquet-go v0.32.0 writes nothing: leave the tag out")
	}
	if f.of.Kind() == reflect.Map && strings.TrimLeft(f.of.Elem().String(), "*") == "time.Time" {
		return errors.New("is a map of times, which parquet-go v0.32.0 can't read: let the map's values be structs that have the times")
	}
	for _, option := range f.options {
		name, _, sized := strings.Cut(option, "(")
		if !sized || name != "int" && name != "uint" {
			continue
		}
		k := f.of.Kind()
		goes := fmt.Sprintf("uint(%d)", f.of.Size()*8)
		if reflect.Int <= k && k <= reflect.Int64 {
			goes = goes[1:]
		}
		if option != goes {
			return fmt.Errorf("is of type %s and has the tag %s, which would change numbers: leave that out, or change the type", f.Type, option)
		}
	}
	return nil
}

// writable refuses types that parquet-go writes wrongly.
func writable(t reflect.Type) error {
	return eachField(t, nil, nil, func(f field) error {
		if f.of == reflect.TypeFor[time.Time]() && slices.Contains(f.options, "date") {
			return errors.New("is a time with the tag date, which parquet-go v0.32.0 writes wrong: use an int32 of days since 1970-01-01 with that tag")
		}
		if f.Type == reflect.TypeFor[time.Time]() && slices.Contains(f.options, "optional") && len(f.path) > 1 {
			return errors.New("is an optional time, which parquet-go v0.32.0 writes as null within a list, a map or a pointer: make it a *time.Time")
		}
		if f.of.Kind() == reflect.String && slices.Contains(f.options, "uuid") {
			return errors.New("is text with the tag uuid, of which parquet-go v0.32.0 writes other bytes: use a [16]byte or a uuid.UUID")
		}
		return nil
	})
}

// hasTimes reports whether values of a type may have times. within are the structs that enclose t.
func hasTimes(t reflect.Type, within []reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return hasTimes(t.Elem(), within)
	case reflect.Map:
		return hasTimes(t.Key(), within) || hasTimes(t.Elem(), within)
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return true
		}
		if slices.Contains(within, t) {
			return false
		}
		for i := range t.NumField() {
			if hasTimes(t.Field(i).Type, append(slices.Clip(within), t)) {
				return true
			}
		}
	}
	return false
}

// timesFit refuses times that are written as nanoseconds, as those without a tag are, and are
// outside that unit's range. tags are those of the field that has them.
func timesFit(v reflect.Value, tags []string) error {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return timesFit(v.Elem(), tags)
		}
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && v.Type().Elem().Kind() >= reflect.Array; i++ {
			if err := timesFit(v.Index(i), tags); err != nil {
				return err
			}
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			if err := errors.Join(timesFit(key, tags), timesFit(value, tags)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		if at, is := v.Interface().(time.Time); is {
			return timeFits(at, tags)
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				tag := f.Tag.Get("parquet") + "," + f.Tag.Get("parquet-element") + "," + f.Tag.Get("parquet-key") + "," + f.Tag.Get("parquet-value")
				if err := timesFit(v.Field(i), strings.Split(tag, ",")); err != nil {
					return fmt.Errorf("field %s: %w", f.Name, err)
				}
			}
		}
	}
	return nil
}

func timeFits(at time.Time, tags []string) error {
	for _, option := range tags {
		if name, args, _ := strings.Cut(option, "("); name == "timestamp" && !strings.HasPrefix(args, "nano") || option == "optional" && at.IsZero() {
			return nil
		}
	}
	if !time.Unix(0, at.UnixNano()).Equal(at) {
		return fmt.Errorf("the time %v can't be written in nanoseconds, which go from 1677 to 2262: give the field the tag timestamp(microsecond), or make it a pointer to leave it out", at)
	}
	return nil
}

package policy

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
)

// WrongSetting returns an error about one key at the top of a policy's settings. Policy.Check returns it, and the
// manager shows it with the key's line.
func WrongSetting(key, format string, args ...any) error {
	return &wrongSetting{key, fmt.Sprintf(format, args...)}
}

type wrongSetting struct{ key, message string }

func (w *wrongSetting) Error() string { return w.key + ": " + w.message }

// read returns the options of a configuration, or a scheduler.Problems.
func (p *Policy[O, S]) read(c scheduler.Config) (O, error) {
	o := clone(p.Options)
	if err := settings.Decode(c, &o); err != nil {
		return o, err
	}
	if p.Check == nil {
		return o, nil
	}
	return o, placed(c, p.Check(&o))
}

// placed gives the wrong settings of an error their lines.
func placed(c scheduler.Config, err error) error {
	var problems scheduler.Problems
	switch {
	case err == nil:
		return nil
	case errors.As(err, &problems): // such as those of settings.Checks, which has no lines here
		for i, p := range problems {
			if key, message, is := strings.Cut(p.Message, ": "); is && p.File == "" && p.Line == 0 {
				problems[i] = settings.At(c, key, message)
			}
		}
		return problems
	}
	for _, e := range split(err) {
		var w *wrongSetting
		if errors.As(e, &w) {
			problems = append(problems, settings.At(c, w.key, w.message))
		} else {
			problems = append(problems, scheduler.Problem{File: c.File, Message: e.Error()})
		}
	}
	return problems
}

// split returns the errors that were joined.
func split(err error) []error {
	if joined, is := err.(interface{ Unwrap() []error }); is {
		return joined.Unwrap()
	}
	return []error{err}
}

// clone returns a copy that shares no map, slice or pointer of exported fields. Decoding into it changes no default.
func clone[T any](x T) T {
	v := reflect.ValueOf(&x).Elem()
	deepen(v)
	return x
}

// deepen replaces what a value refers to by copies.
func deepen(v reflect.Value) {
	switch {
	case !v.CanSet():
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			deepen(v.Field(i))
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		to := reflect.New(v.Type().Elem())
		to.Elem().Set(v.Elem())
		deepen(to.Elem())
		v.Set(to)
	case v.Kind() == reflect.Slice && !v.IsNil():
		to := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(to, v)
		for i := range to.Len() {
			deepen(to.Index(i))
		}
		v.Set(to)
	case v.Kind() == reflect.Map && !v.IsNil():
		to := reflect.MakeMapWithSize(v.Type(), v.Len())
		for i := v.MapRange(); i.Next(); {
			x := reflect.New(v.Type().Elem()).Elem()
			x.Set(i.Value())
			deepen(x)
			to.SetMapIndex(i.Key(), x)
		}
		v.Set(to)
	}
}

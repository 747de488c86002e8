// Package declared carries the flags that a program declares, from the submitter to the job's
// workers.
//
//	f := declared.Watch(flag.CommandLine) // before the engine adds flags of its own
//	err := f.Parse(args)
//	settings, err := f.Settings() // at submission
//	err = declared.Apply(flag.CommandLine, settings) // in a worker
//
// Workers set the same values in the same order. So flag values that accumulate, and functions
// (flag.Func), see the same calls.
package declared

import (
	"flag"
	"fmt"
	"slices"
)

// Setting is one value given to a flag.
type Setting struct{ Name, Value string }

// Flags are the flags that a program declared. Not safe for concurrent use.
type Flags struct {
	set   *flag.FlagSet
	flags []*watched
}

// watched is one flag. It replaces the flag's value while the command line is parsed.
type watched struct {
	flag.Value
	of    *flag.Flag
	given []string
	seen  string // Value.String() after the last value was set
}

// Watch records the flags declared so far.
func Watch(set *flag.FlagSet) *Flags {
	f := &Flags{set: set}
	given := map[string]bool{}
	set.Visit(func(x *flag.Flag) { given[x.Name] = true })
	set.VisitAll(func(x *flag.Flag) {
		w := &watched{Value: x.Value, of: x, seen: x.Value.String()}
		if given[x.Name] { // set by an earlier Parse, which a worker does not see
			w.seen = x.DefValue
		}
		f.flags = append(f.flags, w)
	})
	return f
}

// Parse parses a command line, and records the values given.
func (f *Flags) Parse(args []string) error {
	for _, w := range f.flags {
		w.of.Value = w
	}
	usage := f.set.Usage
	defer func() { f.restore(); f.set.Usage = usage }()
	f.set.Usage = func() {
		f.restore() // help depends on the types of values
		usage()
	}
	return f.set.Parse(args)
}

func (f *Flags) restore() {
	for _, w := range f.flags {
		w.of.Value = w.Value
	}
}

// Set implements flag.Value.
func (w *watched) Set(value string) error {
	if err := w.Value.Set(value); err != nil {
		return err
	}
	w.given, w.seen = append(w.given, value), w.String()
	return nil
}

// IsBoolFlag implements the optional interface of package flag.
func (w *watched) IsBoolFlag() bool {
	b, ok := w.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// plain are the types of values that can be restored from their text.
var plain = []string{
	"*flag.boolValue", "*flag.durationValue", "*flag.float64Value", "*flag.int64Value", "*flag.intValue",
	"*flag.stringValue", "*flag.uint64Value", "*flag.uintValue", "flag.textValue",
}

// Settings are the values for workers. A flag that the program itself changed after parsing has its
// current value. It is an error if its text does not give that value.
func (f *Flags) Settings() ([]Setting, error) {
	var all []Setting
	for _, w := range f.flags {
		now := w.String()
		switch {
		case now == w.seen:
			for _, value := range w.given {
				all = append(all, Setting{w.of.Name, value})
			}
		case slices.Contains(plain, fmt.Sprintf("%T", w.Value)):
			all = append(all, Setting{w.of.Name, now})
		default:
			return nil, fmt.Errorf("the program changed the flag -%s itself, to %q: workers can't be told a value of type %T; give it on the command line, or in the job's arguments", w.of.Name, now, w.Value)
		}
	}
	return all, nil
}

// Apply sets the flags of a set from the submitter's settings, and makes flag.Args return args.
func Apply(set *flag.FlagSet, settings []Setting, args []string) error {
	if err := set.Parse(append([]string{"--"}, args...)); err != nil {
		return err
	}
	for _, s := range settings {
		if set.Lookup(s.Name) == nil {
			return fmt.Errorf("the flag -%s was given when the job was submitted, and a worker does not have it: define flags before app.Main or app.Drive, whatever the environment and the arguments are", s.Name)
		}
		if err := set.Set(s.Name, s.Value); err != nil {
			return fmt.Errorf("the flag -%s was %q when the job was submitted, and a worker refuses that: %w", s.Name, s.Value, err)
		}
	}
	return nil
}

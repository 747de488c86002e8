package app

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// hadoopName is the flag for one of Hadoop's settings.
const hadoopName = "D"

// hadoopHelp lists what hadoopSettings knows, for --help.
const hadoopHelp = "`NAME=VALUE` of a setting by Hadoop's name, older spellings too: mapreduce.job.queuename, .name, .priority, " +
	"mapreduce.{map,reduce}.maxattempts, .speculative, .memory.mb, .slots (the kind of slots that tasks take), and mapred.job.timestamp and .signature of a job that is signed by hand. May be repeated"

// hadoopSettings are the Hadoop settings that apply to any job, and what each of them sets.
var hadoopSettings = map[string]func(o *options, name, value string) error{
	"mapreduce.job.queuename": func(o *options, _, v string) error { return hadoopText(&o.pool, v) },
	"mapreduce.job.name":      func(o *options, _, v string) error { return hadoopText(&o.name, v) },
	"mapreduce.job.priority": func(o *options, _, v string) error {
		p, err := scheduler.ParsePriority(v)
		o.priority = int(p)
		return err
	},

	"mapreduce.map.maxattempts":    hadoopAttempts,
	"mapreduce.reduce.maxattempts": hadoopAttempts,
	"mapreduce.map.speculative":    hadoopSpeculative,
	"mapreduce.reduce.speculative": hadoopSpeculative,

	"mapreduce.map.slots":    func(o *options, _, v string) error { return o.slots.Set("map=" + v) },
	"mapreduce.reduce.slots": func(o *options, _, v string) error { return o.slots.Set("reduce=" + v) },

	"mapreduce.map.memory.mb":      hadoopProperty,
	"mapreduce.reduce.memory.mb":   hadoopProperty,
	scheduler.ProofTimestampHadoop: hadoopProperty,
	scheduler.ProofSignatureHadoop: hadoopProperty,
}

// hadoopSpellings are other names of hadoopSettings: the names before Hadoop 2 (Hadoop, "Deprecated
// Properties"), and the queue's name in the document of the dynamic priority scheduler (section
// 6.6).
var hadoopSpellings = map[string]string{
	"mapreduce.job.queue.name":                  "mapreduce.job.queuename",
	"mapred.job.queue.name":                     "mapreduce.job.queuename",
	"mapred.job.name":                           "mapreduce.job.name",
	"mapred.job.priority":                       "mapreduce.job.priority",
	"mapred.map.max.attempts":                   "mapreduce.map.maxattempts",
	"mapred.reduce.max.attempts":                "mapreduce.reduce.maxattempts",
	"mapred.map.tasks.speculative.execution":    "mapreduce.map.speculative",
	"mapred.reduce.tasks.speculative.execution": "mapreduce.reduce.speculative",
}

// setHadoop takes one of Hadoop's settings.
func (o *options) setHadoop(s string) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return errors.New("write it as NAME=VALUE")
	}
	known := name
	if new, old := hadoopSpellings[name]; old {
		known = new
	}
	set := hadoopSettings[known]
	if set == nil {
		return fmt.Errorf("no setting %s is known here: there are %s; give --property to tell a scheduling policy", name, strings.Join(slices.Sorted(maps.Keys(hadoopSettings)), ", "))
	}
	return set(o, known, value)
}

func hadoopText(to *string, value string) error {
	if value == "" {
		return errors.New("it can't be empty")
	}
	*to = value
	return nil
}

// hadoopAttempts raises the attempt limit; a job has one limit for all its stages.
func hadoopAttempts(o *options, _, value string) error {
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil || n == 0 {
		return fmt.Errorf("use a whole number from 1 to %d", math.MaxInt32)
	}
	o.attempts.set("", max(o.attempts[""], uint32(n)))
	return nil
}

func hadoopSpeculative(o *options, _, value string) error {
	if value != "true" && value != "false" {
		return errors.New("use true or false")
	}
	o.noSpeculation = o.noSpeculation || value == "false"
	return nil
}

// hadoopProperty passes a setting on as a property of the job; the last one given counts.
func hadoopProperty(o *options, name, value string) error {
	o.properties = slices.DeleteFunc(o.properties, func(p *wire.Property) bool { return p.Name == name })
	return o.properties.Set(name + "=" + value)
}

// splitHadoop splits -DNAME=VALUE, as Hadoop's users write it, into -D NAME=VALUE. It looks at the
// flags alone, which end at the first other argument. It changes nothing if the program declares
// -D.
func (o *options) splitHadoop(fs *flag.FlagSet, args []string) []string {
	if o.names[hadoopName] != hadoopName { // -D is the program's own
		return args
	}
	var out []string
	for i := 0; i < len(args); i++ {
		name, dash := strings.CutPrefix(args[i], "-")
		name = strings.TrimPrefix(name, "-")
		if !dash || name == "" {
			return append(out, args[i:]...)
		}
		name, _, given := strings.Cut(name, "=")
		f := fs.Lookup(name)
		if f == nil && given && strings.HasPrefix(args[i], "-"+hadoopName) {
			out = append(out, "-"+hadoopName, strings.TrimPrefix(args[i], "-"+hadoopName))
			continue
		}
		out = append(out, args[i])
		if b, ok := flagValue(f).(interface{ IsBoolFlag() bool }); f == nil || given || ok && b.IsBoolFlag() {
			continue
		}
		if i++; i < len(args) {
			out = append(out, args[i])
		}
	}
	return out
}

func flagValue(f *flag.Flag) flag.Value {
	if f == nil {
		return nil
	}
	return f.Value
}

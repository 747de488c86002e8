package streaming

import (
	"errors"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Names of settings that options set.
const (
	nameInputFormat  = "mapreduce.job.inputformat.class"
	nameOutputFormat = "mapreduce.job.outputformat.class"
	namePartitioner  = "mapreduce.job.partitioner.class"
	nameComparator   = "mapreduce.job.output.key.comparator.class"
	nameManager      = "mapreduce.jobtracker.address"
	nameFileSystem   = "fs.defaultFS"
	nameUser         = "mapreduce.job.user.name"
)

// oldNames are the names that settings had before Hadoop 2 (Hadoop, "Deprecated
// Properties"). Both are understood, and commands find both in their environment.
var oldNames = map[string]string{
	"mapreduce.input.fileinputformat.inputdir":                     "mapred.input.dir",
	"mapreduce.input.fileinputformat.split.maxsize":                "mapred.max.split.size",
	"mapreduce.input.fileinputformat.split.minsize":                "mapred.min.split.size",
	"mapreduce.input.keyvaluelinerecordreader.key.value.separator": "key.value.separator.in.input.line",
	"mapreduce.job.id":        "mapred.job.id",
	nameInputFormat:           "mapred.input.format.class",
	"mapreduce.job.maps":      "mapred.map.tasks",
	"mapreduce.job.name":      "mapred.job.name",
	nameComparator:            "mapred.output.key.comparator.class",
	nameOutputFormat:          "mapred.output.format.class",
	namePartitioner:           "mapred.partitioner.class",
	"mapreduce.job.priority":  "mapred.job.priority",
	"mapreduce.job.queuename": "mapred.job.queue.name",
	"mapreduce.job.reduce.slowstart.completedmaps":     "mapred.reduce.slowstart.completed.maps",
	"mapreduce.job.reduces":                            "mapred.reduce.tasks",
	nameUser:                                           "user.name",
	nameManager:                                        "mapred.job.tracker",
	nameFileSystem:                                     "fs.default.name",
	"mapreduce.map.failures.maxpercent":                "mapred.max.map.failures.percent",
	"mapreduce.map.input.file":                         "map.input.file",
	"mapreduce.map.input.length":                       "map.input.length",
	"mapreduce.map.input.start":                        "map.input.start",
	"mapreduce.map.maxattempts":                        "mapred.map.max.attempts",
	"mapreduce.map.output.compress":                    "mapred.compress.map.output",
	"mapreduce.map.output.compress.codec":              "mapred.map.output.compression.codec",
	"mapreduce.map.output.key.field.separator":         "map.output.key.field.separator",
	"mapreduce.map.skip.maxrecords":                    "mapred.skip.map.max.skip.records",
	"mapreduce.map.speculative":                        "mapred.map.tasks.speculative.execution",
	"mapreduce.output.fileoutputformat.compress":       "mapred.output.compress",
	"mapreduce.output.fileoutputformat.compress.codec": "mapred.output.compression.codec",
	"mapreduce.output.fileoutputformat.outputdir":      "mapred.output.dir",
	"mapreduce.output.textoutputformat.separator":      "mapred.textoutputformat.separator",
	"mapreduce.partition.keycomparator.options":        "mapred.text.key.comparator.options",
	"mapreduce.partition.keypartitioner.options":       "mapred.text.key.partitioner.options",
	"mapreduce.reduce.failures.maxpercent":             "mapred.max.reduce.failures.percent",
	"mapreduce.reduce.maxattempts":                     "mapred.reduce.max.attempts",
	"mapreduce.reduce.skip.maxgroups":                  "mapred.skip.reduce.max.skip.groups",
	"mapreduce.reduce.speculative":                     "mapred.reduce.tasks.speculative.execution",
	"mapreduce.task.attempt.id":                        "mapred.task.id",
	"mapreduce.task.id":                                "mapred.tip.id",
	"mapreduce.task.ismap":                             "mapred.task.is.map",
	"mapreduce.task.partition":                         "mapred.task.partition",
	"mapreduce.task.timeout":                           "mapred.task.timeout",
}

// newNames is the inverse of oldNames.
var newNames = func() map[string]string {
	names := map[string]string{
		"mapreduce.map.output.key.comparator.class": nameComparator,
		"mapreduce.job.inputformat":                 nameInputFormat,
		"mapreduce.job.queue.name":                  "mapreduce.job.queuename", // the dynamic priority scheduler's document
	}
	for name, old := range oldNames {
		names[old] = name
	}
	return names
}()

// setting is a name and its value.
type setting struct{ name, value string }

// configuration is the settings of a job, in the order in which they were given.
type configuration []setting

// set sets a setting by its old or new name; the last value wins.
func (c *configuration) set(name, value string) error {
	if strings.ContainsRune(value, 0) {
		return errors.New("a value can't hold a zero byte")
	}
	if name == "num.key.fields.for.partition" {
		name, value = "mapreduce.partition.keypartitioner.options", "-k1,"+value
	}
	if new, ok := newNames[name]; ok {
		name = new
	}
	if i := slices.IndexFunc(*c, func(s setting) bool { return s.name == name }); i >= 0 {
		(*c)[i].value = value
		return nil
	}
	*c = append(*c, setting{name, value})
	return nil
}

// get returns a setting's value, or "" if it is not set.
func (c configuration) get(name string) string {
	for _, s := range c {
		if s.name == name {
			return s.value
		}
	}
	return ""
}

// variableMax truncates the values of settings in the environment of commands, in bytes, as
// stream.jobconf.truncate.limit does in Hadoop by default.
const variableMax = 20_000

// environment returns the configuration as environment variables, old names too. Each character but
// letters and digits becomes an underscore.
func (c configuration) environment() []string {
	var env []string
	for _, s := range c {
		if scheduler.IsProof(s.name) { // only the manager may see it
			continue
		}
		value := s.value[:min(len(s.value), variableMax)]
		env = append(env, variable(s.name)+"="+value)
		if old := oldNames[s.name]; old != "" {
			env = append(env, variable(old)+"="+value)
		}
	}
	return env
}

// variable returns the name of a setting's environment variable.
func variable(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
}

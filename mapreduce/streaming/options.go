package streaming

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
)

// Job is a parsed streaming command line. It is immutable.
type Job struct {
	inputs    []string
	output    string
	mapper    program
	reducer   program
	combiner  program // no words: no combiner
	files     []file
	env       []string // of -cmdenv, NAME=value
	lazy      bool
	noSuspend bool
	// reduceBytes and splitKeys are as mapreduce.Settings has them.
	reduceBytes int64
	splitKeys   bool
	verbose     bool

	conf     configuration
	settings settings
	notes    []string
}

// ErrHelp is Parse's error for a command line that asks for Help.
var ErrHelp = errors.New("help is wanted")

// option is an option of the command line.
type option struct {
	name  string
	value string // name of its value; "" for none
	set   func(j *Job, value string) error
	// refused is why the option is not supported, and what to do instead; "" if it is supported.
	refused string
}

// options are Hadoop streaming's own and the generic ones of all its programs.
var options = []option{
	{name: "input", value: "PATH", set: func(j *Job, v string) error { j.inputs = append(j.inputs, splitPaths(v)...); return nil }},
	{name: "output", value: "PATH", set: func(j *Job, v string) error { j.output = v; return nil }},
	{name: "mapper", value: "COMMAND", set: (*Job).setMapper},
	{name: "reducer", value: "COMMAND", set: (*Job).setReducer},
	{name: "combiner", value: "COMMAND", set: (*Job).setCombiner},
	{name: "numReduceTasks", value: "N", set: conf("mapreduce.job.reduces")},
	{name: "numMapTasks", value: "N", set: conf("mapreduce.job.maps")},
	{name: "reduceBytes", value: "BYTES", set: func(j *Job, v string) error { return number(v, 1, math.MaxInt64, &j.reduceBytes) }},
	{name: "splitKeys", set: func(j *Job, _ string) error { j.splitKeys = true; return nil }},
	{name: "inputformat", value: "CLASS", set: conf(nameInputFormat)},
	{name: "outputformat", value: "CLASS", set: conf(nameOutputFormat)},
	{name: "partitioner", value: "CLASS", set: conf(namePartitioner)},
	{name: "cmdenv", value: "NAME=VALUE", set: (*Job).setEnv},
	{name: "file", value: "PATH", set: (*Job).addFile},
	{name: "files", value: "PATH[#NAME],...", set: (*Job).addFiles},
	{name: "D", value: "NAME=VALUE", set: (*Job).setConf},
	{name: "jobconf", value: "NAME=VALUE", set: (*Job).setConf},
	{name: "jt", value: "HOST:PORT", set: conf(nameManager)},
	{name: "fs", value: "URL", set: conf(nameFileSystem)},
	{name: "lazyOutput", set: func(j *Job, _ string) error { j.lazy = true; return nil }},
	{name: "noSuspend", set: func(j *Job, _ string) error { j.noSuspend = true; return nil }},
	{name: "verbose", set: func(j *Job, _ string) error { j.verbose = true; return nil }},
	{name: "io", value: "text", set: func(_ *Job, v string) error { return onlyText(v) }},

	{name: "cacheFile", value: "URL", refused: "files come from where the job is submitted: use -files PATH#NAME, or let the command read the URL"},
	{name: "cacheArchive", value: "URL", refused: "archives are not unpacked: use -files and unpack it in the command"},
	{name: "archives", value: "PATHS", refused: "archives are not unpacked: use -files and unpack it in the command"},
	{name: "libjars", value: "PATHS", refused: "there is no Java here: do what the jar did in the commands"},
	{name: "inputreader", value: "SPEC", refused: "there is no Java here: read lines of text, or write a program with package mapreduce and its formats"},
	{name: "conf", value: "FILE", refused: "a configuration file is not read: give its settings with -D NAME=VALUE"},
	{name: "mapdebug", value: "COMMAND", refused: "no script is run for a failed task: its error has the last lines that it wrote to standard error, and `hamadryad logs JOB` the rest"},
	{name: "reducedebug", value: "COMMAND", refused: "no script is run for a failed task: its error has the last lines that it wrote to standard error, and `hamadryad logs JOB` the rest"},
	{name: "background", refused: "this program follows its job to the end: put & behind the command line in a shell"},
}

// conf returns the function of an option that sets a setting.
func conf(name string) func(*Job, string) error {
	return func(j *Job, value string) error { return j.conf.set(name, value) }
}

// Parse reads a Hadoop streaming command line, without its first word. An unknown or unsupported
// option is an error that says what to do instead. Parse looks at nothing but the arguments.
func Parse(args []string) (*Job, error) {
	j := &Job{}
	for i := 0; i < len(args); i++ {
		name, dash := strings.CutPrefix(args[i], "-")
		name = strings.TrimPrefix(name, "-")
		if glued, ok := strings.CutPrefix(args[i], "-D"); ok && strings.Contains(glued, "=") {
			if err := j.setConf(glued); err != nil {
				return nil, fmt.Errorf("-D %s: %w", glued, err)
			}
			continue
		}
		if dash && slices.Contains([]string{"help", "info", "h"}, name) {
			return nil, ErrHelp
		}
		at := slices.IndexFunc(options, func(o option) bool { return dash && o.name == name })
		if at < 0 && strings.HasPrefix(args[i], "--") {
			return nil, fmt.Errorf("%q is no option of streaming; flags of the engine go before all options, with a -- behind them", args[i])
		}
		if at < 0 {
			return nil, fmt.Errorf("%q is no option of streaming: -help lists them (an argument with spaces in it needs quotes)", args[i])
		}
		o, value := options[at], ""
		if o.refused != "" {
			return nil, fmt.Errorf("-%s: %s", o.name, o.refused)
		}
		if o.value != "" {
			if i++; i == len(args) {
				return nil, fmt.Errorf("-%s needs a value: %s", o.name, o.value)
			}
			value = args[i]
		}
		if err := o.set(j, value); err != nil {
			return nil, fmt.Errorf("-%s %s: %w", o.name, value, err)
		}
	}
	return j, j.understand()
}

// understand derives the job from all options together.
func (j *Job) understand() error {
	if len(j.inputs) == 0 || j.output == "" {
		return errors.New("give -input and -output; -help teaches the rest")
	}
	if j.mapper.words == nil && j.mapper.class == "" {
		j.mapper.class = classIdentity
	}
	if j.reducer.words == nil && j.reducer.class == "" {
		j.reducer.class = classIdentity
	}
	seen, placed := map[string]string{}, map[string]string{}
	for _, f := range j.files {
		base := filepath.Base(f.path)
		if other, ok := seen[f.name]; ok && other != f.path {
			return fmt.Errorf("the files %s and %s are both called %s where the commands run: give one another name, as in -files %s#NAME", other, f.path, f.name, f.path)
		}
		if other, ok := placed[base]; ok && filepath.Clean(other) != filepath.Clean(f.path) {
			return fmt.Errorf("the files %s and %s travel under one name, %s: rename one of them", other, f.path, base)
		}
		seen[f.name], placed[base] = f.path, f.path
	}
	return j.interpret()
}

// Notes are warnings for a person before the job starts: settings that have no meaning here.
func (j *Job) Notes() []string { return slices.Clone(j.notes) }

// Verbose reports whether -verbose was given.
func (j *Job) Verbose() bool { return j.verbose }

func (j *Job) setMapper(v string) (err error) {
	j.mapper, err = parseProgram(v, classIdentity)
	return err
}

func (j *Job) setReducer(v string) (err error) {
	j.reducer, err = parseProgram(v, classIdentity, classAggregate, classNone)
	return err
}

func (j *Job) setCombiner(v string) (err error) {
	j.combiner, err = parseProgram(v)
	return err
}

func (j *Job) setEnv(v string) error {
	if name, _, ok := strings.Cut(v, "="); !ok || name == "" {
		return errors.New("write it as NAME=VALUE")
	}
	j.env = append(j.env, v)
	return nil
}

func (j *Job) setConf(v string) error {
	name, value, ok := strings.Cut(v, "=")
	if !ok || name == "" {
		return errors.New("write it as NAME=VALUE")
	}
	return j.conf.set(name, value)
}

func (j *Job) addFile(v string) error {
	f, err := parseFile(v)
	if err == nil && !slices.Contains(j.files, f) {
		j.files = append(j.files, f)
	}
	return err
}

func (j *Job) addFiles(v string) error {
	for _, path := range strings.Split(v, ",") {
		if err := j.addFile(path); err != nil {
			return err
		}
	}
	return nil
}

func onlyText(v string) error {
	if v != "text" {
		return errors.New("commands get and print lines of text only: encode other data, or write a program with package mapreduce")
	}
	return nil
}

// splitPaths splits at commas that are not in braces and not escaped by a backslash.
func splitPaths(v string) (paths []string) {
	depth, start := 0, 0
	for i, c := range v {
		switch {
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ',' && depth == 0 && (i == 0 || v[i-1] != '\\'):
			paths, start = append(paths, v[start:i]), i+1
		}
	}
	paths = append(paths, v[start:])
	for i, p := range paths {
		paths[i] = strings.ReplaceAll(p, `\,`, ",")
	}
	return paths
}

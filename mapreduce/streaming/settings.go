package streaming

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// settings are the interpreted configuration.
type settings struct {
	mapIn, reduceIn     []byte // separators in the commands' input
	mapOut, reduceOut   cutter // of their output
	keyed               bool   // the input's lines have key and value
	keySeparator        []byte // of them
	ignoreKey           *bool  // nil: by the input format
	combineFiles        bool   // one command for all files of a task
	outputSeparator     []byte
	gzip, zstd          bool // of the output
	compress            bool
	compressCodec       string
	keyFieldSeparator   string
	partitionOptions    string
	compareOptions      string
	byField, compares   bool
	partitioner, sorter keyFields
	reducers            int
	splitMax, splitMin  int64
	slowStart           float64
	shuffle             job.Codec
	quiet               time.Duration
	failureIsIgnored    bool
	reporter            string
	flags               []string // of the engine
	attempts            int
	noSpeculation       bool
	root, user          string // of paths without a scheme; "" for local ones
}

// meanings are the settings that are supported.
var meanings = map[string]func(s *settings, value string) error{
	"mapreduce.job.reduces":   func(s *settings, v string) error { return number(v, 0, job.NodesMax, &s.reducers) },
	"mapreduce.job.name":      func(s *settings, v string) error { s.flags = append(s.flags, "--name", v); return nonEmpty(v) },
	nameInputFormat:           (*settings).inputFormat,
	nameOutputFormat:          func(_ *settings, v string) error { return oneOf(v, "TextOutputFormat") },
	namePartitioner:           (*settings).partitionBy,
	nameComparator:            (*settings).compareBy,
	nameManager:               (*settings).manager,
	nameFileSystem:            (*settings).fileSystem,
	nameUser:                  func(s *settings, v string) error { s.user = v; return nonEmpty(v) },
	"mapreduce.job.queuename": func(s *settings, v string) error { s.flags = append(s.flags, "--pool", v); return nil },
	"mapreduce.job.priority":  (*settings).priority,

	"mapreduce.map.maxattempts":    (*settings).tries,
	"mapreduce.reduce.maxattempts": (*settings).tries,
	"mapreduce.map.speculative":    (*settings).speculation,
	"mapreduce.reduce.speculative": (*settings).speculation,
	"mapreduce.task.timeout":       (*settings).timeout,
	scheduler.ProofTimestampHadoop: passOn(scheduler.ProofTimestampHadoop),
	scheduler.ProofSignatureHadoop: passOn(scheduler.ProofSignatureHadoop),
	"mapreduce.map.slots":          passOn("mapreduce.map.slots"),
	"mapreduce.reduce.slots":       passOn("mapreduce.reduce.slots"),
	"mapreduce.map.memory.mb":      func(s *settings, v string) error { return s.memory("mapreduce.map.memory.mb", v) },
	"mapreduce.reduce.memory.mb":   func(s *settings, v string) error { return s.memory("mapreduce.reduce.memory.mb", v) },

	"mapreduce.input.fileinputformat.split.maxsize":                func(s *settings, v string) error { return number(v, 1, math.MaxInt64, &s.splitMax) },
	"mapreduce.input.fileinputformat.split.minsize":                func(s *settings, v string) error { return number(v, 0, math.MaxInt64, &s.splitMin) },
	"mapreduce.input.keyvaluelinerecordreader.key.value.separator": func(s *settings, v string) error { return separator(v, &s.keySeparator) },
	"mapreduce.job.reduce.slowstart.completedmaps":                 (*settings).slow,
	"mapreduce.map.output.compress":                                (*settings).compressShuffle,
	"mapreduce.map.output.compress.codec":                          (*settings).shuffleCodec,
	"mapreduce.output.fileoutputformat.compress":                   func(s *settings, v string) error { return yes(v, &s.compress) },
	"mapreduce.output.fileoutputformat.compress.codec":             func(s *settings, v string) error { s.compressCodec = v; return nil },
	"mapreduce.output.textoutputformat.separator":                  func(s *settings, v string) error { s.outputSeparator = []byte(v); return nil },
	"mapreduce.map.output.key.field.separator":                     func(s *settings, v string) error { s.keyFieldSeparator = v; return nonEmpty(v) },
	"mapreduce.partition.keypartitioner.options":                   func(s *settings, v string) error { s.partitionOptions = v; return nil },
	"mapreduce.partition.keycomparator.options":                    func(s *settings, v string) error { s.compareOptions = v; return nil },

	"stream.map.input.field.separator":     func(s *settings, v string) error { return separator(v, &s.mapIn) },
	"stream.reduce.input.field.separator":  func(s *settings, v string) error { return separator(v, &s.reduceIn) },
	"stream.map.output.field.separator":    func(s *settings, v string) error { return separator(v, &s.mapOut.separator) },
	"stream.reduce.output.field.separator": func(s *settings, v string) error { return separator(v, &s.reduceOut.separator) },
	"stream.num.map.output.key.fields":     func(s *settings, v string) error { return number(v, 1, keyFieldsMax, &s.mapOut.fields) },
	"stream.num.reduce.output.key.fields":  func(s *settings, v string) error { return number(v, 1, keyFieldsMax, &s.reduceOut.fields) },
	"stream.map.input.ignoreKey": func(s *settings, v string) error {
		s.ignoreKey = new(bool)
		return yes(v, s.ignoreKey)
	},
	"stream.non.zero.exit.is.failure": func(s *settings, v string) error {
		var fails bool
		err := yes(v, &fails)
		s.failureIsIgnored = !fails
		return err
	},
	"stream.stderr.reporter.prefix": func(s *settings, v string) error { s.reporter = v; return nonEmpty(v) },
	"stream.map.input":              func(_ *settings, v string) error { return onlyText(v) },
	"stream.map.output":             func(_ *settings, v string) error { return onlyText(v) },
	"stream.reduce.input":           func(_ *settings, v string) error { return onlyText(v) },
	"stream.reduce.output":          func(_ *settings, v string) error { return onlyText(v) },
}

// memory passes a memory of tasks, in MiB, on to the engine, which knows Hadoop's name.
func (s *settings) memory(name, value string) error {
	var mib int64
	if err := number(value, 1, 1<<30, &mib); err != nil {
		return err
	}
	s.flags = append(s.flags, "--property", name+"="+value)
	return nil
}

// passOn passes a setting on to the engine, which knows Hadoop's name. These are the kinds of
// slots, and the signature of a job for the policy dynamic-priority (its document, section 6.6).
func passOn(name string) func(*settings, string) error {
	return func(s *settings, value string) error {
		s.flags = append(s.flags, "-D", name+"="+value)
		return nonEmpty(value)
	}
}

// keyFieldsMax bounds the number of fields of a key.
const keyFieldsMax = 10_000

// refusals are unsupported settings that would change the result.
var refusals = map[string]string{
	"mapreduce.input.fileinputformat.inputdir":    "use -input",
	"mapreduce.output.fileoutputformat.outputdir": "use -output",
	"mapreduce.map.skip.maxrecords":               "no bad record of a command is skipped: let the command pass over it",
	"mapreduce.reduce.skip.maxgroups":             "no bad group of a command is skipped: let the command pass over it",
	"mapreduce.map.failures.maxpercent":           "a job succeeds with all its tasks or not at all: let the commands exit with 0",
	"mapreduce.reduce.failures.maxpercent":        "a job succeeds with all its tasks or not at all: let the commands exit with 0",
	"mapreduce.job.map.class":                     "there is no Java here: use -mapper COMMAND",
	"mapreduce.job.reduce.class":                  "there is no Java here: use -reducer COMMAND",
	"mapreduce.job.combine.class":                 "there is no Java here: use -combiner COMMAND",
	"mapred.mapper.class":                         "there is no Java here: use -mapper COMMAND",
	"mapred.reducer.class":                        "there is no Java here: use -reducer COMMAND",
	"mapred.combiner.class":                       "there is no Java here: use -combiner COMMAND",
}

// interpret derives the settings from the configuration, and the note on those without a meaning.
func (j *Job) interpret() error {
	s := &j.settings
	tab := []byte{'\t'}
	*s = settings{
		mapIn: tab, reduceIn: tab, mapOut: cutter{tab, 1}, reduceOut: cutter{tab, 1}, keySeparator: tab,
		outputSeparator: tab, keyFieldSeparator: "\t", reducers: 1, splitMax: math.MaxInt64, reporter: "reporter:",
	}
	var unknown []string
	for _, c := range j.conf {
		if why := refusals[c.name]; why != "" {
			return fmt.Errorf("-D %s=%s: %s", c.name, c.value, why)
		}
		mean := meanings[c.name]
		switch {
		case mean == nil && strings.HasPrefix(c.name, "stream."):
			return fmt.Errorf("-D %s=%s: streaming knows no such setting here: -help lists them", c.name, c.value)
		case mean == nil:
			unknown = append(unknown, c.name)
		default:
			if err := mean(s, c.value); err != nil {
				return fmt.Errorf("-D %s=%s: %w", c.name, c.value, err)
			}
			if strings.HasSuffix(c.name, "separator") && strings.Contains(c.value, `\`) {
				j.notes = append(j.notes, fmt.Sprintf("%s is %q with its backslash, as in Hadoop: a tab, the default, is $'\\t' in a shell", c.name, c.value))
			}
		}
	}
	if len(unknown) > 0 {
		j.notes = append(j.notes, "these settings have no effect here but in the commands' environment: "+strings.Join(unknown, " "))
	}
	return j.settle()
}

// settle resolves settings that depend on each other.
func (j *Job) settle() (err error) {
	s := &j.settings
	if s.partitioner, err = parseKeyFields(s.partitionOptions, s.keyFieldSeparator); err != nil {
		return fmt.Errorf("-D mapreduce.partition.keypartitioner.options: %w", err)
	}
	if s.sorter, err = parseKeyFields(s.compareOptions, s.keyFieldSeparator); err != nil {
		return fmt.Errorf("-D mapreduce.partition.keycomparator.options: %w", err)
	}
	if s.compress {
		codec := simple(s.compressCodec)
		s.gzip, s.zstd = codec == "GzipCodec", codec == "ZStandardCodec"
		if !s.gzip && !s.zstd {
			return fmt.Errorf("-D mapreduce.output.fileoutputformat.compress=true: output can be compressed with GzipCodec and ZStandardCodec, not with %q: set mapreduce.output.fileoutputformat.compress.codec", s.compressCodec)
		}
	}
	if j.reducer.is(classNone) {
		s.reducers = 0
	}
	if s.reducers == 0 {
		s.reducers = mapreduce.MapOnly
		if j.combiner.words != nil {
			j.notes = append(j.notes, "there is no reduce, so the combiner is not run")
		}
	}
	if err := j.reduceBySize(); err != nil {
		return err
	}
	if err := j.resolve(); err != nil {
		return err
	}
	if s.attempts > 0 {
		s.flags = append(s.flags, "--attempts", strconv.Itoa(s.attempts))
	}
	if s.noSpeculation {
		s.flags = append(s.flags, "--no-speculation")
	}
	return nil
}

// reduceBySize resolves what -reduceBytes changes. Without a number of reducers their most follows from
// the input.
func (j *Job) reduceBySize() error {
	s := &j.settings
	switch {
	case j.reduceBytes == 0 && j.splitKeys:
		return errors.New("-splitKeys shares keys among reducers that are chosen by size: give -reduceBytes BYTES too, such as 67108864")
	case j.reduceBytes == 0:
		return nil
	case s.reducers == mapreduce.MapOnly:
		return errors.New("-reduceBytes chooses reducers, and this job has none: leave it out")
	case s.slowStart > 0:
		return errors.New("-reduceBytes chooses reducers when all mappers have ended, so none starts early: leave out mapreduce.job.reduce.slowstart.completedmaps, or set it to 1")
	case j.splitKeys && j.reducer.is(classAggregate):
		return errors.New("-splitKeys would have several reducers print a key of aggregate, each with a part of its sum: leave it out")
	}
	if j.conf.get("mapreduce.job.reduces") == "" {
		s.reducers = 0
	}
	return nil
}

// EngineFlags are flags of package app that settings of the command line set: the manager, the
// pool, the priority, and the attempt limit.
func (j *Job) EngineFlags() []string { return slices.Clone(j.settings.flags) }

func (s *settings) inputFormat(v string) error {
	switch simple(v) {
	case "TextInputFormat":
	case "KeyValueTextInputFormat":
		s.keyed = true
	case "CombineTextInputFormat":
		s.combineFiles = true
	default:
		return errors.New("TextInputFormat, KeyValueTextInputFormat and CombineTextInputFormat can be read: write a program with package mapreduce for other formats")
	}
	return nil
}

func (s *settings) partitionBy(v string) error {
	s.byField = simple(v) == "KeyFieldBasedPartitioner"
	return oneOf(v, "KeyFieldBasedPartitioner", "HashPartitioner")
}

func (s *settings) compareBy(v string) error {
	s.compares = simple(v) == "KeyFieldBasedComparator"
	return oneOf(v, "KeyFieldBasedComparator")
}

func (s *settings) manager(v string) error {
	if !strings.Contains(v, ":") {
		return errors.New("give HOST:PORT of a manager; for this machine alone put `hamadryad local --` before the command line instead")
	}
	s.flags = append(s.flags, "--manager", v)
	return nil
}

func (s *settings) priority(v string) error {
	p, err := scheduler.ParsePriority(v)
	s.flags = append(s.flags, "--priority="+strconv.Itoa(int(p)))
	return err
}

func (s *settings) tries(v string) error {
	n := 0
	err := number(v, 1, math.MaxInt32, &n)
	s.attempts = max(s.attempts, n)
	return err
}

func (s *settings) speculation(v string) error {
	var on bool
	err := yes(v, &on)
	s.noSpeculation = s.noSpeculation || !on
	return err
}

func (s *settings) timeout(v string) error {
	var ms int64
	err := number(v, 0, int64(math.MaxInt64/time.Millisecond), &ms)
	s.quiet = time.Duration(ms) * time.Millisecond
	if ms == 0 {
		s.quiet = -1 // no limit
	}
	return err
}

// soonest is a slow-start just above 0, since 0 means the default.
const soonest = 1e-9

func (s *settings) slow(v string) error {
	share, err := strconv.ParseFloat(v, 64)
	if err != nil || !(share >= 0 && share <= 1) {
		return errors.New("use a number from 0 to 1")
	}
	s.slowStart = max(share, soonest)
	if share == 1 {
		s.slowStart = -1
	}
	return nil
}

func (s *settings) compressShuffle(v string) error {
	var on bool
	err := yes(v, &on)
	if !on {
		s.shuffle = job.NoCodec
	}
	return err
}

func (s *settings) shuffleCodec(v string) error {
	if s.shuffle == job.NoCodec {
		return nil
	}
	s.shuffle = job.LZ4
	if simple(v) == "ZStandardCodec" {
		s.shuffle = job.Zstd
	}
	return oneOf(v, "Lz4Codec", "ZStandardCodec", "SnappyCodec", "GzipCodec", "DefaultCodec", "LzoCodec", "BZip2Codec")
}

// simple returns a class's name without its package.
func simple(class string) string { return class[strings.LastIndexByte(class, '.')+1:] }

func oneOf(class string, names ...string) error {
	if !slices.Contains(names, simple(class)) {
		return fmt.Errorf("there is no Java here: only %s can be had", strings.Join(names, " and "))
	}
	return nil
}

func number[T int | int64](v string, least, most int64, to *T) error {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || n > most {
		return fmt.Errorf("use a whole number from %d to %d", least, most)
	}
	*to = T(n)
	return nil
}

func yes(v string, to *bool) error {
	if v != "true" && v != "false" {
		return errors.New("use true or false")
	}
	*to = v == "true"
	return nil
}

func nonEmpty(v string) error {
	if v == "" {
		return errors.New("it can't be empty")
	}
	return nil
}

func separator(v string, to *[]byte) error {
	if strings.ContainsAny(v, "\r\n") {
		return errors.New("a line end can't separate fields")
	}
	*to = []byte(v)
	return nonEmpty(v)
}

package streaming

import (
	"fmt"
	"strconv"
	"strings"
)

const helpHead = `usage: hamadryad-streaming [engine flags --] -input PATH -output PATH [options]

MapReduce by commands in any language, with the options of Hadoop streaming. A
mapper reads lines on standard input and prints lines "key, tab, value"; the
reducer reads those sorted by key, and prints lines. Word count:

  hamadryad local -- hamadryad-streaming -input books -output counts \
    -mapper "awk '{for (i = 1; i <= NF; i++) print \$i \"\t1\"}'" \
    -reducer "awk -F'\t' '\$1 != w {if (NR > 1) print w \"\t\" n; w = \$1; n = 0}
              {n += \$2} END {if (NR > 0) print w \"\t\" n}'"

Commands run without a shell: quotes work, pipes and variables need sh -c '...'.
There is one reducer unless -numReduceTasks or -reduceBytes says otherwise.

Options:
`

// optionHelp describes the options that are not refused.
var optionHelp = map[string]string{
	"input":          "file, folder or pattern; may be repeated, or hold several with commas",
	"output":         "folder that must not exist",
	"mapper":         "the map, or IdentityMapper (the default)",
	"reducer":        "the reduce, or IdentityReducer (the default), aggregate, or NONE for none",
	"combiner":       "run over a map task's sorted output, with input and output as the reducer",
	"numReduceTasks": "number of reducers; 0 for none",
	"reduceBytes":    "chooses the reducers by size: partitions share one up to so many bytes, such as 67108864",
	"splitKeys":      "with it: several reducers share a key with very many lines",
	"numMapTasks":    "a hint that is not taken: tasks are by size of the input",
	"inputformat":    "TextInputFormat, KeyValueTextInputFormat or CombineTextInputFormat",
	"outputformat":   "TextOutputFormat",
	"partitioner":    "HashPartitioner or KeyFieldBasedPartitioner",
	"cmdenv":         "a variable of the commands' environment; may be repeated",
	"file":           "a local file that the commands find in their folder; may be repeated",
	"files":          "the same for several, with a name of choice",
	"D":              "a setting, see below; may be repeated",
	"jobconf":        "as -D",
	"jt":             "the manager; as the engine flag --manager",
	"fs":             "where paths without a scheme lie: hdfs://..., or local; fs.defaultFS of HADOOP_CONF_DIR when not given",
	"lazyOutput":     "leave out output files without lines",
	"noSuspend":      "commands hold something outside: never have them stand still for other jobs",
	"verbose":        "print how the command line was understood",
	"io":             "lines of text, the only form there is",
}

const helpSettings = `
Settings (their names before Hadoop 2 do too):
`

// settingHelp describes the most used settings.
var settingHelp = [][2]string{
	{"mapreduce.job.reduces", "as -numReduceTasks"},
	{"mapreduce.job.queuename, .priority", "pool and priority for the scheduling policy"},
	{"mapreduce.map.slots, mapreduce.reduce.slots", "the kind of slots that tasks take; map and reduce where the cluster has them, else default"},
	{"mapred.job.timestamp, mapred.job.signature", "signs the job for the policy dynamic-priority; HAMADRYAD_KEY=FILE does it by itself"},
	{"mapreduce.task.timeout", "ms after which a command that does nothing is killed; 0: never; 600000 when not set"},
	{"stream.map.output.field.separator", "between key and value in what the mapper prints; a tab when not set"},
	{"stream.num.map.output.key.fields", "how many fields are the key; 1 when not set"},
	{"stream.reduce.output.field.separator, stream.num.reduce.output.key.fields", "the same of reducer and combiner"},
	{"stream.map.input.field.separator, stream.reduce.input.field.separator", "between key and value in what they read"},
	{"stream.non.zero.exit.is.failure", "false: a command's exit code does not count"},
	{"mapreduce.map.output.key.field.separator", "of fields in keys; a tab when not set"},
	{"mapreduce.partition.keypartitioner.options", "such as -k1,2: fields that choose the reducer (KeyFieldBasedPartitioner)"},
	{"mapreduce.job.output.key.comparator.class", "KeyFieldBasedComparator, with"},
	{"mapreduce.partition.keycomparator.options", "such as '-k1,1 -k2,2nr': fields to sort by"},
	{"mapreduce.input.fileinputformat.split.maxsize, .minsize", "bytes of input of a map task"},
	{"mapreduce.output.fileoutputformat.compress, .compress.codec", "true, with GzipCodec or ZStandardCodec"},
	{"mapreduce.output.textoutputformat.separator", "between key and value in the output; a tab when not set"},
}

const helpTail = `
A command finds its settings in its environment, with _ for each dot, and beside
them mapreduce_job_id, mapreduce_task_id, mapreduce_task_partition,
mapreduce_map_input_file and others. On standard error a line
reporter:counter:GROUP,NAME,AMOUNT adds to a counter of the job, and
reporter:status:TEXT goes to the log.

Engine flags, before the options and a --, are --manager HOST:PORT, --name, --pool,
--priority, --attempts, --no-speculation, --property NAME=VALUE and --quiet.
`

// Help is the text of -help.
func Help() string {
	var b strings.Builder
	b.WriteString(helpHead)
	for _, o := range options {
		if o.refused == "" {
			fmt.Fprintf(&b, "  %-26s %s\n", "-"+o.name+" "+o.value, optionHelp[o.name])
		}
	}
	b.WriteString(helpSettings)
	for _, line := range settingHelp {
		fmt.Fprintf(&b, "  %s\n      %s\n", line[0], line[1])
	}
	b.WriteString(helpTail)
	return b.String()
}

// String formats the parsed command line, for -verbose.
func (j *Job) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "input: %s\noutput: %s\n", strings.Join(j.inputs, " "), j.output)
	for _, p := range []struct {
		name string
		program
	}{{"mapper", j.mapper}, {"combiner", j.combiner}, {"reducer", j.reducer}} {
		switch {
		case p.class != "":
			fmt.Fprintf(&b, "%s: %s\n", p.name, p.class)
		case p.words != nil:
			fmt.Fprintf(&b, "%s: %q\n", p.name, p.words)
		}
	}
	fmt.Fprintf(&b, "reducers: %s\n", j.reducersText())
	for _, f := range j.files {
		fmt.Fprintf(&b, "file: %s as %s\n", f.path, f.name)
	}
	for _, c := range j.conf {
		fmt.Fprintf(&b, "setting: %s=%s\n", c.name, c.value)
	}
	return b.String()
}

// reducersText says how many reducers there are.
func (j *Job) reducersText() string {
	n := max(j.settings.reducers, 0)
	if j.reduceBytes == 0 {
		return strconv.Itoa(n)
	}
	text := fmt.Sprintf("by size, up to %d bytes each", j.reduceBytes)
	if n > 0 {
		text += fmt.Sprintf(", at most %d", n)
	}
	if j.splitKeys {
		text += ", large keys shared"
	}
	return text
}

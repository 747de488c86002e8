package streaming_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce/streaming"
)

// parse parses a command line that has all it needs, and more.
func parse(more ...string) (*streaming.Job, error) {
	return streaming.Parse(append([]string{"-input", "in", "-output", "out"}, more...))
}

// TestRefused: the error for an unsupported option names the option and the remedy.
func TestRefused(t *testing.T) {
	for want, args := range map[string][]string{
		`"-maper" is no option of streaming: -help lists them`: {"-maper", "cat"},
		`"b" is no option of streaming`:                        {"-mapper", "cat", "b"},
		`flags of the engine go before all options`:            {"--pool", "x"},
		`-reducer needs a value`:                               {"-reducer"},
		`-cacheFile: files come from where`:                    {"-cacheFile", "hdfs://nn/x#y"},
		`-cacheArchive: archives are not unpacked`:             {"-cacheArchive", "hdfs://nn/x.jar"},
		`-archives: archives are not`:                          {"-archives", "x.zip"},
		`-libjars: there is no Java`:                           {"-libjars", "x.jar"},
		`-conf: a configuration file is not read`:              {"-conf", "x.xml"},
		`-inputreader: there is no Java`:                       {"-inputreader", "StreamXmlRecordReader"},
		`-background: this program follows`:                    {"-background"},
		`-io rawbytes: commands get and print lines`:           {"-io", "rawbytes"},
		`-mapper org.apache.hadoop.mapred.lib.TokenCountMapper: org.apache.hadoop.mapred.lib.TokenCountMapper is no command`: {"-mapper", "org.apache.hadoop.mapred.lib.TokenCountMapper"},
		`-combiner aggregate: aggregate is no command`:        {"-combiner", "aggregate"},
		`-mapper a | b: "|" is for a shell`:                   {"-mapper", "a | b"},
		`-mapper awk '{: a quote (') has no end`:              {"-mapper", "awk '{"},
		`the command is empty`:                                {"-reducer", " "},
		`TextInputFormat, KeyValueTextInputFormat and`:        {"-inputformat", "SequenceFileInputFormat"},
		`only TextOutputFormat can be had`:                    {"-outputformat", "SequenceFileOutputFormat"},
		`only KeyFieldBasedPartitioner and HashPartitioner`:   {"-partitioner", "org.example.MyPartitioner"},
		`only KeyFieldBasedComparator can be had`:             {"-D", "mapred.output.key.comparator.class=LongWritable.Comparator2"},
		`use a whole number from 0`:                           {"-numReduceTasks", "-1"},
		`use a whole number from 1 to 10000`:                  {"-D", "stream.num.map.output.key.fields=0"},
		`it can't be empty`:                                   {"-D", "stream.map.output.field.separator="},
		`streaming knows no such setting`:                     {"-D", "stream.map.output.seperator=,"},
		`write it as NAME=VALUE`:                              {"-D", "novalue"},
		`-cmdenv x: write it as NAME=VALUE`:                   {"-cmdenv", "x"},
		`only -k pos1[,pos2], -n and -r`:                      {"-D", "mapreduce.partition.keycomparator.options=-k1,1 -f"},
		`a position is the number of a field`:                 {"-D", "mapreduce.partition.keypartitioner.options=-k0,1"},
		`not with "org.apache.hadoop.io.compress.BZip2Codec"`: {"-D", "mapred.output.compress=true", "-D", "mapred.output.compression.codec=org.apache.hadoop.io.compress.BZip2Codec"},
		`a job succeeds with all its tasks`:                   {"-D", "mapred.max.map.failures.percent=5"},
		`only local files travel`:                             {"-files", "hdfs://nn/x"},
		`are both called x`:                                   {"-file", "a/x", "-file", "b/x"},
		`travel under one name`:                               {"-files", "a/x#p,b/x#q"},
		`write PATH or PATH#NAME`:                             {"-files", "a#b/c"},
		`use true or false`:                                   {"-D", "stream.non.zero.exit.is.failure=no"},
		"put `hamadryad local --` before":                     {"-jt", "local"},
		`use a number from 0 to 1`:                            {"-D", "mapreduce.job.reduce.slowstart.completedmaps=NaN"},
		`-reduceBytes 64MiB: use a whole number from 1`:       {"-reduceBytes", "64MiB"},
		`-reduceBytes 0: use a whole number from 1`:           {"-reduceBytes", "0"},
		`give -reduceBytes BYTES too`:                         {"-splitKeys"},
		`this job has none: leave it out`:                     {"-reduceBytes", "1", "-numReduceTasks", "0"},
		`this job has none`:                                   {"-reduceBytes", "1", "-reducer", "NONE"},
		`slowstart.completedmaps, or set it to 1`:             {"-reduceBytes", "1", "-D", "mapreduce.job.reduce.slowstart.completedmaps=0"},
		`each with a part of its sum`:                         {"-reduceBytes", "1", "-splitKeys", "-reducer", "aggregate"},
		`unknown priority "HIGHEST": use VERY_LOW`:            {"-D", "mapreduce.job.priority=HIGHEST"},
		`a line end can't separate`:                           {"-D", "stream.map.output.field.separator=\n"},
		`commands get and print lines of text only`:           {"-D", "stream.map.input=typedbytes"},
	} {
		if _, err := parse(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
	for _, args := range [][]string{{"-input", "x"}, {"-output", "x"}, nil} {
		if _, err := streaming.Parse(args); err == nil || !strings.Contains(err.Error(), "give -input and -output") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// TestSettingsWithoutMeaning: one line lists them, and commands receive them.
func TestSettingsWithoutMeaning(t *testing.T) {
	j, err := parse("-D", "mapreduce.map.java.opts=2048", "-Dmy.own=1", "-jobconf", "mapred.job.name=x", "-numMapTasks", "7")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"these settings have no effect here but in the commands' environment: mapreduce.map.java.opts my.own mapreduce.job.maps"}
	if !slices.Equal(j.Notes(), want) {
		t.Errorf("%q", j.Notes())
	}
}

func TestBackslashesInSeparatorsAreTold(t *testing.T) {
	j, err := parse("-D", `stream.map.output.field.separator=\t`)
	if err != nil || len(j.Notes()) != 1 || !strings.Contains(j.Notes()[0], `is "\\t" with its backslash`) {
		t.Errorf("%q %v", j.Notes(), err)
	}
}

func TestSettingsOfTheEngine(t *testing.T) {
	j, err := parse("-jt", "manager:7070", "-D", "mapred.job.name=nightly", "-D", "mapred.job.queue.name=research", "-D", "mapreduce.job.priority=LOW",
		"-D", "mapreduce.map.maxattempts=2", "-D", "mapreduce.reduce.maxattempts=7", "-D", "mapreduce.map.speculative=false")
	if err != nil {
		t.Fatal(err)
	}
	want := "[--manager manager:7070 --name nightly --pool research --priority=-1 --attempts 7 --no-speculation]"
	if got := fmt.Sprint(j.EngineFlags()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A job is signed as the document of the dynamic priority scheduler has it (section 6.6).
func TestSignedByHand(t *testing.T) {
	j, err := parse("-Dmapred.job.timestamp=5", "-Dmapred.job.signature=c2ln", "-Dmapreduce.job.queue.name=ann")
	if err != nil {
		t.Fatal(err)
	}
	want := "[-D mapred.job.timestamp=5 -D mapred.job.signature=c2ln --pool ann]"
	if got := fmt.Sprint(j.EngineFlags()); got != want || len(j.Notes()) > 0 {
		t.Errorf("%s, want %s; notes %q", got, want, j.Notes())
	}
}

func TestHelpTellsAllOptions(t *testing.T) {
	for _, ask := range []string{"-help", "--help", "-info"} {
		if _, err := streaming.Parse([]string{"-input", "x", ask}); !errors.Is(err, streaming.ErrHelp) {
			t.Errorf("%s: %v", ask, err)
		}
	}
	help := streaming.Help()
	for _, want := range []string{"-mapper COMMAND ", "-cmdenv NAME=VALUE", "stream.num.map.output.key.fields", "hamadryad local --"} {
		if !strings.Contains(help, want) {
			t.Errorf("no %q in\n%s", want, help)
		}
	}
	for line := range strings.Lines(help[strings.Index(help, "Options:"):strings.Index(help, "Settings")]) {
		if strings.HasPrefix(line, "  -") && strings.TrimSpace(line[min(len(line), 28):]) == "" {
			t.Errorf("%q tells nothing", line)
		}
	}
}

// TestVerbose: the command line as it was understood, words of commands too.
func TestVerbose(t *testing.T) {
	j, err := parse("-mapper", `awk -F',' "{print \$1}"`, "-reducer", "NONE", "-input", `{a,b}/x,c\,d`, "-verbose")
	if err != nil || !j.Verbose() {
		t.Fatal(err)
	}
	for text, args := range map[string][]string{
		"reducers: by size, up to 7 bytes each\n":                               {"-reduceBytes", "7"},
		"reducers: by size, up to 7 bytes each, at most 5, large keys shared\n": {"-reduceBytes", "7", "-splitKeys", "-numReduceTasks", "5"},
	} {
		if j, err := parse(args...); err != nil || !strings.Contains(j.String(), text) {
			t.Errorf("%q: no %q in\n%v%v", args, text, j, err)
		}
	}
	want := "input: in {a,b}/x c,d\noutput: out\nmapper: [\"awk\" \"-F,\" \"{print \\\\$1}\"]\nreducer: NONE\nreducers: 0\n"
	if j.String() != want {
		t.Errorf("%s\nwant\n%s", j, want)
	}
}

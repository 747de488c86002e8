package streaming_test

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce/streaming"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// story is a command line, the files that it finds and what it leaves.
type story struct {
	files map[string]string // made in the folder that DIR stands for
	args  []string          // but for -output; DIR is the folder
	want  string            // all output files in order of name, one after the other
	sorts bool              // want and the output are compared in order of lines
	count map[string]int64  // counters
}

// run runs a command line and returns its output.
func (s story) run(t *testing.T) (string, *jobtest.Result, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range s.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"-output", dir + "/out"}
	for _, a := range s.args {
		args = append(args, strings.ReplaceAll(a, "DIR", dir))
	}
	result, err := jobtest.Run(t.Context(), streaming.Definition(), args, jobtest.Options{Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		if left, _ := filepath.Glob(dir + "/out*"); len(left) > 0 {
			t.Errorf("a failed job left %v", left)
		}
		return "", nil, err
	}
	parts, _ := filepath.Glob(dir + "/out/part-*")
	var all []byte
	for _, p := range parts {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(p, ".gz") || strings.HasSuffix(p, ".zst") {
			data = unpacked(t, p)
		}
		all = append(all, data...)
	}
	return string(all), result, nil
}

// unpacked runs the tools that people have for such files.
func unpacked(t *testing.T, path string) []byte {
	t.Helper()
	tool := map[string]string{".gz": "gzip", ".zst": "zstd"}[filepath.Ext(path)]
	data, err := exec.Command(tool, "-dc", path).Output()
	if err != nil {
		t.Fatalf("%s, which the tests need: %v", tool, err)
	}
	return data
}

const (
	awkWords = `awk '{for (i = 1; i <= NF; i++) print $i "\t1"}'`
	awkSums  = `awk -F'\t' '$1 != w {if (NR > 1) print w "\t" n; w = $1; n = 0} {n += $2} END {if (NR > 0) print w "\t" n}'`

	pythonSums = `#!/usr/bin/env python3
import itertools, sys
pairs = (line.rstrip("\n").split("\t") for line in sys.stdin)
for key, group in itertools.groupby(pairs, lambda pair: pair[0]):
    print(key, sum(int(n) for _, n in group), sep="\t")
`
	twoLines = "the oak\nan elm the end\n"
)

var stories = map[string]story{
	"word count by awk": {
		files: map[string]string{"a": "the oak\r\nan elm", "b": "the end\n", "c": ""},
		args:  []string{"-input", "DIR/a", "-input", "DIR/b,DIR/c", "-mapper", awkWords, "-reducer", awkSums},
		want:  "an\t1\nelm\t1\nend\t1\noak\t1\nthe\t2\n",
		count: map[string]int64{"MAP_INPUT_RECORDS": 3, "MAP_OUTPUT_RECORDS": 6, "REDUCE_INPUT_GROUPS": 5, "REDUCE_OUTPUT_RECORDS": 5},
	},
	"a script that travels and is not executable": {
		files: map[string]string{"a": twoLines, "sums.py": pythonSums},
		args:  []string{"-D", "mapreduce.job.reduces=2", "-input", "DIR/a", "-mapper", awkWords, "-reducer", "sums.py", "-file", "DIR/sums.py"},
		want:  "an\t1\nelm\t1\nend\t1\noak\t1\nthe\t2\n", sorts: true,
	},
	"a file under another name and the path of one that travels as the command": {
		files: map[string]string{"a": twoLines, "sums.py": pythonSums, "long": "the\n"},
		args: []string{
			"-files", "DIR/sums.py,DIR/long#stopwords", "-input", "DIR/a",
			"-mapper", `awk 'BEGIN {while ((getline w < "stopwords") > 0) stop[w]} {for (i = 1; i <= NF; i++) if (!($i in stop)) print $i "\t1"}'`,
			"-reducer", "DIR/sums.py",
		},
		want: "an\t1\nelm\t1\nend\t1\noak\t1\n",
	},
	"a line without a separator is all key": {
		files: map[string]string{"a": "b\na\n"},
		args:  []string{"-input", "DIR/a", "-mapper", "cat", "-reducer", "cat"},
		want:  "a\t\nb\t\n",
	},
	"a map only writes what the mapper prints": {
		files: map[string]string{"a": "b\t1\na\t2\n"},
		args:  []string{"-input", "DIR/a", "-mapper", "cat", "-reducer", "NONE"},
		want:  "b\t1\na\t2\n",
		count: map[string]int64{"MAP_OUTPUT_RECORDS": 2},
	},
	"no reduce tasks": {
		files: map[string]string{"a": "b\t1\n"},
		args:  []string{"-input", "DIR/a", "-mapper", "cat", "-numReduceTasks", "0", "-reducer", "never", "-combiner", "never"},
		want:  "b\t1\n",
	},
	"key of two fields by commas": {
		files: map[string]string{"a": "x,1,one\ny,1,two\nx,2,three\ny,0,four\n"},
		args: []string{
			"-D", "stream.map.output.field.separator=,", "-D", "stream.num.map.output.key.fields=2",
			"-D", "mapreduce.map.output.key.field.separator=,", "-D", "mapreduce.partition.keypartitioner.options=-k1,1",
			"-D", "stream.reduce.input.field.separator=|", "-numReduceTasks", "1",
			"-partitioner", "org.apache.hadoop.mapred.lib.KeyFieldBasedPartitioner", "-input", "DIR/a", "-mapper", "cat", "-reducer", "cat",
		},
		want: "x,1|one\t\nx,2|three\t\ny,0|four\t\ny,1|two\t\n",
	},
	"the reducer's output has separators of its own": {
		files: map[string]string{"a": "1\n"},
		args: []string{
			"-D", "stream.reduce.output.field.separator=::", "-D", "stream.num.reduce.output.key.fields=2",
			"-D", "mapred.textoutputformat.separator=;", "-input", "DIR/a", "-mapper", "cat", "-reducer", "sed s/.*/a::b::c::d/",
		},
		want: "a::b;c::d\n",
	},
	"numbers down then names up": {
		files: map[string]string{"a": "b\t9\na\t10\nc\t10\nd\t-1\ne\t1.5\n"},
		args: []string{
			"-D", "mapreduce.job.output.key.comparator.class=org.apache.hadoop.mapreduce.lib.partition.KeyFieldBasedComparator",
			"-D", "mapred.text.key.comparator.options=-k2,2nr -k1,1", "-D", "stream.num.map.output.key.fields=2",
			"-input", "DIR/a", "-mapper", "cat",
		},
		want: "a\t10\t\nc\t10\t\nb\t9\t\ne\t1.5\t\nd\t-1\t\n",
	},
	"a combiner reads sorted pairs before they travel": {
		files: map[string]string{"a": strings.Repeat("a b a\n", 1000)},
		args:  []string{"-input", "DIR/a", "-mapper", awkWords, "-combiner", awkSums, "-reducer", awkSums},
		want:  "a\t2000\nb\t1000\n",
		count: map[string]int64{"MAP_OUTPUT_RECORDS": 3000, "COMBINE_INPUT_RECORDS": 3000, "COMBINE_OUTPUT_RECORDS": 2, "REDUCE_INPUT_RECORDS": 2},
	},
	"keys and values of the input": {
		files: map[string]string{"a": "k=v=w\nx\n"},
		args: []string{
			"-inputformat", "KeyValueTextInputFormat", "-D", "key.value.separator.in.input.line==", "-D", "stream.map.input.field.separator=|",
			"-input", "DIR/a", "-mapper", "cat", "-reducer", "NONE",
		},
		want: "k|v=w\t\nx|\t\n",
	},
	"the offset as key": {
		files: map[string]string{"a": "one\ntwo\n"},
		args:  []string{"-D", "stream.map.input.ignoreKey=false", "-input", "DIR/a", "-mapper", "cat", "-reducer", "NONE"},
		want:  "0\tone\n4\ttwo\n",
	},
	"the classes that need no Java": {
		files: map[string]string{"a": "b\t1\na\t2\n"},
		args:  []string{"-input", "DIR/a", "-mapper", "org.apache.hadoop.mapred.lib.IdentityMapper", "-reducer", "IdentityReducer", "-inputformat", "KeyValueTextInputFormat"},
		want:  "a\t2\nb\t1\n",
	},
	"aggregate": {
		files: map[string]string{"a": "LongValueSum:n\t1\nLongValueSum:n\t41\nLongValueMax:n\t-3\nLongValueMin:n\t-3\nDoubleValueSum:d\t0.5\nDoubleValueSum:d\t1.5\nStringValueMax:s\tb\nStringValueMax:s\ta\nStringValueMin:s\tb\nUniqValueCount:u\tx\nUniqValueCount:u\tx\nUniqValueCount:u\ty\n"},
		args:  []string{"-input", "DIR/a", "-mapper", "cat", "-reducer", "aggregate"},
		want:  "d\t2.0\nn\t-3\nn\t-3\nn\t42\ns\tb\ns\tb\nu\t2\n",
	},
	"the environment": {
		files: map[string]string{"a": "x\n"},
		args: []string{
			"-D", "my.own-setting=7", "-D", "mapred.job.name=count", "-numReduceTasks", "0", "-cmdenv", "GREETING=good day", "-input", "DIR/a",
			"-mapper", `sh -c 'cat >/dev/null; echo $my_own_setting $mapreduce_job_name $mapred_job_name $GREETING; echo $mapreduce_task_partition $mapreduce_job_id $mapreduce_task_id $mapreduce_task_ismap $mapreduce_job_reduces $mapreduce_job_maps; basename $mapreduce_map_input_file; basename $map_input_file; echo $mapreduce_map_input_start $mapreduce_map_input_length'`,
		},
		want: "7 count count good day\t\n0 job-1 task_0_0001_m_000000 true 0 1\t\na\t\na\t\n0 2\t\n",
	},
	"each file has a mapper of its own": {
		files: map[string]string{"a": "1\n2\n", "b": "3\n"},
		args:  []string{"-input", "DIR/a", "-input", "DIR/b", "-mapper", `awk 'END {print NR}'`, "-reducer", "NONE"},
		want:  "2\t\n1\t\n",
	},
	"unless they are to be read together": {
		files: map[string]string{"a": "1\n2", "b": "3\n"},
		args:  []string{"-inputformat", "org.apache.hadoop.mapred.lib.CombineTextInputFormat", "-input", "DIR/a", "-input", "DIR/b", "-mapper", "wc -l", "-reducer", "NONE"},
		want:  "3\t\n",
	},
	"reports on standard error": {
		files: map[string]string{"a": "x\ny\n"},
		args: []string{
			"-input", "DIR/a", "-reducer", "NONE",
			"-mapper", `awk '{print "reporter:counter:Trees,oaks," NR > "/dev/stderr"; print "reporter:counter:no number,x,y" > "/dev/stderr"; print "reporter:status:at " $0 > "/dev/stderr"}'`,
		},
		want:  "",
		count: map[string]int64{"Trees:oaks": 3},
	},
	"a command that fails and need not succeed": {
		files: map[string]string{"a": "x\n"},
		args:  []string{"-D", "stream.non.zero.exit.is.failure=false", "-input", "DIR/a", "-mapper", "sh -c 'cat; exit 3'", "-reducer", "NONE"},
		want:  "x\t\n",
	},
	"a mapper that reads only the beginning and a reducer that reads nothing": {
		files: map[string]string{"a": strings.Repeat("line\n", 100_000)},
		args:  []string{"-input", "DIR/a", "-mapper", "head -n 1", "-reducer", "sh -c 'echo done'"},
		want:  "done\t\n",
	},
	"what a reducer without input prints is dropped": {
		files: map[string]string{"a": ""},
		args:  []string{"-input", "DIR/a", "-mapper", "cat", "-reducer", "echo nothing"},
		want:  "",
	},
	"bytes that are no text": {
		files: map[string]string{"a": "\xff\x00\x80\n"},
		args:  []string{"-input", "DIR/a", "-mapper", "cat", "-reducer", "cat"},
		want:  "\xff\x00\x80\t\n",
	},
	"compressed output": {
		files: map[string]string{"a": "k\tv\n"},
		args:  []string{"-D", "mapred.output.compress=true", "-D", "mapred.output.compression.codec=org.apache.hadoop.io.compress.GzipCodec", "-input", "DIR/a", "-mapper", "cat"},
		want:  "k\tv\n",
	},
	"compressed with another codec": {
		files: map[string]string{"a": "k\tv\n"},
		args:  []string{"-D", "mapreduce.output.fileoutputformat.compress=true", "-D", "mapreduce.output.fileoutputformat.compress.codec=ZStandardCodec", "-input", "DIR/a", "-mapper", "cat", "-reducer", "NONE"},
		want:  "k\tv\n",
	},
}

func TestStories(t *testing.T) {
	for name, s := range stories {
		t.Run(name, func(t *testing.T) {
			got, result, err := s.run(t)
			if err != nil {
				t.Fatal(err)
			}
			if s.sorts {
				got = sortLines(got)
			}
			if got != s.want {
				t.Errorf("got\n%swant\n%s", got, s.want)
			}
			for name, want := range s.count {
				if result.Counters[name] != want {
					t.Errorf("%s is %d, want %d", name, result.Counters[name], want)
				}
			}
		})
	}
}

func sortLines(text string) string {
	cmd := exec.Command("sort")
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdin = strings.NewReader(text)
	out, _ := cmd.Output()
	return string(out)
}

func TestLazyOutputLeavesOutEmptyFiles(t *testing.T) {
	for _, extra := range [][]string{nil, {"-D", "mapred.output.compress=true", "-D", "mapred.output.compression.codec=GzipCodec"}} {
		dir := t.TempDir()
		os.WriteFile(dir+"/a", []byte("x\n"), 0o666)
		args := append(extra, "-input", dir+"/a", "-output", dir+"/out", "-mapper", "cat", "-numReduceTasks", "4", "-lazyOutput")
		if _, err := jobtest.Run(t.Context(), streaming.Definition(), args, jobtest.Options{}); err != nil {
			t.Fatal(err)
		}
		if parts, err := jobtest.Output(dir + "/out"); len(parts) != 1 {
			t.Errorf("%d files for one key, %v", len(parts), err)
		}
	}
}

// Partition by the first field of the key: equal ones meet in one reducer.
func TestKeyFieldBasedPartitioner(t *testing.T) {
	dir := t.TempDir()
	var in strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&in, "k%d.%d.x\tv\n", i%40, i)
	}
	os.WriteFile(dir+"/a", []byte(in.String()), 0o666)
	args := []string{
		"-D", "map.output.key.field.separator=.", "-D", "num.key.fields.for.partition=1", "-partitioner", "KeyFieldBasedPartitioner",
		"-numReduceTasks", "5", "-input", dir + "/a", "-output", dir + "/out", "-mapper", "cat", "-reducer", "cat",
	}
	if _, err := jobtest.Run(t.Context(), streaming.Definition(), args, jobtest.Options{}); err != nil {
		t.Fatal(err)
	}
	parts, err := jobtest.Output(dir + "/out")
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]int{} // file of a field
	lines := 0
	used := map[int]bool{}
	for p, part := range parts {
		for line := range strings.Lines(part) {
			field, _, _ := strings.Cut(line, ".")
			if other, there := of[field]; there && other != p {
				t.Fatalf("keys of %s are in file %d and in %d", field, other, p)
			}
			of[field], used[p] = p, true
			lines++
		}
	}
	if lines != 2000 || len(of) != 40 || len(used) < 3 {
		t.Errorf("%d lines of %d first fields in %d files", lines, len(of), len(used))
	}
}

// The reducers are chosen by size, and their files together are those of one reducer.
func TestReducersBySize(t *testing.T) {
	dir := t.TempDir()
	var in strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&in, "k%d\t%d\n", i%700, i)
	}
	os.WriteFile(dir+"/a", []byte(in.String()), 0o666)
	run := func(name string, extra ...string) (files int, lines string) {
		out := filepath.Join(dir, name)
		args := append(extra, "-input", dir+"/a", "-output", out, "-mapper", "cat", "-reducer", "cat", "-D", "mapreduce.input.fileinputformat.split.maxsize=5000")
		if _, err := jobtest.Run(t.Context(), streaming.Definition(), args, jobtest.Options{}); err != nil {
			t.Fatal(err)
		}
		parts, err := jobtest.Output(out)
		if err != nil {
			t.Fatal(err)
		}
		return len(parts), sortLines(strings.Join(parts, ""))
	}
	_, want := run("one")
	for _, c := range []struct {
		name        string
		least, most int
		args        []string
	}{
		{"large", 1, 1, []string{"-reduceBytes", "100000000"}},
		{"small", 3, 1000, []string{"-reduceBytes", "2000"}},
		{"named", 2, 4, []string{"-reduceBytes", "1", "-numReduceTasks", "4"}},
		{"split", 3, 1000, []string{"-reduceBytes", "2000", "-splitKeys"}},
	} {
		if files, got := run(c.name, c.args...); got != want || files < c.least || files > c.most {
			t.Errorf("%s: %d files, want %d to %d with the lines of one", c.name, files, c.least, c.most)
		}
	}
}

// The options reach the graph.
func TestReducersBySizeInTheGraph(t *testing.T) {
	for _, split := range []bool{false, true} {
		args := []string{"-input", "in", "-output", "out", "-mapper", "cat", "-reduceBytes", "4000"}
		if split {
			args = append(args, "-splitKeys")
		}
		task := job.Task{{Path: "in", Length: 9000}}
		g, err := job.Build(streaming.Definition(), args, job.Recorded([][]job.Task{{task}}, []string{"out"}))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := g.Connections()[0].Channel.Adapt, (job.Adapt{Partitions: 10, Bytes: 4000, Split: split}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

package streaming_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// TestWrongCommands: each ends in bounded time with an error that says which
// command, why, where in the graph and where in the input.
func TestWrongCommands(t *testing.T) {
	input := strings.Repeat("a line of text\n", 100_000) // more than a pipe holds
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"exits early with an error": {
			[]string{"-mapper", "sh -c 'head -n 1; echo no more >&2; exit 7'"},
			[]string{"stage map, node 0", "/a:", `command "sh"`, "exit status 7", "no more"},
		},
		"never reads its input": {
			[]string{"-D", "mapreduce.task.timeout=200", "-mapper", "sleep 3600"},
			[]string{"stage map, node 0", "/a:", `command "sleep"`, "read nothing, printed nothing and logged nothing for 200ms"},
		},
		"reads all and never ends": {
			[]string{"-D", "mapreduce.task.timeout=200", "-mapper", "sh -c 'cat; exec sleep 3600'"},
			[]string{"stage map, node 0", "for 200ms"},
		},
		"is a reducer that never reads": {
			// No command maps: one that a busy machine keeps waiting would be the quiet one.
			[]string{"-D", "mapreduce.task.timeout=200", "-mapper", "IdentityMapper", "-reducer", "sleep 3600"},
			[]string{"stage reduce, node 0", `command "sleep"`, "for 200ms"},
		},
		"is a combiner that fails": {
			[]string{"-mapper", "cat", "-combiner", "false"},
			[]string{"stage map, node 0", `command "false"`, "exit status 1"},
		},
		"is not there": {
			[]string{"-mapper", "no-such-command-at-all"},
			[]string{`command "no-such-command-at-all"`, "travel with the job"},
		},
		"has too many counters": {
			[]string{"-mapper", `awk 'NR <= 200 {print "reporter:counter:G,c" NR ",1" > "/dev/stderr"}'`},
			[]string{"more than 120 counters", "G:c121"},
		},
		"gives aggregate what it does not know": {
			[]string{"-mapper", "cat", "-reducer", "aggregate"},
			[]string{"stage reduce, node 0", "keys of the form TYPE:ID"},
		},
		"gives aggregate no number": {
			[]string{"-mapper", `sed "s/.*/LongValueSum:a\tmany/"`, "-reducer", "aggregate"},
			[]string{`"many" of the key "LongValueSum:a"`},
		},
		"gives aggregate a sum that no long holds": {
			[]string{"-mapper", `sed "s/.*/LongValueSum:a\t922337203685477580/"`, "-reducer", "aggregate"},
			[]string{`the key "LongValueSum:a"`, "no number of 64 bits"},
		},
		"counts further than a counter goes": {
			[]string{"-mapper", `awk '{print "reporter:counter:G,N,9223372036854775807" > "/dev/stderr"}'`},
			[]string{`the counter "G:N"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := story{files: map[string]string{"a": input}, args: append([]string{"-input", "DIR/a"}, c.args...)}.run(t)
			if err == nil {
				t.Fatal("the job succeeded")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
		})
	}
}

// TestDamagedInput: a mapper that got half of a file must not count as done.
func TestDamagedInput(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for i := range 100_000 {
		fmt.Fprintln(w, "line", i, i*i)
	}
	w.Close()
	half := packed.String()[:packed.Len()/2]
	_, _, err := story{files: map[string]string{"a.gz": half}, args: []string{"-input", "DIR/a.gz", "-mapper", "cat"}}.run(t)
	if err == nil {
		t.Fatal("the job succeeded")
	}
	for _, want := range []string{"stage map, node 0", `input of command "cat"`, "/a.gz at offset ", "of the stored file"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
}

// TestChildrenEnd: what a command leaves running ends with it, and the job is
// not held up.
func TestChildrenEnd(t *testing.T) {
	mark := fmt.Sprintf("3600.%d", os.Getpid())
	got, _, err := story{
		files: map[string]string{"a": "x\n"},
		args:  []string{"-input", "DIR/a", "-numReduceTasks", "0", "-mapper", "sh -c 'setsid sleep " + mark + " & sleep " + mark + " & cat'"},
	}.run(t)
	if err != nil || got != "x\t\n" {
		t.Errorf("%q %v", got, err)
	}
	deadline, tick := time.After(time.Minute), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for running("sleep\x00" + mark) {
		select {
		case <-deadline:
			t.Fatal("a child of the command is left")
		case <-tick.C: // a killed process takes a moment to go
		}
	}
}

// running says whether any process has such a command line.
func running(command string) bool {
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range processes {
		if line, _ := os.ReadFile(p); strings.HasPrefix(string(line), command) {
			return true
		}
	}
	return false
}

// TestNamesThatAreNotUTF8: what no message can carry is refused by name before any work.
func TestNamesThatAreNotUTF8(t *testing.T) {
	for name, args := range map[string][]string{
		"an input file": {"-input", "DIR", "-mapper", "cat"},
		"-cmdenv":       {"-input", "DIR/a", "-mapper", "cat", "-cmdenv", "X=r\xe9sum\xe9"},
		"-D":            {"-input", "DIR/a", "-mapper", "cat", "-D", "x.y=r\xe9sum\xe9"},
		"-output":       {"-input", "DIR/a", "-mapper", "cat", "-output", "DIR/r\xe9sum\xe9"},
	} {
		_, _, err := story{files: map[string]string{"a": "x\n", "r\xe9sum\xe9": "x\n"}, args: args}.run(t)
		if !errors.Is(err, job.ErrPermanent) || !strings.Contains(err.Error(), `r\xe9sum\xe9" is not UTF-8`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

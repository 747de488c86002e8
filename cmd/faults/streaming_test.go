package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// streaming runs a streaming command line, or a script that has one, against the
// cluster and returns what it prints.
func (c *cluster) streaming(args ...string) (string, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "HAMADRYAD_MANAGER="+c.address, "PATH="+binaries+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The examples with awk and python3, on real processes: files travel, and what
// commands print is what they print in a shell pipe.
func TestStreamingExamplesOnACluster(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 2})
	for _, e := range []struct {
		script, input string
		oracle        string // a shell's, from the input on standard input
		want          string // a part of what is printed
	}{
		{"wordcount.sh", strings.Repeat("the oak and the elm\nan oak\n", 5000), `tr ' ' '\n' | sort | uniq -c | awk '{print $2 "\t" $1}'`, "COMBINE_INPUT_RECORDS  35000"},
		{"hottest.sh", "oslo,jan,-4\noslo,jul,17\nx\nrome,aug,31\nrome,jan,9\n", `grep , | sort -t, -k1,1 -k3,3nr | awk -F, '$1 != c {print $1 "\t" $2 " " $3; c = $1}'`, "Weather:bad lines"},
	} {
		t.Run(e.script, func(t *testing.T) {
			in, out := c.write(e.script+".in", e.input), c.path(e.script+".out")
			printed, err := c.streaming("../../examples/streaming/"+e.script, in, out)
			if err != nil || !strings.Contains(printed, e.want) {
				t.Fatalf("%v, want %q\n%s", err, e.want, printed)
			}
			oracle := exec.Command("sh", "-c", "export LC_ALL=C; "+e.oracle)
			oracle.Stdin = strings.NewReader(e.input)
			want, err := oracle.Output()
			if err != nil {
				t.Fatal(err)
			}
			parts, err := jobtest.Output(out)
			if err != nil {
				t.Fatal(err)
			}
			got := []byte(strings.Join(parts, ""))
			if diff := firstDifference(lines(got), lines(want)); diff != "" || len(parts) != 2 {
				t.Errorf("in %d files: %s", len(parts), diff)
			}
		})
	}
}

// A command that hangs and has left children ends its job with an error that says
// where, and nothing of it is left: no process, no output.
func TestStreamingCommandThatHangs(t *testing.T) {
	c := startCluster(t, options{launchers: 1, slots: 2})
	in, out := c.write("in", strings.Repeat("a line\n", 100_000)), c.path("out")
	printed, err := c.streaming(filepath.Join(binaries, "hamadryad-streaming"), "-D", "mapreduce.task.timeout=1500", "-D", "mapreduce.map.maxattempts=1",
		"-input", in, "-output", out, "-mapper", "sh -c 'setsid sleep 7207 & echo stuck >&2; exec sleep 7207'")
	if err == nil {
		t.Fatalf("the job succeeded\n%s", printed)
	}
	for _, want := range []string{"job-1", "stage map, node 0", `command "sh"`, "nothing for 1.5s", "stuck", in} {
		if !strings.Contains(printed, want) {
			t.Errorf("no %q in\n%s", want, printed)
		}
	}
	noSleepLeft(t, "7207")
	eventually(t, "nothing of the output is left", func() bool {
		left, _ := filepath.Glob(out + "*")
		return len(left) == 0
	})
}

// A line too large for the task's memory fails the job with the first attempt: no
// other could read it.
func TestStreamingLineAboveTheBound(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 1})
	in, out := c.write("in", "a line\n"+strings.Repeat("x", 65<<20)+"\n"), c.path("out")
	printed, err := c.streaming(filepath.Join(binaries, "hamadryad-streaming"), "-input", in, "-output", out, "-mapper", "cat")
	if err == nil {
		t.Fatalf("the job succeeded\n%s", printed)
	}
	for _, want := range []string{"stage map, node 0", in + ":7", "larger than 67108864", "Memory of"} {
		if !strings.Contains(printed, want) {
			t.Errorf("no %q in\n%s", want, printed)
		}
	}
	status, err := c.command("status", "job-1", "--attempts")
	if attempts := regexp.MustCompile(`(?m)^attempt-[0-9]+ +map `).FindAllString(status, -1); err != nil || len(attempts) != 1 {
		t.Errorf("%d attempts (%v):\n%s", len(attempts), err, status)
	}
}

// A command that ends well and has left a daemon: the job succeeds, and the daemon
// ends with it.
func TestStreamingCommandThatLeavesADaemon(t *testing.T) {
	c := startCluster(t, options{launchers: 1, slots: 2})
	in, out := c.write("in", "a line\n"), c.path("out")
	printed, err := c.streaming(filepath.Join(binaries, "hamadryad-streaming"), "-input", in, "-output", out, "-numReduceTasks", "0",
		"-mapper", "sh -c 'setsid sleep 7208 </dev/null >/dev/null 2>&1 & cat'")
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	noSleepLeft(t, "7208")
}

// noSleepLeft waits until no process sleeps for so long any more.
func noSleepLeft(t *testing.T, seconds string) {
	t.Helper()
	eventually(t, "no process of the command is left", func() bool {
		processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, p := range processes {
			if line, _ := os.ReadFile(p); strings.HasPrefix(string(line), "sleep\x00"+seconds) {
				return false
			}
		}
		return true
	})
}

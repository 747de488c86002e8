package process

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// sh runs a shell script as a node's command does, and returns what it logged.
func sh(t *testing.T, script string, quiet time.Duration, p job.Pipes) (string, error) {
	t.Helper()
	var log bytes.Buffer
	site := Site{Info: job.Info{Job: "job-1", Stage: "map", Nodes: 1, Attempt: 7, Scratch: t.TempDir()}, Log: &log}
	err := Run(t.Context(), site, &job.Command{Args: []string{"sh", "-c", script}, Quiet: quiet}, p)
	return log.String(), err
}

// write is an In that writes text.
func write(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// into is an Out that keeps what it reads.
func into(b *bytes.Buffer) func(io.Reader) error {
	return func(r io.Reader) error {
		_, err := b.ReadFrom(r)
		return err
	}
}

func TestCommandReadsPrintsAndLogs(t *testing.T) {
	var out bytes.Buffer
	log, err := sh(t, "echo count:3 >&2; echo hello >&2; tr a-z A-Z", 0, job.Pipes{
		In: write("one two"), Out: into(&out),
		Err: func(line []byte) bool { return strings.HasPrefix(string(line), "count:") },
	})
	if err != nil || out.String() != "ONE TWO" || log != "hello\n" {
		t.Errorf("%v; output %q, log %q", err, out.String(), log)
	}
}

func TestCommandsExitCodeAndLastWords(t *testing.T) {
	_, err := sh(t, "echo no such luck >&2; exit 3", 0, job.Pipes{In: write(strings.Repeat("x", 1<<20))})
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.Contains(err.Error(), "no such luck") {
		t.Error(err)
	}
}

// A command need not read its input.
func TestCommandThatStopsReading(t *testing.T) {
	var out bytes.Buffer
	if _, err := sh(t, "echo enough", 0, job.Pipes{In: write(strings.Repeat("x", 1<<20)), Out: into(&out)}); err != nil || out.String() != "enough\n" {
		t.Errorf("%v %q", err, out.String())
	}
}

// A command that neither reads nor prints is killed, with its children.
func TestCommandThatHangs(t *testing.T) {
	for name, p := range map[string]job.Pipes{
		"input left":  {In: write(strings.Repeat("x", 1<<20))},
		"input ended": {In: write("x")},
		"no input":    {},
	} {
		_, err := sh(t, "sleep 1000 & wait", 200*time.Millisecond, p)
		if err == nil || !strings.Contains(err.Error(), "read nothing, printed nothing") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A command that waits for its input, or for its output to be read, is not quiet.
func TestQuietIsTheCommandsOwnFault(t *testing.T) {
	var a activity
	steps := []struct {
		what string
		do   func()
		want bool
	}{
		{"both ends are in the program's code", func() {}, false},
		{"the program waits for output, and computes input", a.reads.enter, false},
		{"it waits for both", a.feeds.enter, true},
		{"something was read", func() { a.note() }, false},
		{"and no more", func() {}, true},
		{"the program looks at output", a.reads.leave, false},
		{"the input is over and it waits for output", func() { a.feeds.end(); a.reads.enter() }, true},
		{"the output is over too", a.reads.end, true},
	}
	for _, s := range steps {
		s.do()
		if got := a.quiet(); got != s.want {
			t.Errorf("%s: quiet is %v", s.what, got)
		}
	}
}

func TestChildrenOfACommandAreNotLeft(t *testing.T) {
	var out bytes.Buffer
	// The child leaves the process group and holds standard output open.
	_, err := sh(t, "setsid sleep 1000 & echo $!", 0, job.Pipes{Out: into(&out)})
	if err != nil {
		t.Fatal(err)
	}
	late, look := time.After(time.Minute), time.NewTicker(5*time.Millisecond)
	defer look.Stop()
	for lives(strings.TrimSpace(out.String())) {
		select {
		case <-late:
			t.Fatal("the child lives")
		case <-look.C: // what is killed takes a moment to go
		}
	}
}

// lives reports whether a process sleeps, or is about to. One that has ended and only waits for its
// parent has no memory any more, and so no command line.
func lives(pid string) bool {
	line, err := os.ReadFile("/proc/" + pid + "/cmdline")
	return err == nil && strings.Contains(string(line), "sleep")
}

// A file that travels can be executed at once, whatever is started beside it.
func TestFilesCanBeExecutedAtOnce(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var others sync.WaitGroup
	defer others.Wait()
	defer stop()
	others.Go(func() {
		for ctx.Err() == nil {
			_ = exec.Command("true").Run()
		}
	})
	for range 20 {
		dir := t.TempDir()
		if err := Place(dir, []File{{Path: "/home/script", Executable: true, Data: append([]byte("#!/bin/sh\n#"), make([]byte, 1<<20)...)}}); err != nil {
			t.Fatal(err)
		}
		if err := exec.Command(filepath.Join(dir, "script")).Run(); err != nil {
			t.Fatal(err)
		}
	}
}

// Errors at the program's own ends of the pipes reach the caller of Run.
func TestPipesThatFail(t *testing.T) {
	broken := errors.New("broken")
	if _, err := sh(t, "cat", 0, job.Pipes{In: func(io.Writer) error { return broken }}); !errors.Is(err, broken) {
		t.Error("input:", err)
	}
	if _, err := sh(t, "yes", 0, job.Pipes{Out: func(io.Reader) error { return broken }}); !errors.Is(err, broken) {
		t.Error("output:", err)
	}
	defer func() {
		if p, ok := recover().(*Panic); !ok || p.Value != "oops" || !bytes.Contains(p.Stack, []byte("TestPipesThatFail")) {
			t.Errorf("panicked with %v", p)
		}
	}()
	_, _ = sh(t, "cat", 0, job.Pipes{In: func(io.Writer) error { panic("oops") }})
}

// The end of the context is SIGTERM, and SIGKILL when that does not help.
func TestCommandEndsWithItsContext(t *testing.T) {
	for _, script := range []string{"echo up; sleep 1000", "trap '' TERM; echo up; while :; do sleep 1; done"} {
		ctx, cancel := context.WithCancel(t.Context())
		site := Site{Info: job.Info{Scratch: t.TempDir()}, Log: io.Discard}
		c := &job.Command{Args: []string{"sh", "-c", script}, Grace: 100 * time.Millisecond}
		err := Run(ctx, site, c, job.Pipes{Out: func(r io.Reader) error {
			_, err := io.ReadFull(r, make([]byte, 3))
			cancel()
			return err
		}})
		if err == nil {
			t.Errorf("%q ended well", script)
		}
	}
}

// A function of Pipes that ends its goroutine did not return: what it had written so far is
// not all of the input.
func TestPipesThatEndTheirGoroutine(t *testing.T) {
	for name, p := range map[string]job.Pipes{
		"In":  {In: func(io.Writer) error { runtime.Goexit(); return nil }},
		"Out": {Out: func(io.Reader) error { runtime.Goexit(); return nil }},
		"Err": {Err: func([]byte) bool { runtime.Goexit(); return true }},
	} {
		if _, err := sh(t, "echo a line >&2; cat", 0, p); !errors.Is(err, errGoexit) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A script that can't start is named with its cause: shells say "not found" of the script itself.
func TestScriptsThatCannotStart(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"windows.sh": "#!/bin/sh\r\ncat\r\n", "lacks.sh": "#!/no/such/interpreter -x\ncat\n", "right.sh": "#!/bin/sh\nexit 127\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	site := Site{Info: job.Info{Job: "job-1", Stage: "map", Nodes: 1, Attempt: 7, Scratch: dir}, Log: io.Discard}
	for _, c := range []struct {
		args []string
		want string // "" for no message about scripts
	}{
		{[]string{"sh", "-c", "exec ./windows.sh -a"}, "carriage return"},
		{[]string{filepath.Join(dir, "windows.sh")}, "carriage return"},
		{[]string{"sh", "-c", "cat x; './lacks.sh'"}, "interpreter /no/such/interpreter, which is not on this machine"},
		{[]string{"sh", "-c", "./right.sh"}, ""},
		{[]string{"sh", "-c", "exit 3 # ./windows.sh"}, ""},
	} {
		err := Run(t.Context(), site, &job.Command{Args: c.args}, job.Pipes{})
		if err == nil || !strings.Contains(err.Error(), c.want) || (c.want == "") != !strings.Contains(err.Error(), "first line of") {
			t.Errorf("%q: %v", c.args, err)
		}
	}
}

// TestElementVariables: a command of a job array has its index and the array's bounds.
func TestElementVariables(t *testing.T) {
	e, err := job.ParseElements("3-9:3")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(elementVariables(&job.Info{Element: 6, Elements: e}), " ")
	if want := "HAMADRYAD_ELEMENT=6 HAMADRYAD_ELEMENT_COUNT=3 HAMADRYAD_ELEMENT_MIN=3 HAMADRYAD_ELEMENT_MAX=9"; got != want {
		t.Errorf("the variables are %s, want %s", got, want)
	}
	if got := elementVariables(&job.Info{}); len(got) > 0 {
		t.Errorf("a command of no array has %v", got)
	}
}

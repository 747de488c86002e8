package logs_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/launcher/internal/logs"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// read returns all that an ended log has kept.
func read(t *testing.T, log *logs.Log) string {
	t.Helper()
	r, err := log.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var text bytes.Buffer
	if err := r.CopyTo(t.Context(), &text, true); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// open opens the logs of a launcher that joined a manager.
func open(t *testing.T, o logs.Options) *logs.Logs {
	t.Helper()
	all, err := logs.New(o)
	if err != nil {
		t.Fatal(err)
	}
	all.JoinManager("m")
	return all
}

func noLoss(t *testing.T) func(int64) {
	return func(n int64) { t.Errorf("%d bytes were not kept", n) }
}

// A log keeps its beginning and its end, and reports how many bytes were dropped between them.
func TestKeepsBeginningAndEnd(t *testing.T) {
	all := open(t, logs.Options{Folder: t.TempDir(), Each: 8 << 10, Total: 1 << 20, OnUnkept: noLoss(t)})
	log := all.Open(1)
	var whole strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&whole, "line %d\n", i)
	}
	for part := range strings.SplitSeq(whole.String(), "7") {
		fmt.Fprint(log, part+"7")
	}
	log.End()
	read(t, log) // until all is on disk: a concurrent reader gets more
	text, want := read(t, log), whole.String()+"7"
	head, rest, found := strings.Cut(text, "\n[")
	note, tail, _ := strings.Cut(rest, "]\n")
	if !found || !strings.HasPrefix(want, head) || !strings.HasSuffix(want, tail) || len(head) != 4<<10 || len(tail) != 4<<10 {
		t.Errorf("of %d bytes it kept %d of the beginning and %d of the end", len(want), len(head), len(tail))
	}
	if !strings.HasPrefix(note, fmt.Sprintf("%d bytes dropped here", len(want)-(8<<10))) {
		t.Errorf("it says %q of %d bytes", note, len(want))
	}
	if last := log.Last(); last != "" && !strings.HasSuffix(want, last) {
		t.Errorf("its last words are %q", last)
	}
}

// Logs of ended attempts are removed to make room for newer ones, the oldest first.
func TestMakesRoom(t *testing.T) {
	folder := t.TempDir()
	all := open(t, logs.Options{Folder: folder, Each: 8 << 10, Total: 20 << 10, OnUnkept: noLoss(t)})
	var ended []*logs.Log
	for id := range uint64(4) {
		log := all.Open(id)
		fmt.Fprint(log, strings.Repeat("x", 2<<10))
		log.End()
		proctest.Until(t, time.Minute, "it is on the disk", func() bool { return len(read(t, log)) == 2<<10 })
		ended = append(ended, log)
	}
	proctest.Until(t, time.Minute, "the oldest has made room", func() bool {
		_, there := all.Find(0)
		files, err := filepath.Glob(filepath.Join(folder, "*.log"))
		return !there && err == nil && len(files) == 3
	})
	if got := read(t, ended[3]); len(got) != 2<<10 {
		t.Errorf("the newest has %d bytes", len(got))
	}
}

// An unwritable disk holds up nobody; lost bytes are counted, and the log reports them.
func TestADiskThatTakesNothing(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "none")
	lost := make(chan int64, 1)
	all := open(t, logs.Options{Folder: folder, Each: 8 << 10, Total: 1 << 20, OnUnkept: func(n int64) { lost <- n }})
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	log := all.Open(1)
	fmt.Fprint(log, "hello")
	if n := <-lost; n != 5 {
		t.Errorf("%d bytes were lost", n)
	}
	log.End()
	if text := read(t, log); !strings.Contains(text, "[5 bytes could not be kept") {
		t.Errorf("it says %q", text)
	}
}

// Output printed before another attempt began belongs to the previous attempt.
func TestPipe(t *testing.T) {
	all := open(t, logs.Options{Folder: t.TempDir(), Each: 8 << 10, Total: 1 << 20, OnUnkept: noLoss(t)})
	p, w, err := logs.NewPipe()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); p.Run() }()
	first, second := all.Open(1), all.Open(2)
	say := func(f *os.File, text string) {
		t.Helper()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	p.SwitchTo(first)
	say(w, "one ")
	p.SwitchTo(nil)
	say(w, "nobody's ")
	p.SwitchTo(second)
	say(w, "two")
	w.Close()
	<-ended
	if p.Last() != "two" {
		t.Errorf("the last words are %q", p.Last())
	}
	p.Close()
	first.End()
	second.End()
	if a, b := read(t, first), read(t, second); a != "one " || b != "two" {
		t.Errorf("the attempts' logs are %q and %q", a, b)
	}
}

// copyOf copies a folder as a launcher would leave it if it were killed now.
func copyOf(t *testing.T, folder string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "logs")
	if err := os.CopyFS(to, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	return to
}

// printsInto names the folder of logs into which this program prints until it is killed.
const printsInto = "HAMADRYAD_TEST_PRINTS_INTO"

func TestMain(m *testing.M) {
	if folder := os.Getenv(printsInto); folder != "" {
		printForEver(folder)
	}
	os.Exit(m.Run())
}

// printed is the i-th part of the output.
func printed(i int) string { return strings.Repeat(fmt.Sprintf("line %d\n", i), 100) }

// printForEver is a launcher with one log. It prints on its standard output which part it has
// logged.
func printForEver(folder string) {
	all, err := logs.New(logs.Options{Folder: folder, Each: 8 << 10, Total: 1 << 20})
	if err != nil {
		panic(err)
	}
	all.JoinManager("m")
	log := all.Open(7)
	for i := 0; ; i++ {
		fmt.Fprint(log, printed(i))
		if _, err := fmt.Println(i); err != nil {
			os.Exit(0)
		}
	}
}

// killedWhilePrinting returns the folder of a launcher that was killed after its log had some
// parts, and the most that it may have logged by then.
func killedWhilePrinting(t *testing.T, parts int) (folder, most string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "logs")
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), printsInto+"="+folder)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range parts {
		if !lines.Scan() {
			t.Fatalf("it ended: %v", c.Wait())
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		parts++
	}
	_ = c.Wait() // killed
	var whole strings.Builder
	for i := range parts + 1 { // it may not have reported the last part
		whole.WriteString(printed(i))
	}
	return folder, whole.String()
}

// Whenever a launcher is killed, the next one finds each log's beginning, and an end without gaps.
func TestStaysWhenKilled(t *testing.T) {
	const each = 8 << 10
	for _, parts := range []int{1, 2, 5, 9, 10, 11, 14, 20, 40, 200} {
		folder, whole := killedWhilePrinting(t, parts)
		next := open(t, logs.Options{Folder: folder, Each: 2 * each, Total: 1 << 20, OnUnkept: noLoss(t)})
		found, there := next.Find(7)
		if !there {
			continue // before its first byte was on the disk
		}
		text := read(t, found)
		head, tail, dropped := strings.Cut(text, "\n[")
		if dropped {
			_, tail, _ = strings.Cut(tail, "]\n")
		}
		if !strings.HasPrefix(whole, head) || !strings.Contains(whole, tail) {
			t.Fatalf("killed after part %d, it has %d and %d bytes that nobody printed so", parts, len(head), len(tail))
		}
	}
}

// A restarted launcher finds the log of its predecessor.
func TestStaysWhenEnded(t *testing.T) {
	const each = 8 << 10
	folder := filepath.Join(t.TempDir(), "logs")
	all := open(t, logs.Options{Folder: folder, Each: each, Total: 1 << 20, OnUnkept: noLoss(t)})
	log := all.Open(7)
	for i := range 40 {
		fmt.Fprint(log, printed(i))
	}
	log.End()
	proctest.Until(t, time.Minute, "all is on the disk", func() bool { return strings.HasSuffix(read(t, log), "line 39\n") })
	again := open(t, logs.Options{Folder: copyOf(t, folder), Each: each, Total: 1 << 20, OnUnkept: noLoss(t)})
	found, there := again.Find(7)
	if !there || read(t, found) != read(t, log) {
		t.Error("a launcher that starts again has not the log that the one before it had")
	}
}

// Files that are no logs, damaged logs, and logs of another manager's attempts are removed. Of the
// others as many are kept as the bounds allow, and for as long.
func TestWhatStays(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "logs")
	all := open(t, logs.Options{Folder: folder, Each: 8 << 10, Total: 1 << 20, OnUnkept: noLoss(t)})
	for id := range uint64(6) {
		log := all.Open(id)
		fmt.Fprint(log, "hello")
		log.End()
		proctest.Until(t, time.Minute, "it is on the disk", func() bool { return read(t, log) == "hello" })
	}
	old := time.Now().Add(-2 * time.Hour)
	for name, do := range map[string]func(path string) error{
		"a0.log": func(path string) error { return os.WriteFile(path, []byte("stray"), 0o600) },
		"a1.log": func(path string) error { return os.Rename(path, filepath.Join(folder, "a9.log")) },
		"a2.log": func(path string) error { return os.Chtimes(path, old, old) },
		"a3.log": func(path string) error { past := time.Now().Add(-time.Minute); return os.Chtimes(path, past, past) },
	} {
		if err := do(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	next := open(t, logs.Options{Folder: folder, Each: 8 << 10, Total: 1 << 20, Count: 2, KeepFor: time.Hour})
	for id, want := range []bool{4: true, 5: true, 9: false} {
		if log, there := next.Find(uint64(id)); there != want {
			t.Errorf("log %d is there: %v, want %v", id, there, want)
		} else if there && read(t, log) != "hello" {
			t.Errorf("log %d says something else", id)
		}
	}
	next.JoinManager("another manager")
	if names, err := os.ReadDir(folder); err != nil || len(names) > 0 {
		t.Errorf("another manager's launcher has %v, %v", names, err)
	}
}

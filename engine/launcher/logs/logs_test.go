package logs_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/launcher/logs"
	"github.com/hamadryad/hamadryad/internal/watch"
)

// read is all that a log has kept, which has ended.
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

func noLoss(t *testing.T) func(int64) {
	return func(n int64) { t.Errorf("%d bytes were not kept", n) }
}

// A log keeps its beginning and its end, and says how much lay between.
func TestKeepsBeginningAndEnd(t *testing.T) {
	all := logs.New(t.TempDir(), 8<<10, 1<<20, noLoss(t))
	log := all.Open(1)
	var whole strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&whole, "line %d\n", i)
	}
	for part := range strings.SplitSeq(whole.String(), "7") {
		fmt.Fprint(log, part+"7")
	}
	log.End()
	read(t, log) // until all is on disk: who reads beside the writer gets more
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

// Logs of attempts that ended make room for newer ones, the oldest first.
func TestMakesRoom(t *testing.T) {
	folder := t.TempDir()
	all := logs.New(folder, 8<<10, 20<<10, noLoss(t))
	var ended []*logs.Log
	for id := range uint64(4) {
		log := all.Open(id)
		fmt.Fprint(log, strings.Repeat("x", 2<<10))
		log.End()
		watch.Until(t, time.Minute, "it is on the disk", func() bool { return len(read(t, log)) == 2<<10 })
		ended = append(ended, log)
	}
	watch.Until(t, time.Minute, "the oldest has made room", func() bool {
		_, there := all.Find(0)
		files, err := filepath.Glob(filepath.Join(folder, "*.log"))
		return !there && err == nil && len(files) == 3
	})
	if got := read(t, ended[3]); len(got) != 2<<10 {
		t.Errorf("the newest has %d bytes", len(got))
	}
}

// A disk that takes nothing holds up nobody; what is lost is counted, and the log says so.
func TestADiskThatTakesNothing(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "none")
	lost := make(chan int64, 1)
	log := logs.New(folder, 8<<10, 1<<20, func(n int64) { lost <- n }).Open(1)
	fmt.Fprint(log, "hello")
	if n := <-lost; n != 5 {
		t.Errorf("%d bytes were lost", n)
	}
	log.End()
	if text := read(t, log); !strings.Contains(text, "[5 bytes could not be kept") {
		t.Errorf("it says %q", text)
	}
}

// What was printed before another attempt began belongs to the one before.
func TestPipe(t *testing.T) {
	all := logs.New(t.TempDir(), 8<<10, 1<<20, noLoss(t))
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

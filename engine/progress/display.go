// Package progress shows a person a job's progress, as a bar on a terminal and as lines elsewhere,
// and its end. Programs that submit jobs and `hamadryad attach` show the same.
//
//	d := progress.New(os.Stderr, "job-7 wordcount")
//	status, err := manager.Watch(ctx, 7, d.Update)
//	d.Close()
//	progress.Succeeded(os.Stderr, status, elapsed)
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Display shows a job's progress. Its methods are safe for concurrent use.
type Display interface {
	// Update takes the job's newest status.
	Update(*wire.JobStatus)
	// Note shows a message for the person now, on a line of its own.
	Note(string)
	// Close ends the display. Nothing is shown after it.
	Close()
}

// Steps shows how many steps of a process other than a job are done, and the current one. Its
// methods are for one goroutine.
type Steps struct {
	bar   *bar
	lines *lines
}

// NewSteps chooses a bar or lines, as New does.
func NewSteps(w io.Writer, title string) *Steps {
	if f, ok := w.(*os.File); ok && IsTerminal(f) {
		return &Steps{bar: newBar(f, title)}
	}
	return &Steps{lines: &lines{out: w, title: title}}
}

// Step shows that a step begins, after so many of all.
func (s *Steps) Step(name string, done, all int) {
	if s.bar != nil {
		s.bar.show(name, int64(done), int64(all))
		return
	}
	s.lines.show(fmt.Sprintf("%d/%d: %s", done, all, name))
}

// Close ends the display.
func (s *Steps) Close() {
	if s.bar != nil {
		s.bar.Close()
		return
	}
	s.lines.drop()
}

// New chooses a bar where w is a terminal, and lines otherwise, at most one a
// second.
func New(w io.Writer, title string) Display {
	if f, ok := w.(*os.File); ok && IsTerminal(f) {
		return newBar(f, OneLine(title))
	}
	return &lines{out: w, title: OneLine(title)}
}

// Silent is a display that shows nothing.
type Silent struct{}

// Update implements Display.
func (Silent) Update(*wire.JobStatus) {}

// Note implements Display.
func (Silent) Note(string) {}

// Close implements Display.
func (Silent) Close() {}

// IsTerminal says whether a writer is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// line is a job's progress in one line: its stages, or why it waits.
func line(s *wire.JobStatus) string {
	var parts []string
	for _, stage := range s.Stages {
		if stage.Nodes == 0 {
			continue
		}
		part := fmt.Sprintf("%s %d/%d", OneLine(stage.Name), stage.Finished, stage.Nodes)
		if stage.Running > 0 {
			part += fmt.Sprintf(" (%d run)", stage.Running)
		}
		parts = append(parts, part)
	}
	text := strings.Join(parts, ", ")
	switch {
	case s.GetSummary().GetState() == wire.JobState_JOB_STATE_FINISHING && s.Failure == nil:
		text += "; publishes its output"
	case s.GetSummary().GetState() == wire.JobState_JOB_STATE_FINISHING:
		text += "; cleans up"
	case s.GetSummary().GetState() == wire.JobState_JOB_STATE_KILLING:
		text += "; is being killed"
	case s.GetSummary().GetGroupsRunning() == 0 && len(s.Waiting) > 0:
		text += "; waits: " + OneLine(s.Waiting[0])
	}
	return text
}

// lineEvery is the least time between two lines.
const lineEvery = time.Second

// lines prints progress for logs and pipes: when it changed, at most one line a
// second, and none later than that.
type lines struct {
	mu      sync.Mutex
	out     io.Writer
	title   string
	printed time.Time
	last    string      // line printed last
	pending string      // newest line, if it was not printed
	later   *time.Timer // prints it; nil when none is due
}

// Update implements Display.
func (l *lines) Update(s *wire.JobStatus) { l.show(line(s)) }

func (l *lines) show(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text == l.last {
		l.pending = ""
		return
	}
	l.pending = text
	wait := lineEvery - time.Since(l.printed)
	switch {
	case wait <= 0:
		l.flush()
	case l.later == nil: // the next status may come much later
		l.later = time.AfterFunc(wait, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.later = nil
			l.flush()
		})
	}
}

// flush prints the pending text. The caller holds mu.
func (l *lines) flush() {
	if l.pending != "" {
		l.printed = time.Now()
		fmt.Fprintf(l.out, "%s: %s\n", l.title, l.pending)
		l.last, l.pending = l.pending, ""
	}
}

// Note implements Display.
func (l *lines) Note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.out, "%s: %s\n", l.title, scheduler.PrintableText(text))
}

// drop ends the display without the pending line.
func (l *lines) drop() {
	l.mu.Lock()
	l.pending = ""
	l.mu.Unlock()
	l.Close()
}

// Close implements Display.
func (l *lines) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.later != nil {
		l.later.Stop()
	}
	l.flush()
}

// bar draws a progress bar on a terminal.
type bar struct {
	file *os.File
	all  *mpb.Progress
	bar  *mpb.Bar
	mu   sync.Mutex
	text string
}

func newBar(f *os.File, title string) *bar {
	b := &bar{file: f, all: mpb.New(mpb.WithOutput(f))}
	b.bar = b.all.New(0, mpb.BarStyle().Lbound("[").Filler("=").Tip(">").Padding(" ").Rbound("]"),
		mpb.BarWidth(40),
		mpb.PrependDecorators(decor.Name(title+" "), decor.Elapsed(decor.ET_STYLE_GO)),
		mpb.AppendDecorators(decor.CountersNoUnit("%d/%d "), decor.Any(func(decor.Statistics) string { return b.current() })))
	return b
}

func (b *bar) current() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text
}

// Update implements Display.
func (b *bar) Update(s *wire.JobStatus) {
	b.show(line(s), int64(s.GetSummary().GetGroupsFinished()), int64(s.GetSummary().GetGroups()))
}

func (b *bar) show(text string, done, all int64) {
	b.mu.Lock()
	b.text = text
	b.mu.Unlock()
	// Total is never "complete" here: Close ends the bar, whatever became of the job.
	b.bar.SetTotal(all, false)
	b.bar.SetCurrent(done)
}

// Note implements Display.
func (b *bar) Note(text string) {
	b.home()
	_, _ = b.all.Write([]byte(scheduler.PrintableText(text) + "\n"))
}

// home puts the cursor at the beginning of its line: the terminal has moved it by the ^C that it
// shows, and the next frame would begin there.
func (b *bar) home() { _, _ = b.file.WriteString("\r") }

// Close implements Display.
func (b *bar) Close() {
	b.home()
	b.bar.Abort(false) // it stays as it is; no effect if it is complete
	b.all.Wait()
}

package app

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

// display shows a job's progress. Its methods are safe for concurrent use.
type display interface {
	update(*wire.JobStatus)
	note(string) // something the person should see now
	close()
}

// display chooses a bar for terminals, and lines otherwise.
func (c *Client) display(id scheduler.JobID, name string) display {
	if c.options.quiet {
		return silent{}
	}
	if f, ok := c.show.(*os.File); ok && isTerminal(f) {
		return newBar(f, fmt.Sprintf("%s %s", id, name))
	}
	return &lines{out: c.show, title: fmt.Sprintf("%s %s", id, name)}
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

type silent struct{}

func (silent) update(*wire.JobStatus) {}
func (silent) note(string)            {}
func (silent) close()                 {}

// progress is a job's progress in one line: its stages, or why it waits.
func progress(s *wire.JobStatus) string {
	var parts []string
	for _, stage := range s.Stages {
		if stage.Nodes == 0 {
			continue
		}
		part := fmt.Sprintf("%s %d/%d", stage.Name, stage.Finished, stage.Nodes)
		if stage.Running > 0 {
			part += fmt.Sprintf(" (%d run)", stage.Running)
		}
		parts = append(parts, part)
	}
	text := strings.Join(parts, ", ")
	if s.GetSummary().GetGroupsRunning() == 0 && len(s.Waiting) > 0 {
		text += "; waits: " + s.Waiting[0]
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

func (l *lines) update(s *wire.JobStatus) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := progress(s)
	if line == l.last {
		l.pending = ""
		return
	}
	l.pending = line
	wait := lineEvery - time.Since(l.printed)
	switch {
	case wait <= 0:
		l.flush()
	case l.later == nil: // the job may say nothing more for long
		l.later = time.AfterFunc(wait, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.later = nil
			l.flush()
		})
	}
}

// flush prints what is pending. The caller holds mu.
func (l *lines) flush() {
	if l.pending != "" {
		l.printed = time.Now()
		fmt.Fprintf(l.out, "%s: %s\n", l.title, l.pending)
		l.last, l.pending = l.pending, ""
	}
}

func (l *lines) note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.out, "%s: %s\n", l.title, text)
}

func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.later != nil {
		l.later.Stop()
	}
	l.flush()
}

// bar draws a progress bar on a terminal.
type bar struct {
	all  *mpb.Progress
	bar  *mpb.Bar
	mu   sync.Mutex
	text string
}

func newBar(f *os.File, title string) *bar {
	b := &bar{all: mpb.New(mpb.WithOutput(f))}
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

func (b *bar) update(s *wire.JobStatus) {
	b.mu.Lock()
	b.text = progress(s)
	b.mu.Unlock()
	// Total is never "complete" here: close ends the bar, whatever became of the job.
	b.bar.SetTotal(int64(s.GetSummary().GetGroups()), false)
	b.bar.SetCurrent(int64(s.GetSummary().GetGroupsFinished()))
}

func (b *bar) note(text string) { _, _ = b.all.Write([]byte(text + "\n")) }

func (b *bar) close() {
	b.bar.Abort(false) // it stays as it stands; nothing if it is complete
	b.all.Wait()
}

// summary prints time, locality, counters and outputs of a job that succeeded.
func (c *Client) summary(r *Result, locality string) {
	if c.options.quiet || r.State != "succeeded" {
		return
	}
	fmt.Fprintf(c.show, "%s %s succeeded in %v\n", r.Job, r.Name, r.Elapsed.Round(time.Millisecond))
	if locality != "" {
		fmt.Fprintf(c.show, "attempts that read files: %s\n", locality)
	}
	width := 0
	for _, x := range r.Counters {
		width = max(width, len(x.Name))
	}
	for _, x := range r.Counters {
		fmt.Fprintf(c.show, "  %-*s %d\n", width, x.Name, x.Value)
	}
	for _, out := range r.Outputs {
		fmt.Fprintf(c.show, "output: %s\n", out)
	}
}

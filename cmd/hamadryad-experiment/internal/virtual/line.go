package virtual

import (
	"bytes"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/report"
	"github.com/hamadryad/hamadryad/laboratory/report/drawing"
	"github.com/hamadryad/hamadryad/laboratory/report/timeline"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// lineOf is which slots of a kind jobs held over time; a job's party is its id.
func lineOf(w *workload.Workload, r *report.Recorder, kind scheduler.SlotKind) timeline.Line {
	var parties []string
	for i := range w.Jobs {
		parties = append(parties, w.Jobs[i].ID)
	}
	var list []timeline.Span
	kept, _ := r.Spans()
	for _, s := range kept {
		if s.Kind == kind {
			list = append(list, timeline.Span{Party: parties[s.Job], Slots: s.Slots, Start: s.From, End: s.To})
		}
	}
	return timeline.New(parties, list)
}

// drawLine draws one in the lab's folder.
func (l *Lab) drawLine(name, title string, line timeline.Line, slots int, marks ...drawing.Mark) error {
	var svg bytes.Buffer
	if err := line.Chart(&svg, title, slots, marks...); err != nil {
		return err
	}
	return l.draw(name, svg.Bytes())
}

// meanLine is what parties held in the mean of several lines, in each of as many intervals.
func meanLine(lines []timeline.Line, every time.Duration) (steps []drawing.Step) {
	end := time.Duration(0)
	for _, l := range lines {
		end = max(end, l.End())
	}
	for at := time.Duration(0); at < end; at += every {
		s := drawing.Step{At: at, To: at + every, Held: make([]float64, len(lines[0].Parties))}
		for _, l := range lines {
			for p, n := range l.Mean(s.At, s.To) {
				s.Held[p] += n / float64(len(lines))
			}
		}
		steps = append(steps, s)
	}
	return steps
}

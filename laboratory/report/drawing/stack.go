package drawing

import (
	"fmt"
	"slices"
	"time"

	"github.com/hamadryad/hamadryad/internal/svg"
)

// Stack is what several parties hold over time, stacked.
type Stack struct {
	Title string
	// Y is the held quantity, with its unit, and Most the total.
	Y    string
	Most float64
	// Parties are from below.
	Parties []string
	// Steps are in order; gaps between them are 0.
	Steps []Step
	Marks []Mark
}

// Step is what the parties hold for a while.
type Step struct {
	At, To time.Duration
	Held   []float64 // by party
}

// Mark is a moment to be drawn with a dashed line.
type Mark struct {
	At   time.Duration
	Text string
}

// SVG draws it.
func (s *Stack) SVG() []byte {
	end := time.Duration(0)
	if len(s.Steps) > 0 {
		end = s.Steps[len(s.Steps)-1].To
	}
	f := newFrame(s.Title, svg.Times("time", end), svg.Linear(s.Y, s.Most, 8), usual)
	base := make([]float64, len(s.Steps))
	for p := range s.Parties {
		f.layer(s.Steps, base, p)
	}
	f.axes()
	for _, m := range s.Marks {
		x := f.px(m.At.Seconds())
		fmt.Fprintf(f, `<path class="d-axis" stroke-dasharray="4 3" d="M%.1f %d V%d"/>`, x, top-6, top+f.height)
		f.words(x+4, top-8, "start", m.Text, "")
	}
	names := slices.Clone(s.Parties)
	slices.Reverse(names)
	f.legend(names, func(i int) string { return block(len(names) - 1 - i) })
	return f.end()
}

// block is how a party's entry in a legend is drawn.
func block(i int) string { return fmt.Sprintf(`class="d-s%d" stroke-width="12"`, i%colours) }

// layer draws one party on top of base, and adds it to base.
func (f *frame) layer(steps []Step, base []float64, party int) {
	fmt.Fprintf(f, `<path class="d-f%d" d="`, party%colours)
	for i := 0; i < len(steps); {
		if steps[i].Held[party] == 0 {
			i++
			continue
		}
		k := i // adjoining steps are one shape: its top to the right, its bottom back
		fmt.Fprintf(f, "M%.1f %.1f", f.px(steps[i].At.Seconds()), f.py(base[i]))
		for ; k < len(steps) && steps[k].Held[party] != 0 && (k == i || steps[k].At == steps[k-1].To); k++ {
			fmt.Fprintf(f, "V%.1fH%.1f", f.py(base[k]+steps[k].Held[party]), f.px(steps[k].To.Seconds()))
		}
		for j := k - 1; j >= i; j-- {
			fmt.Fprintf(f, "V%.1fH%.1f", f.py(base[j]), f.px(steps[j].At.Seconds()))
		}
		f.WriteString("Z")
		i = k
	}
	f.WriteString(`"/>` + "\n")
	for i := range steps {
		base[i] += steps[i].Held[party]
	}
}

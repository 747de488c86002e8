package timeline

import (
	"io"

	"github.com/hamadryad/hamadryad/laboratory/report/drawing"
)

// Chart draws the slots of all parties on top of each other as an SVG picture.
// slots is the height of the drawing.
func (l Line) Chart(w io.Writer, title string, slots int, marks ...drawing.Mark) error {
	d := drawing.Stack{Title: title, Y: "slots held", Most: float64(slots), Parties: l.Parties, Marks: marks}
	for i, s := range l.Steps[:max(len(l.Steps)-1, 0)] {
		held := make([]float64, len(s.Counts))
		for p, n := range s.Counts {
			held[p] = float64(n)
		}
		d.Steps = append(d.Steps, drawing.Step{At: s.At, To: l.Steps[i+1].At, Held: held})
	}
	_, err := w.Write(d.SVG())
	return err
}

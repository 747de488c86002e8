package timeline

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/report/drawing"
)

const s = time.Second

// A holds two slots, of which B takes one over at 2 s; C is no party.
var line = New([]string{"A", "B"}, []Span{
	{"A", 1, 0, 4 * s}, {"A", 1, 0, 2 * s}, {"B", 1, 2 * s, 3 * s}, {"C", 5, 0, 9 * s},
})

func TestLineCountsSlotsOverTime(t *testing.T) {
	for at, want := range map[time.Duration][]int{
		-1: {0, 0}, 0: {2, 0}, 2*s - 1: {2, 0}, 2 * s: {1, 1}, 3 * s: {1, 0}, 4 * s: {0, 0},
	} {
		if got := line.At(at); !slices.Equal(got, want) {
			t.Errorf("at %v: %v, want %v", at, got, want)
		}
	}
	if got := line.Mean(s, 3*s); !slices.Equal(got, []float64{1.5, 0.5}) {
		t.Errorf("mean from 1 s to 3 s: %v, want 1.5 and 0.5", got)
	}
	if line.End() != 4*s {
		t.Errorf("it ends at %v, want 4 s", line.End())
	}
}

func TestFirstFindsCountsThatLast(t *testing.T) {
	if at, ok := line.First(0, []int{1, 1}, s); !ok || at != 2*s {
		t.Errorf("1 and 1 for a second from %v (%v), want 2 s", at, ok)
	}
	if _, ok := line.First(0, []int{1, 1}, s+1); ok {
		t.Error("1 and 1 lasted longer than a second")
	}
	if at, ok := line.First(1*s, []int{2, 0}, s); !ok || at != s {
		t.Errorf("2 and 0 from %v (%v), want 1 s", at, ok)
	}
}

func TestTableListsWhatChanges(t *testing.T) {
	var b strings.Builder
	if err := line.Table(&b, s); err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for l := range strings.Lines(b.String()) {
		rows = append(rows, strings.Fields(l))
	}
	want := [][]string{{"time", "A", "B", "all"}, {"0.00s", "2", "0", "2"}, {"2.00s", "1", "1", "2"}, {"3.00s", "1", "0", "1"}, {"4.00s", "0", "0", "0"}}
	if !slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("table\n%s", b.String())
	}
}

func TestChartIsWellFormedAndStacks(t *testing.T) {
	var b strings.Builder
	if err := line.Chart(&b, "A & B", 2, drawing.Mark{At: 2 * s, Text: "<B>"}); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
	}
	// B stands on A's one slot, in the upper half, for a quarter of the width.
	if want := `M420.0 206.0V56.0H570.0V206.0H420.0Z`; !strings.Contains(b.String(), want) {
		t.Errorf("the chart has no %s:\n%s", want, b.String())
	}
}

// Package svgtest parses drawings, for tests of the code that draws them.
package svgtest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"testing"
)

// Element is an element of a drawing.
type Element struct {
	Name    string
	Text    string // its own text, without that of elements inside
	Title   string // of its title element
	Attr    map[string]string
	Parents []*Element // from the outermost on
}

// Parse lists the elements of a drawing in their order. The drawing must be well-formed, with
// elements and text only.
func Parse(t testing.TB, drawn []byte) (list []*Element) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(drawn))
	var open []*Element
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("it is no XML: %v\n%s", err, drawn)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &Element{Name: token.Name.Local, Attr: map[string]string{}, Parents: slices.Clone(open)}
			for _, a := range token.Attr {
				e.Attr[a.Name.Local] = a.Value
			}
			open, list = append(open, e), append(list, e)
		case xml.EndElement:
			e := open[len(open)-1]
			if open = open[:len(open)-1]; e.Name == "title" {
				open[len(open)-1].Title = e.Text
			}
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].Text += string(token)
			}
		default:
			t.Fatalf("it has %T", token)
		}
	}
}

// At is the position of an element, with its parents' translations.
func (e *Element) At(t testing.TB) (x, y int) {
	t.Helper()
	for _, p := range append(slices.Clone(e.Parents), e) {
		if s, ok := p.Attr["transform"]; ok {
			var dx, dy int
			if _, err := fmt.Sscanf(s, "translate(%d %d)", &dx, &dy); err != nil {
				t.Fatal(err)
			}
			x, y = x+dx, y+dy
		}
	}
	return x + e.Integer(t, "x"), y + e.Integer(t, "y")
}

// Integer is an attribute's value, or 0 when it is missing.
func (e *Element) Integer(t testing.TB, attribute string) int {
	t.Helper()
	if e.Attr[attribute] == "" {
		return 0
	}
	n, err := strconv.Atoi(e.Attr[attribute])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

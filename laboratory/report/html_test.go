package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// checkMarkup reads a document to its end, and finds no element that runs or loads
// anything. It returns all text.
func checkMarkup(t *testing.T, name string, document []byte) string {
	t.Helper()
	var text strings.Builder
	d := xml.NewDecoder(bytes.NewReader(document))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return text.String()
		}
		if err != nil {
			t.Fatalf("%s is no XML: %v", name, err)
		}
		switch token := token.(type) {
		case xml.CharData:
			text.Write(token)
		case xml.StartElement:
			if slices.Contains([]string{"script", "link", "iframe", "object", "embed", "image", "img", "use", "foreignObject", "a"}, token.Name.Local) {
				t.Errorf("%s has an element %s", name, token.Name.Local)
			}
			for _, a := range token.Attr {
				if strings.HasPrefix(strings.ToLower(a.Name.Local), "on") || slices.Contains([]string{"href", "src"}, a.Name.Local) {
					t.Errorf("%s: an element %s has %s=%q", name, token.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
}

// The page is well-formed, has all names as text, and none as markup.
func TestHTML(t *testing.T) {
	c := Compare(runs(t, 1, 2))
	var b bytes.Buffer
	if err := c.HTML(&b); err != nil {
		t.Fatal(err)
	}
	text := checkMarkup(t, "the page", b.Bytes())
	for _, want := range []string{printable(policies[1].name), printable(hostile), "sojourn mean (s)", "hfsp − fifo"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if strings.ContainsAny(b.String(), "\u202e\u0085") {
		t.Error("names turn the writing round")
	}
	if n, all := strings.Count(b.String(), "://"), strings.Count(b.String(), "http://www.w3.org/"); n != all {
		t.Error("it names another place than the two of its own forms")
	}
	again := bytes.Buffer{}
	if err := c.HTML(&again); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Errorf("other bytes the second time (%v)", err)
	}
}

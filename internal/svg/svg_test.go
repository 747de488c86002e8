package svg

import (
	"encoding/xml"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis Axis
		want string
	}{
		{Linear("", 10, 5), "0 2 4 6 8 10"},
		{Linear("", 1, 5), "0 0.2 0.4 0.6 0.8 1"},
		{Linear("", 3, 8), "0 0.5 1 1.5 2 2.5 3"},
		{Linear("", 0, 5), "0 0.2 0.4 0.6 0.8 1"},
		{Times("", 100*time.Second), "0 10 20 30 40 50 60 70 80 90 100"},
		{Times("", time.Hour), "0 10 20 30 40 50 60"},
		{Times("", 30*time.Hour), "0 5 10 15 20 25 30"},
		{Logarithmic("", 3, 2000), "1 10 100 1000 10000"},
		{Logarithmic("", 10, 10), "10 100"},
	} {
		var got []string
		for _, tick := range c.axis.Ticks {
			got = append(got, tick.Label)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("the ticks are %v, want %s", got, c.want)
		}
	}
}

// Whatever the text, an XML parser reads it back as one text, with every character visible.
func TestTextIsNothingButText(t *testing.T) {
	for in, want := range map[string]string{
		"map":                                 "map",
		`<script>alert("1")</script>&'`:       `<script>alert("1")</script>&'`,
		"a\xffb\x00c\x1b[1m\u202e\u200fd\n\t": "a�b�c�[1m��d��",
		"שלום 世界":                             "שלום 世界",
		"]]>":                                 "]]>",
	} {
		var got struct {
			A string `xml:"a,attr"`
			T string `xml:",chardata"`
		}
		if err := xml.Unmarshal([]byte(`<x a="`+Text(in)+`">`+Text(in)+`</x>`), &got); err != nil || got.A != want || got.T != want {
			t.Errorf("%q became %+v (%v), want %q", in, got, err, want)
		}
	}
}

func TestCutKeepsWholeCharacters(t *testing.T) {
	for _, c := range []struct{ in, want string }{{"abcde", "abcde"}, {"abcdef", "abcd…"}, {"日本語日本語", "日本語日…"}, {"\xff\xff\xff\xff\xff\xff", "����…"}} {
		if got := Cut(c.in, 5); got != c.want || !utf8.ValidString(got) {
			t.Errorf("%q became %q, want %q", c.in, got, c.want)
		}
	}
}

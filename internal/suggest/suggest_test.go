package suggest

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"research/nlp", "research", "ann", "anna"}
	for word, want := range map[string]string{
		"reserch": "research", "Research": "research", "research/npl": "research/nlp", "an": "ann", "anne": "ann", "zoe": "", "": "", "x": "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
	if Hint("an", known) != "; did you mean ann?" || Hint("zoe", known) != "" {
		t.Error("the hint is another")
	}
}

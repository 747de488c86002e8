package policytest

import "testing"

func TestStoriesParse(t *testing.T) {
	if n := len(stories()); n < 9 {
		t.Errorf("%d stories", n)
	}
	for _, bad := range []string{"1x join 1", "1s", "1s fly 1", "1s submit a layer=2(default)", "1s submit a colour=red", "1s join 1 default=two"} {
		if _, err := parseStory(bad); err == nil {
			t.Errorf("%q is a story", bad)
		}
	}
}

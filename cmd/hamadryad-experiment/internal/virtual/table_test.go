package virtual

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// Each published claim has a verdict, and a row fails only where it does not come out as expected
// here: also one that holds, and none that is known to differ.
func TestVerdicts(t *testing.T) {
	var rows table
	rows.claim(true, "a", "1", "%d", 1).must()
	rows.claim(false, "b", "2", "%d", 3).because("of that").expect(true, "3")
	rows.claim(true, "c", "4", "%d", 4).because("of nothing")
	rows.cannot("d", "5", "there is no such disk")
	rows.measure("e", "%d", 6)
	var out bytes.Buffer
	if err := rows.print(&out); err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		`^a +1 +1 +holds +the same +ok`, `^b +2 +3: of that +differs +3 +ok`, `^c +4 +4 +holds +- +-`, `^d +5 +there is no such disk +not shown +- +-`, `^e +- +6 +- +- +-`,
		`^of what was published, 2 hold, 1 differ, 1 are not shown`,
	} {
		if !regexp.MustCompile("(?m)" + want).Match(out.Bytes()) {
			t.Errorf("there is no line %s in\n%s", want, out.String())
		}
	}
	rows.claim(true, "f", "7", "%d", 7).expect(false, "8")
	rows.claim(false, "g", "9", "%d", 1).must()
	if err := rows.print(&out); err == nil || !strings.Contains(err.Error(), "as expected: f; g") {
		t.Errorf("the error is %v", err)
	}
}

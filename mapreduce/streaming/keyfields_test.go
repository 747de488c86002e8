package streaming

import (
	"bytes"
	"math/big"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// sorted sorts lines by the options, ties in order of bytes.
func sorted(t *rapid.T, options string, lines []string) string {
	k, err := parseKeyFields(options, ",")
	if err != nil {
		t.Fatal(err)
	}
	all := append([]string(nil), lines...)
	for i := range all { // by insertion: no comparator is trusted to be an order
		for n := i; n > 0; n-- {
			c := k.compare([]byte(all[n]), []byte(all[n-1]))
			if c > 0 || c == 0 && all[n] >= all[n-1] {
				break
			}
			all[n], all[n-1] = all[n-1], all[n]
		}
	}
	return strings.Join(all, "\n")
}

// The options mean what they mean to sort.
func TestOrderIsThatOfSort(t *testing.T) {
	options := []string{"-k1,1", "-k2,2n", "-k2,2nr -k1,1", "-k1.2,1.3", "-k3", "-k2,3r", "-n", "-r", "-k2n -k1r", "-k2.2n", "-k1,2.1"}
	rapid.Check(t, func(t *rapid.T) {
		o := rapid.SampledFrom(options).Draw(t, "options")
		lines := rapid.SliceOfN(rapid.StringMatching(`[ab]{0,3}(,-?[0-9]{0,3}(\.[0-9]{0,2})?)?(,[ab]{0,2})?`), 1, 8).Draw(t, "lines")
		slices.Sort(lines) // with -s ties stay so
		cmd := exec.Command("sort", append(strings.Fields(o), "-s", "-t,")...)
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
		want, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		got := sorted(t, o, lines) + "\n"
		if got != string(want) {
			t.Fatalf("%s of %q:\n%swant\n%s", o, lines, got, want)
		}
	})
}

func TestNumbersCompareAsNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.StringMatching(`-?[0-9]{1,30}(\.[0-9]{1,30})?`)
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if c := compareNumbers([]byte(a), []byte(b)); sign(c) != x.Cmp(y) {
			t.Fatalf("%s and %s: %d", a, b, c)
		}
	})
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "0", 0}, {"x", "-0.0", 0}, {" 7", "007x", 0}, {"-1", "x", -1}, {".5", "0.50", 0}} {
		if got := compareNumbers([]byte(c.a), []byte(c.b)); sign(got) != c.want {
			t.Errorf("%q and %q: %d", c.a, c.b, got)
		}
	}
}

func sign(n int) int { return bytes.Compare([]byte{byte(1 + min(max(n, -1), 1))}, []byte{1}) }

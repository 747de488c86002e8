package elements

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"0-99999": "0-99999", "0-99:5": "0-95:5", "1,3,7-9": "1,3,7-9", "7-9,1,3": "1,3,7-9", "5": "5", "0-3,4-9": "0-9",
		"0-10:2,1-11:2": "0-11", "3-3": "3", "0-9:100": "0", "1,2": "1-2", "1,5": "1,5", "1,5,9": "1-9:4", "2147483647": "2147483647",
	} {
		s, err := Parse(text)
		if err != nil || s.String() != want {
			t.Errorf("%q is %q (%v), want %q", text, s, err, want)
		}
	}
}

// TestWrong: each wrong text has an error that says what is wrong and how to write it.
func TestWrong(t *testing.T) {
	for text, want := range map[string]string{
		"": "there is no index", "  ": "there is no index", "9-1": "goes backwards: write 1-9", "1,2,1": "index 1 is named twice", "0-9,5": "index 5 is named twice",
		"0-1000000": "up to 1000000 elements", "0-999999,2000000": "up to 1000000 elements", "x": "is no index", "1-": "is no index", "-1": "is no index", "1-2-3": "is no index",
		"0-9:0": "is no index", "7:2": "is no index", "1,,2": "is no index", "2147483648": "is no index", "+1": "is no index", "1.5": "is no index", "0-9%5": "is no index",
		strings.Repeat("1,", TextMax): "use ranges",
	} {
		if s, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q is %.20q with %v, want an error with %q", text, s, err, want)
		}
	}
	for _, runs := range [][]Run{{{0, 0, 1}}, {{0, 1, 0}}, {{0, 3, 2}, {4, 1, 1}}, {{5, 1, 1}, {1, 1, 1}}, {{1 << 31, 1, 1}}, {{0, 2, 1 << 31}}, {{0, Max, 1}, {Max, 1, 1}}} {
		if _, err := OfRuns(runs); err == nil {
			t.Errorf("%v is a set", runs)
		}
	}
}

// TestAgainstAList compares sets with the list of their indices.
func TestAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfNDistinct(rapid.Uint32Range(0, 60), 1, 40, func(x uint32) uint32 { return x }).Draw(t, "indices")
		slices.Sort(list)
		s := Of(list)
		back, err := Parse(s.String())
		if err != nil || !slices.Equal(back.runs, s.runs) || s.Len() != len(list) {
			t.Fatalf("%v is %q of %d, read again %q (%v)", list, s, s.Len(), back, err)
		}
		again, err := OfRuns(s.Runs())
		if err != nil || !slices.Equal(again.before, s.before) {
			t.Fatalf("the runs of %q make %q (%v)", s, again, err)
		}
		for index := range uint32(62) {
			want, is := slices.BinarySearch(list, index)
			if at, found := s.Find(index); found != is || found && (at != want || s.At(at) != index) {
				t.Fatalf("%q has %d at %d (%t), and it is at %d (%t)", s, index, at, found, want, is)
			}
		}
	})
}

func TestShort(t *testing.T) {
	if got := Of([]uint32{1, 3, 7, 8, 9, 20}).Short(); got != "1,3,7-9,20" {
		t.Error(got)
	}
	var many []uint32
	for i := range uint32(25) {
		many = append(many, i*i)
	}
	if got := Of(many).Short(); !strings.HasSuffix(got, ",361,400 and 4 more") {
		t.Error(got)
	}
}

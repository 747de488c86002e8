package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

func TestLengths(t *testing.T) {
	dir := t.TempDir()
	os.Mkdir(dir+"/in", 0o777)
	counts := make([]int, 100)
	for f := range 5 {
		var b strings.Builder
		for i := range 1000 {
			length := (i*i + f) % 100
			counts[length]++
			b.WriteString(strings.Repeat("x", length) + "\n")
		}
		os.WriteFile(fmt.Sprint(dir, "/in/", f), []byte(b.String()), 0o666)
	}
	var want strings.Builder
	for length, n := range counts {
		if n > 0 {
			fmt.Fprintf(&want, "%d\t%d\n", length, n)
		}
	}
	result, err := jobtest.Run(t.Context(), lengths, []string{dir + "/in", dir + "/out"}, jobtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(dir + "/out/lengths.txt"); string(got) != want.String() {
		t.Errorf("got\n%s\nwant\n%s", got, want.String())
	}
	if result.Counters["lines"] != 5000 {
		t.Errorf("counters %v", result.Counters)
	}
}

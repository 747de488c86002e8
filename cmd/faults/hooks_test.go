package faults

import (
	"fmt"
	"strings"
	"testing"
)

// Setup, TearDown, named outputs, a shared file and total order on real processes:
// what each file holds is known to the last byte.
func TestHooksOnACluster(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 2})
	digits := []string{"nought", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}
	var shared strings.Builder
	for i, name := range digits {
		fmt.Fprintf(&shared, "%d %s\n", i, name)
	}
	names := c.write("names.gz", packedBy(t, "gzip", shared.String()))
	const numbers = 5000
	var in, sorted, odd strings.Builder
	for i := range numbers {
		fmt.Fprintln(&in, i*3001%numbers-numbers/2)
	}
	for n := -numbers / 2; n < numbers/2; n++ {
		name := ""
		if n%10 >= 0 {
			name = digits[n%10]
		}
		fmt.Fprintf(&sorted, "%d\t%s\n", n, name)
		if n%2 != 0 {
			fmt.Fprintf(&odd, "%d\t%s\n", n, name)
		}
	}
	j := c.odd(t, "hooks", c.write("numbers", in.String()), names)
	parts := j.files("part-r-*")
	if got := j.joined("part-r-*"); got != sorted.String() || len(parts) != 3 {
		t.Errorf("%d files, not in order:\n%s", len(parts), tail(got, 1000))
	}
	for name, part := range parts {
		if n := strings.Count(part, "\n"); n < numbers/10 {
			t.Errorf("%s has %d of %d records: the ranges are not even", name, n, numbers)
		}
	}
	if got := sortedLines(j.joined("odd-m-*")); got != sortedLines(odd.String()) {
		t.Errorf("odd numbers:\n%s", tail(got, 1000))
	}
	for pattern, tasks := range map[string]int{"seen-m-*": len(in.String())/500 + 1, "seen-r-*": 3} {
		var sum int
		files := j.files(pattern)
		for name, text := range files {
			var n int
			if _, err := fmt.Sscanf(text, "records\t%d\n", &n); err != nil {
				t.Errorf("%s: %q", name, text)
			}
			sum += n
		}
		if sum != numbers || len(files) != tasks {
			t.Errorf("%s: %d files tell of %d records, want %d of %d", pattern, len(files), sum, tasks, numbers)
		}
	}
}

// A mapper fails, and another panics, on bad records. These are skipped and saved, without any
// output. One more than allowed fails the job.
func TestSkippedRecordsOnACluster(t *testing.T) {
	c := startCluster(t, options{launchers: 2, slots: 2})
	in := c.write("words", "oak elm\nbad oak\nelm\nworse elm\noak ash\n")
	skipped := fmt.Sprintf("%q\t8\t%q\t\"bad oak\"\n%q\t20\t\"panic: worse than bad\"\t\"worse elm\"\n", in, `"bad oak" is no word`, in)
	for name, want := range map[string]map[string]string{
		"skips":          {"part-r-00000": "ash\t1\nelm\t2\noak\t2\n", "_skipped-m-00000": skipped},
		"skips-map-only": {"part-m-00000": "oak\t1\nelm\t1\nelm\t1\noak\t1\nash\t1\n", "_skipped-m-00000": skipped},
	} {
		t.Run(name, func(t *testing.T) {
			j := c.odd(t, name, in, "2")
			got := j.files("*")
			if delete(got, "_SUCCESS"); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
			if !strings.Contains(j.printed, "SKIPPED_RECORDS") {
				t.Errorf("no counter in\n%s", j.printed)
			}
			c.odd(t, name, in, "1").fails("stage map, node 0", in+":20", "worse than bad", "after 1 bad records")
		})
	}
}

// An output that can't be opened fails its job and leaves no file.
func TestOutputThatCantBeOpened(t *testing.T) {
	c := startCluster(t, options{launchers: 1, slots: 2})
	in := c.write("in", "a\nb\n")
	c.odd(t, "opens-badly", in).fails("stage reduce, node ", "the output's schema is wrong")
	c.odd(t, "opens-badly-map-only", in).fails("stage map, node ", "the output's schema is wrong")
}

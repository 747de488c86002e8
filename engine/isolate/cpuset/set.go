package cpuset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Set are processors by their numbers, in order, each once.
type Set []int

// Parse reads a list as Linux writes it, such as "0-3,8". No text is no processor.
func Parse(list string) (Set, error) {
	var s Set
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		if part == "" {
			continue
		}
		low, high, ranged := strings.Cut(part, "-")
		if !ranged {
			high = low
		}
		// Linux has no larger numbers, so a list is never long.
		first, err1 := strconv.ParseUint(low, 10, 16)
		last, err2 := strconv.ParseUint(high, 10, 16)
		if err1 != nil || err2 != nil || last < first {
			return nil, fmt.Errorf("%q is no list of processors", list)
		}
		for n := first; n <= last; n++ {
			s = append(s, int(n))
		}
	}
	return ordered(s), nil
}

// String is the list as Linux reads it.
func (s Set) String() string {
	words := make([]string, len(s))
	for i, n := range s {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

// Has reports whether a processor is in the set.
func (s Set) Has(processor int) bool {
	_, found := slices.BinarySearch(s, processor)
	return found
}

// ordered makes a set of numbers, which it keeps.
func ordered(numbers []int) Set {
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

package rivals

import (
	"fmt"
	"io"
	"strings"
)

// Write prints the medians of all contenders, with how many times as good ours is beside each
// rival's. Below the table it says why a value is missing.
func Write(w io.Writer, contenders []Contender, rows []Row) {
	fmt.Fprintf(w, "%-28s %-8s", "", "")
	for _, c := range contenders {
		fmt.Fprintf(w, " %20s", c.Title())
	}
	fmt.Fprintln(w)
	var why []string
	for _, r := range rows {
		fmt.Fprintf(w, "%-28s %-8s", r.Title, r.Unit)
		for i, c := range contenders {
			if err := r.Errors[i]; err == nil {
				fmt.Fprintf(w, " %20s", cell(r, i))
				continue
			} else if !strings.HasPrefix(r.Title, " ") {
				why = append(why, fmt.Sprintf("%s has no figure for %q: %v", c.Title(), r.Title, err))
			}
			fmt.Fprintf(w, " %20s", "none")
		}
		fmt.Fprintln(w)
	}
	for _, line := range why {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(line))
	}
}

// cell is a median, and of a rival the ratio by which ours is better.
func cell(r Row, i int) string {
	value, ours := quantile(r.Values[i], 0.5), quantile(r.Values[0], 0.5)
	if i == 0 {
		return fmt.Sprintf("%.4g", value)
	}
	ratio := value / ours
	if r.Higher {
		ratio = ours / value
	}
	return fmt.Sprintf("%.4g (%.2f)", value, ratio)
}

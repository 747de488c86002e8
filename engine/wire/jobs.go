package wire

import "cmp"

// ByEnd orders ended jobs by the time of their end, then by number.
func ByEnd(x, y *JobSummary) int {
	return cmp.Or(cmp.Compare(x.GetEnded(), y.GetEnded()), cmp.Compare(x.GetJob(), y.GetJob()))
}

package workload

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// MachineMax bounds the processors of a machine that a file names.
const MachineMax = 1 << 30

// swfHeader reads a comment of a header that names the size of the machine, such as
//
//	; MaxProcs: 128
//
// A number that is none, or out of bounds, is as good as missing: comments are free.
func swfHeader(comment string, m *Machine) {
	key, value, _ := strings.Cut(comment, ":")
	value = strings.TrimSpace(value)
	if end := strings.IndexFunc(value, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		value = value[:end] // a remark may follow
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > MachineMax {
		return
	}
	switch strings.TrimSpace(key) {
	case "MaxNodes":
		m.Nodes = n
	case "MaxProcs":
		m.Processors = n
	}
}

// swfMachine is the machine of a header. Where that has no size, it is the smallest machine on which
// the jobs ran as the file says.
func swfMachine(m Machine, held holdings) Machine {
	if m.Nodes == 0 && m.Processors == 0 {
		n := held.most()
		return Machine{Processors: n, Seen: n > 0}
	}
	m.Processors = max(m.Processors, m.Nodes)
	return m
}

// holdings are when jobs began and ended to hold processors.
type holdings []holding

type holding struct {
	at         float64 // seconds
	processors int     // negative at the end
}

// add adds a job of a line, unless it is unknown when it ran.
func (h *holdings) add(row [swfAll]float64) {
	if row[swfWait] < 0 {
		return
	}
	n := int(row[swfAllocated])
	if n <= 0 {
		n = int(row[swfRequested])
	}
	starts := row[swfSubmit] + row[swfWait]
	*h = append(*h, holding{starts, n}, holding{starts + row[swfRun], -n})
}

// most is the largest number of processors that were held at once.
func (h holdings) most() (most int) {
	slices.SortFunc(h, func(a, b holding) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.processors, b.processors)) // ends first
	})
	now := 0
	for _, x := range h {
		now += x.processors
		most = max(most, now)
	}
	return min(most, MachineMax)
}

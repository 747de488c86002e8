package streaming

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/mapreduce"
)

// countersMax is how many counters one command may have, as in Hadoop by default.
const countersMax = 120

// reports parses what a command reports in lines of standard error:
//
//	reporter:counter:GROUP,COUNTER,AMOUNT
//	reporter:status:MESSAGE
//
// A counter is called GROUP:COUNTER. A malformed report goes to the log, as other lines do.
type reports struct {
	t      *mapreduce.Task
	prefix string
	seen   map[string]bool
	err    error
}

// line parses a line of standard error and reports whether it was a report.
func (r *reports) line(line []byte) bool {
	if !bytes.HasPrefix(line, []byte(r.prefix)) {
		return false
	}
	text := strings.TrimSpace(string(line[len(r.prefix):]))
	if status, ok := strings.CutPrefix(text, "status:"); ok {
		r.t.Node().Log().Info(status)
		return true
	}
	counter, ok := strings.CutPrefix(text, "counter:")
	parts := strings.Split(counter, ",")
	if !ok || len(parts) != 3 {
		return false
	}
	amount, err := strconv.ParseInt(strings.TrimSpace(parts[2]), 10, 64)
	if err != nil {
		return false
	}
	r.count(parts[0]+":"+parts[1], amount)
	return true
}

func (r *reports) count(name string, amount int64) {
	if !r.seen[name] {
		if r.err != nil {
			return
		}
		if len(r.seen) == countersMax {
			r.err = fmt.Errorf("the command has more than %d counters (%q is one too many): counters are for a few sums, write the rest as output", countersMax, name)
			return
		}
		if r.seen == nil {
			r.seen = map[string]bool{}
		}
		r.seen[name] = true
	}
	r.t.Count(name, amount)
}

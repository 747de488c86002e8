package job_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// A sum that an int64 can't hold is refused with the counter's name, and changes nothing.
func TestACounterNeverGoesRound(t *testing.T) {
	c := job.Counters{}
	for _, step := range []struct {
		delta, want int64
		refused     bool
	}{
		{math.MaxInt64, math.MaxInt64, false},
		{1, math.MaxInt64, true},
		{0, math.MaxInt64, false},
		{math.MinInt64, -1, false},
		{math.MinInt64, -1, true},
		{-math.MaxInt64, math.MinInt64, false},
		{-1, math.MinInt64, true},
	} {
		err := c.Add("rows", step.delta)
		if (err != nil) != step.refused || c["rows"] != step.want {
			t.Errorf("after %d it is %d, want %d; %v", step.delta, c["rows"], step.want, err)
		}
		if err != nil && (!errors.Is(err, job.ErrPermanent) || !strings.Contains(err.Error(), `"rows"`)) {
			t.Error(err)
		}
	}
}

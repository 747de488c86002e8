package proctest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestOutputOfManyWriters(t *testing.T) {
	var o Output
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { fmt.Fprintln(&o, "line") })
		_ = o.String()
	}
	all.Wait()
	if got := o.String(); got != strings.Repeat("line\n", 10) {
		t.Errorf("%q", got)
	}
}

// failed takes a test's end instead of ending it.
type failed struct {
	testing.TB
	said string
}

func (*failed) Helper() {}

func (f *failed) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	panic(f)
}

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		Until(t, time.Second, "half of it is over", func() bool { return time.Since(start) >= time.Second/2 })
		if took := time.Since(start); took != time.Second/2 {
			t.Errorf("waited for %v", took)
		}
		f := &failed{TB: t}
		defer func() {
			if recover() != f || f.said != "after 1s still not: never" || time.Since(start) != time.Second*3/2 {
				t.Errorf("%q after %v", f.said, time.Since(start))
			}
		}()
		Until(f, time.Second, "never", func() bool { return false })
	})
}

package asynclog

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Logging does not wait even if the reader stalls. When the reader continues, lines come in order,
// with a note on what is missing.
func TestLogDoesNotWaitForItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		l := New(w)
		for i := range 2 * linesMax {
			fmt.Fprintln(l, "line", i)
		}
		l.Flush(time.Second)
		var got strings.Builder
		read := make(chan struct{})
		go func() { _, _ = io.Copy(&got, r); close(read) }()
		synctest.Wait()
		fmt.Fprintln(l, "the last")
		l.Flush(time.Second)
		w.Close()
		<-read
		close(l.queue)
		text := got.String()
		if !strings.HasPrefix(text, "line 0\n") || !strings.Contains(text, "lines of the log were dropped here") || !strings.HasSuffix(text, "the last\n") {
			t.Errorf("%.60q ... %q", text, text[max(0, len(text)-100):])
		}
	})
}

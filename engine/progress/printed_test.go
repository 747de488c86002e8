package progress

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What tasks print gives a terminal no orders, wherever its pieces end, and goes into pipes as it is.
func TestPrintedGivesATerminalNoOrders(t *testing.T) {
	const text = "ü\x1b]0;title\x07\x9b31m\n€"
	for cut := range len(text) {
		var to bytes.Buffer
		w := &printed{to: Safe(&to)}
		for _, piece := range []string{text[:cut], text[cut:]} {
			if n, err := w.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Fatal(n, err)
			}
		}
		if got := to.String(); strings.ContainsAny(got, "\x1b\x07") || strings.Contains(got, "\x9b") || !strings.HasPrefix(got, "ü") || !strings.HasSuffix(got, "\n€") {
			t.Errorf("cut at %d: %q", cut, got)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if Printed(Safe(w)) != w {
		t.Error("a pipe does not get it as it is")
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal("no terminal can be opened here: mount devpts at /dev/pts")
	}
	defer terminal.Close()
	if _, safe := Printed(Safe(terminal)).(*printed); !safe {
		t.Error("a terminal gets it as it is")
	}
}

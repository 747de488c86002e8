package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/policy/plugintest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func TestFloodIsCounted(t *testing.T) {
	h, book := launch(t, plugintest.Flood)
	start(t, h)
	began, n := time.Now(), uint64(0)
	eventually(t, "lines of the flood are dropped", func() bool {
		n++
		if _, err := h.AssignTasks(within(t), smallRound(n)); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(book.String(), "lines dropped")
	})
	h.Close()
	text := book.String()
	if !strings.Contains(text, "level=WARN msg=\"flood line 0\"") {
		t.Errorf("the first line is missing, or without its level:\n%.500s", text)
	}
	seconds := 2 + int(time.Since(began)/time.Second)
	if n := strings.Count(text, "flood line"); n > 100*seconds {
		t.Errorf("%d lines of the flood were logged in less than %d seconds", n, seconds)
	}
}

func TestPrintingDoesNotBlockThePolicy(t *testing.T) {
	h, book := launch(t, plugintest.Printer)
	start(t, h)
	for n := uint64(1); n <= 5; n++ {
		if _, err := h.AssignTasks(within(t), smallRound(n)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "what the policy printed is in the log", func() bool {
		return strings.Contains(book.String(), "out out") || strings.Contains(book.String(), "err err")
	})
	h.Close()
	if text := book.String(); !strings.Contains(text, "lines dropped") {
		t.Errorf("nothing says how much of what the policy printed was dropped:\n%.300s", text)
	}
}

// What a plug-in writes to its standard output after the handshake is in the log, however long its
// lines are, and does not block it.
func TestStandardOutputIsLogged(t *testing.T) {
	h, book := launch(t, plugintest.RawPrinter)
	start(t, h)
	for n := uint64(1); n <= 3; n++ {
		if _, err := h.AssignTasks(within(t), smallRound(n)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the printed lines are in the log", func() bool {
		return strings.Count(book.String(), "msg=\""+plugintest.RawLine+"\"") == 3
	})
	if text := book.String(); strings.Contains(text, "|unix|") {
		t.Errorf("the handshake is in the log:\n%.300s", text)
	}
}

func TestNotesArriveInOrderAndHoldNobodyUp(t *testing.T) {
	h, _ := launch(t, plugintest.Poster)
	start(t, h)
	for i := range 500 {
		if n := <-h.Notes(); n.Name != fmt.Sprintf("note-%d", i) || string(n.Body) != "body" {
			t.Fatalf("note %d is %+v", i, n)
		}
	}
	// Nobody reads notes any more: rounds go on, and so does the end.
	for n := uint64(1); n <= 3; n++ {
		if _, err := h.AssignTasks(within(t), smallRound(n)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFailingShellTakesThePlugInDown(t *testing.T) {
	h, _ := launch(t, plugintest.FailingShell)
	// The shell may fail before the answer to Start is out.
	if _, err := h.Start(within(t), scheduler.Config{}, scheduler.Snapshot{}, testEnv); err != nil && policy.KindOf(err) != policy.Died {
		t.Fatal(err)
	}
	mustEnd(t, h)
	if err := h.Err(); policy.KindOf(err) != policy.Died || !strings.Contains(err.Error(), "store is gone on purpose") {
		t.Errorf("ended because of %v", err)
	}
}

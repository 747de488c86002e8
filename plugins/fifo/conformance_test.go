package fifo

import (
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedtest"
)

func TestConformance(t *testing.T) {
	schedtest.Run(t, New, schedtest.Options{Seeds: 20})
}

// TestConformanceCollecting runs the kit with a patience so short that slots are
// collected all the time.
func TestConformanceCollecting(t *testing.T) {
	schedtest.Run(t, New, schedtest.Options{First: 500, Config: scheduler.Config{Text: []byte("collect-after: 500ms\n")}})
}

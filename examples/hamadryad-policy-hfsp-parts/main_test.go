package main

import (
	"testing"

	"github.com/hamadryad/hamadryad/plugins/hfsp"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedtest"
)

func TestConformance(t *testing.T) {
	schedtest.Run(t, hfsp.New, schedtest.Options{Config: scheduler.Config{Text: []byte("estimator: recurring\n")}})
}

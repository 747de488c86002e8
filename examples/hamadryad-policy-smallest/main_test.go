package main

import (
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedtest"
)

func TestConformance(t *testing.T) {
	schedtest.Run(t, func() scheduler.TaskScheduler { return &smallest{} }, schedtest.Options{})
}

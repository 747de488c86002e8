package main

import (
	"testing"

	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func TestConformance(t *testing.T) {
	policytest.Run(t, func() scheduler.TaskScheduler { return &smallest{} }, policytest.Options{})
}

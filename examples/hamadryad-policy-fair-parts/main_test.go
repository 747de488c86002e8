package main

import (
	"testing"

	"github.com/hamadryad/hamadryad/plugins/fair"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedtest"
)

func TestConformance(t *testing.T) {
	const settings = "allocations: {order: newest, top-order: newest}\nlocality: {selector: largest}\nload: {manager: half}\nweights: {adjuster: interactive}\nplacement: {undeclared: create}\n"
	schedtest.Run(t, fair.New, schedtest.Options{Config: scheduler.Config{Text: []byte(settings)}})
}

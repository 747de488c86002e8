package main

import (
	"testing"

	"github.com/hamadryad/hamadryad/plugins/fair"
	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func TestConformance(t *testing.T) {
	const settings = "allocations: {order: newest, top-order: newest}\nlocality: {selector: largest}\nload: {manager: half}\nweights: {adjuster: interactive}\nplacement: {undeclared: create}\n"
	policytest.Run(t, fair.New, policytest.Options{Config: scheduler.Config{Text: []byte(settings)}})
}

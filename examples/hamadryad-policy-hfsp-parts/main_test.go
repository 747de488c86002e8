package main

import (
	"testing"

	"github.com/hamadryad/hamadryad/plugins/hfsp"
	"github.com/hamadryad/hamadryad/policytest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

func TestConformance(t *testing.T) {
	policytest.Run(t, hfsp.New, policytest.Options{Config: scheduler.Config{Text: []byte("estimator: recurring\n")}})
}

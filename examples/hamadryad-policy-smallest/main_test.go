package main

import (
	"testing"

	"github.com/hamadryad/hamadryad/policytest"
)

func TestConformance(t *testing.T) { policytest.Run(t, smallest.New, policytest.Options{}) }

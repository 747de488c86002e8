// Package faults holds the tests that break a running cluster of real processes:
// manager, plug-in, launchers and workers are killed, stopped and continued, and
// stored files damaged, at known moments of a job (testdata/gated stops at
// gates). Each job must end with exactly the output of a run without faults, or
// with the error it should have, and leave nothing behind.
package faults

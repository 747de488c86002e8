// Package faults holds the tests that break a running cluster of real processes. Manager, plug-in,
// launchers and workers are killed, stopped and continued, and stored files are damaged. Each fault
// comes at a known moment of a job: testdata/gated stops at gates. Each job must end with exactly
// the output of a run without faults, or with the error it should have, and leave nothing behind.
package faults

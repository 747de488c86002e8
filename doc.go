// Package hamadryad is the root of the module: a data-parallel execution engine
// whose scheduling policy is a plug-in process. It holds no code. See README.md and
// docs/ARCHITECTURE.md; package internal/lint has the tests of the house rules.
package hamadryad

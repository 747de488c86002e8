// Package hamadryad is the root of the module: a data-parallel execution engine
// whose scheduling policy is a plug-in process. See README.md and
// docs/ARCHITECTURE.md. It holds no code; the tests here hold the house rules.
package hamadryad

// The hand-written programs that benchmarks are held against: a module of their
// own, so that the project's build, tests and linters leave them as they are.
module github.com/hamadryad/hamadryad/cmd/hamadryad-bench/baselines

go 1.26

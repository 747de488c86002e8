package userstack_test

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/internal/userstack"
)

// The reader of a panic finds his own line first, and none of the engine's.
func TestOnlyTheUsersFrames(t *testing.T) {
	const stack = `goroutine 7 [running]:
runtime/debug.Stack()
	/go/src/runtime/debug/stack.go:26 +0x5e
panic({0x1, 0x2})
	/go/src/runtime/panic.go:783 +0x132
main.inner(...)
	/home/me/main.go:42
main.main.func1(0x1)
	/home/me/main.go:21 +0xc5
github.com/hamadryad/hamadryad/mapreduce.(*Job[...]).mapBytes.func3({0x1?, 0x5?})
	mapreduce/job.go:238 +0x44
github.com/hamadryad/hamadryad/sdk/job/text.Lines.func1()
	sdk/job/text/lines.go:66 +0xc2
github.com/hamadryad/hamadryad/engine/worker.(*node).program(0x1)
	engine/worker/node.go:66 +0xc2
created by github.com/hamadryad/hamadryad/engine/worker.(*group).run in goroutine 1
	engine/worker/group.go:9 +0x1
`
	if got, want := userstack.Of([]byte(stack)), "main.inner(...)\n\t/home/me/main.go:42\nmain.main.func1(0x1)\n\t/home/me/main.go:21 +0xc5"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// A test's own program is a user's. A panic without any of his frames is a defect of the engine,
// whose developers need all of it.
func TestTestProgramsAndTheEnginesOwn(t *testing.T) {
	if got := userstack.Of(debug.Stack()); !strings.Contains(got, "userstack_test.TestTestPrograms") {
		t.Errorf("%s", got)
	}
	own := "goroutine 1 [running]:\ngithub.com/hamadryad/hamadryad/engine/worker.f()\n\tworker.go:1"
	if got := userstack.Of([]byte(own)); got != own {
		t.Errorf("%s", got)
	}
}

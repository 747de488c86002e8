// Package userstack shortens the stack of a panic to the user's own frames.
//
//	defer func() {
//		if p := recover(); p != nil {
//			log.Printf("panic: %v\n%s", p, userstack.Of(debug.Stack()))
//		}
//	}()
package userstack

import "strings"

// ours are the prefixes of the functions whose frames are left out. Test programs of packages
// (package x_test) stand in for a user's.
var ours = []string{
	"github.com/hamadryad/hamadryad/engine/",
	"github.com/hamadryad/hamadryad/sdk/",
	"github.com/hamadryad/hamadryad/mapreduce.",
	"github.com/hamadryad/hamadryad/mapreduce/",
	"github.com/hamadryad/hamadryad/hdfs",
	"github.com/hamadryad/hamadryad/internal/",
	"runtime.", "runtime/debug.", "panic(", "reflect.", "sync.(*WaitGroup).Go", "testing.",
}

// Of returns the frames of a stack that are neither the engine's nor the runtime's. Where there is
// none, the engine itself panicked, and the whole stack is returned.
func Of(stack []byte) string {
	text := strings.TrimSpace(string(stack))
	lines := strings.Split(text, "\n")
	var kept []string
	// After the first line, each frame is a line for the function and one for the file.
	for i := 1; i+1 < len(lines); i += 2 {
		if !isOurs(lines[i]) {
			kept = append(kept, lines[i], lines[i+1])
		}
	}
	if len(kept) == 0 {
		return text
	}
	return strings.Join(kept, "\n")
}

func isOurs(frame string) bool {
	name := strings.TrimPrefix(frame, "created by ")
	pkg, _, _ := strings.Cut(name[strings.LastIndexByte(name, '/')+1:], ".")
	if strings.HasSuffix(pkg, "_test") {
		return false
	}
	for _, prefix := range ours {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

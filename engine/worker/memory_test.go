package worker

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
)

// What a group with more memory held is returned before one with less says that it
// runs: its launcher counts from there on.
func TestLessMemoryIsReturnedAtOnce(t *testing.T) {
	defer func() { debug.SetMemoryLimit(math.MaxInt64); memoryBefore = 0 }()
	setMemory(1 << 30)
	held := make([]byte, 200<<20)
	for i := range held {
		held[i] = byte(i)
	}
	before := residentBytes()
	runtime.KeepAlive(held)
	setMemory(64 << 20)
	if after := residentBytes(); before-after < 150<<20 {
		t.Errorf("it held %d bytes, and then %d", before, after)
	}
}

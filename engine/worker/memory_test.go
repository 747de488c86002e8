package worker

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
)

// A group with less memory returns the previous group's excess before it reports that it runs: its
// launcher measures from then on.
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

// A worker that holds little runs group after group without a collection.
func TestLessMemoryCostsNothingWhereLittleIsHeld(t *testing.T) {
	defer func() { debug.SetMemoryLimit(math.MaxInt64); memoryBefore = 0 }()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	collections := func() int64 {
		var s debug.GCStats
		debug.ReadGCStats(&s)
		return s.NumGC
	}
	debug.FreeOSMemory()
	before := collections()
	for range 3 {
		setMemory(1 << 40)
		setMemory(1 << 39)
	}
	if n := collections() - before; n > 0 {
		t.Errorf("%d collections", n)
	}
}

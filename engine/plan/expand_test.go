package plan

import (
	"bytes"
	"runtime"
	"testing"
)

// Every worker expands the plan within its task's memory: it takes the message once,
// and no buffers that it grew through.
func TestExpandingTakesTheMessageOnce(t *testing.T) {
	message := bytes.Repeat([]byte("0123456789abcdef"), 3<<20) // 48 MiB
	blob, err := seal(magic, message)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := unseal(magic, blob, BytesMax)
	runtime.ReadMemStats(&after)
	if err != nil || !bytes.Equal(got, message) {
		t.Fatalf("%d bytes of %d: %v", len(got), len(message), err)
	}
	const decoder = 16 << 20 // window and buffers
	if taken := after.TotalAlloc - before.TotalAlloc; taken > uint64(len(message))+decoder {
		t.Errorf("expanding %d bytes takes %d", len(message), taken)
	}
}

package plan

import (
	"bytes"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// Every worker expands the plan within its task's memory. It allocates the message once, without
// growing buffers.
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

// For a plan with very many splits a worker allocates the splits, and never the message.
func TestDecodingTakesThePlanAlone(t *testing.T) {
	const splits = 100_000
	p := &Submission{Inputs: [][]job.Task{make([]job.Task, splits)}}
	for i := range p.Inputs[0] {
		p.Inputs[0][i] = job.Task{{Path: "/" + strings.Repeat("f", 100), Version: strings.Repeat("v", 100), Offset: int64(i)}}
	}
	blob, err := Encode(p) // its message has 21 MB
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := Decode(blob)
	runtime.ReadMemStats(&after)
	if err != nil || len(got.Inputs[0]) != splits || !reflect.DeepEqual(got.Inputs, p.Inputs) {
		t.Fatal(err)
	}
	size := splits * (unsafe.Sizeof(job.Task{}) + unsafe.Sizeof(job.Split{}))
	const decoder = 16 << 20 // window and buffers
	if taken := after.TotalAlloc - before.TotalAlloc; taken > uint64(size)+decoder {
		t.Errorf("a plan of %d bytes takes %d", size, taken)
	}
}

package block

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// Blocks of each codec are appended behind what a batch has. Of blocks of which a byte is wrong, or
// the end is missing, nothing is appended.
func TestAppend(t *testing.T) {
	for _, codec := range []Codec{None, LZ4, ZSTD} {
		e := NewEncoder(codec)
		var blocks []byte
		var want, got job.Batch
		want.Append([]byte("before"))
		got.Append([]byte("before"))
		for _, records := range [][]string{{"a"}, {"", "of", "three lengths"}, {strings.Repeat("long ", 100), "short"}} {
			var b job.Batch
			for _, r := range records {
				b.Append([]byte(r))
				want.Append([]byte(r))
			}
			var err error
			if blocks, err = e.Append(blocks, &b); err != nil {
				t.Fatal(err)
			}
		}
		size, err := Size(blocks)
		if before := (Sizes{1, int64(len("before"))}); err != nil || size.Records != int64(want.Len())-before.Records || size.Data != int64(len(want.Data))-before.Data {
			t.Errorf("%v: %+v, %v", codec, size, err)
		}
		var a Appender
		for at := range blocks {
			wrong := append([]byte(nil), blocks...)
			wrong[at] ^= 1
			for _, wrong := range [][]byte{wrong, blocks[:at]} {
				err := a.Append(&got, wrong)
				if err == nil && size != whole(wrong) {
					got.Data, got.Ends = got.Data[:6], got.Ends[:1] // it ends between two blocks
				} else if !errors.Is(err, channel.ErrDamaged) && !errors.Is(err, channel.ErrVersion) {
					t.Fatalf("%v: byte %d: %v", codec, at, err)
				}
				if got.Len() != 1 || string(got.Data) != "before" {
					t.Fatalf("%v: byte %d: the batch has %q", codec, at, got.Data)
				}
			}
		}
		if err := a.Append(&got, blocks); err != nil || !reflect.DeepEqual(got.Ends, want.Ends) || string(got.Data) != string(want.Data) {
			t.Errorf("%v: %q at %d, want %q at %d: %v", codec, got.Data, got.Ends, want.Data, want.Ends, err)
		}
	}
}

func whole(blocks []byte) Sizes {
	s, _ := Size(blocks)
	return s
}

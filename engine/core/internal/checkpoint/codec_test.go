package checkpoint

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// row is a state with a field of each coded type.
type row struct {
	N    int64
	Flag bool
	Name string
	Data []byte
	List []uint32
	Next *row
}

func codeRow(c *Codec, r *row) {
	Num(c, &r.N)
	Flag(c, &r.Flag)
	Str(c, &r.Name)
	Blob(c, &r.Data)
	Nums(c, &r.List)
	Opt(c, &r.Next, codeRow)
}

func drawRow(t *rapid.T, depth int) *row {
	r := &row{
		N: rapid.Int64().Draw(t, "n"), Flag: rapid.Bool().Draw(t, "flag"), Name: rapid.String().Draw(t, "name"),
		Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data"), List: rapid.SliceOf(rapid.Uint32()).Draw(t, "list"),
	}
	if depth > 0 && rapid.Bool().Draw(t, "more") {
		r.Next = drawRow(t, depth-1)
	}
	return r
}

func written(t interface{ Fatal(...any) }, rows []*row) []byte {
	var b bytes.Buffer
	w := NewWriter(&b)
	List(w, &rows, func(c *Codec, r **row) { codeRow(c, *r) })
	if lost, wrong := w.Close(); lost != nil || wrong != nil {
		t.Fatal(lost, wrong)
	}
	return b.Bytes()
}

// A state is read back as written, however the bytes are cut into parts. A changed byte is refused.
func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows []*row
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			rows = append(rows, drawRow(t, 3))
		}
		data := written(t, rows)
		var parts [][]byte
		for rest := data; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "part")
			parts, rest = append(parts, rest[:n]), rest[n:]
		}
		r, err := NewReader(parts)
		if err != nil {
			t.Fatal(err)
		}
		var back []*row
		List(r, &back, func(c *Codec, p **row) { *p = &row{}; codeRow(c, *p) })
		if r.Err != nil || r.Left() != 0 || !bytes.Equal(written(t, back), data) {
			t.Fatalf("%v, %d bytes left, or another state", r.Err, r.Left())
		}
		bad := bytes.Clone(data)
		bad[rapid.IntRange(0, len(bad)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, err := NewReader([][]byte{bad}); err == nil {
			t.Fatal("changed bytes were taken")
		}
	})
}

type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errors.New("full")
	}
	return len(b), nil
}

// An error of the writer is distinguished from a state that can't be written.
func TestErrorsOfTheWriter(t *testing.T) {
	w := NewWriter(&full{100})
	data := make([]byte, flushBytes)
	Blob(w, &data)
	if lost, wrong := w.Close(); lost == nil || wrong != nil {
		t.Errorf("a full disk: %v, %v", lost, wrong)
	}
	w = NewWriter(&full{100})
	w.Fail(errors.New("no such state"))
	if lost, wrong := w.Close(); lost != nil || wrong == nil {
		t.Errorf("a wrong state: %v, %v", lost, wrong)
	}
}

package replay

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// A batch is encoded as protobuf encodes it, with any of the fields of a report of progress.
func TestAppendBatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &wire.Batch{At: rapid.Int64().Draw(t, "at")}
		for range rapid.IntRange(0, 4).Draw(t, "inputs") {
			b.Inputs = append(b.Inputs, drawInput(t))
		}
		want, err := encoding.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		got, err := appendBatch(nil, b)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v is encoded as\n%x, error %v; want\n%x", b, got, err, want)
		}
	})
}

// Outside of a report's oneof, appendBatch knows these fields.
func TestFieldsAroundProgress(t *testing.T) {
	for _, m := range []proto.Message{&wire.Batch{}, &wire.LauncherReport{}, &wire.Report{}} {
		fields, outside := m.ProtoReflect().Descriptor().Fields(), 0
		for i := range fields.Len() {
			if fields.Get(i).ContainingOneof() == nil {
				outside++
			}
		}
		if outside != 2 {
			t.Errorf("%s has %d fields: encode the new one in appendBatch", m.ProtoReflect().Descriptor().Name(), outside)
		}
	}
}

// drawInput draws an input, mostly a report of progress with some of its fields.
func drawInput(t *rapid.T) *wire.Input {
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return wire.Tick()
	case 1:
		return wire.NewReport(3, &wire.Report{Incarnation: 1, What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: 7, Address: "a"}}})
	}
	p := &wire.AttemptProgress{}
	drawFields(t, p.ProtoReflect())
	r := &wire.Report{What: &wire.Report_Progress{Progress: p}}
	r.Incarnation, r.Term = rapid.Uint64().Draw(t, "incarnation"), rapid.Uint64().Draw(t, "term")
	return wire.NewReport(rapid.Uint64().Draw(t, "launcher"), r)
}

// drawFields sets some fields of a message: a new field that appendBatch leaves out is found here.
func drawFields(t *rapid.T, m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !rapid.Bool().Draw(t, string(f.Name())) {
			continue
		}
		switch {
		case f.IsList():
			for range rapid.IntRange(0, 30).Draw(t, "list") {
				m.Mutable(f).List().Append(drawValue(t, f))
			}
		case f.Kind() == protoreflect.MessageKind:
			drawFields(t, m.Mutable(f).Message())
		default:
			m.Set(f, drawValue(t, f))
		}
	}
}

func drawValue(t *rapid.T, f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOf(rapid.Uint64().Draw(t, "uint64"))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOf(rapid.Int64().Draw(t, "int64"))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOf(rapid.Float64().Draw(t, "double"))
	case protoreflect.StringKind:
		return protoreflect.ValueOf(rapid.StringN(0, 200, 200).Draw(t, "string"))
	case protoreflect.BoolKind:
		return protoreflect.ValueOf(rapid.Bool().Draw(t, "bool"))
	default:
		t.Fatalf("field %s: draw kind %v here, and encode it in appendBatch", f.FullName(), f.Kind())
		return protoreflect.Value{}
	}
}

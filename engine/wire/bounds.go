package wire

import (
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Bounds that both sides of a connection keep. The event log takes records of at most 64 MiB, so
// nothing that becomes one input of the core is larger.
const (
	// TailBytesMax is the largest end of a log that a launcher sends, and TailsBytesMax the largest
	// message with such ends.
	TailBytesMax  = 1 << 20
	TailsBytesMax = 2 << 20
	// StageAttemptsMax bounds how many attempts a job or one of its stages may ask for.
	StageAttemptsMax = 100
	// AfterMax bounds the jobs that one job waits for.
	AfterMax = 1000
	// StageExpectedMax bounds how long attempts of a stage may be expected to run.
	StageExpectedMax = 10 * 365 * 24 * time.Hour
	// LauncherMessageBytesMax is the largest message of a launcher that a manager reads.
	LauncherMessageBytesMax = 48 << 20
	// ReportBytesMax is the largest report. A launcher replaces an attempt's end that would be
	// larger by a failure.
	ReportBytesMax = 32 << 20
	// WorkerControlBytesMax is the largest message of a worker, except for the end of an attempt.
	WorkerControlBytesMax = 64 << 10
	// BlockedBytesMax is the longest text that says what an attempt's nodes wait for.
	BlockedBytesMax = 256
	// GraphInlineBytesMax is the largest graph within a submission. A larger graph is sent before
	// as a blob, and referred to by its hash.
	GraphInlineBytesMax = 1 << 20
	// GraphBytesMax is the largest graph, before compression.
	GraphBytesMax = 256 << 20
)

// LargestField is the name and the size of the largest field of a message, or of the
// messages in it, for errors about requests that are too large. A list counts as a
// whole.
func LargestField(m proto.Message) (name string, bytes int) { return largest(m.ProtoReflect()) }

func largest(m protoreflect.Message) (name string, bytes int) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		field, n := strings.ReplaceAll(string(f.Name()), "_", " "), 0
		switch {
		case f.IsList():
			for i := range v.List().Len() {
				n += sizeOf(f, v.List().Get(i))
			}
		case f.Kind() == protoreflect.MessageKind && !f.IsMap():
			field, n = largest(v.Message())
		default:
			n = sizeOf(f, v)
		}
		if n > bytes {
			name, bytes = field, n
		}
		return true
	})
	return name, bytes
}

func sizeOf(f protoreflect.FieldDescriptor, v protoreflect.Value) int {
	switch f.Kind() {
	case protoreflect.StringKind:
		return len(v.String())
	case protoreflect.BytesKind:
		return len(v.Bytes())
	case protoreflect.MessageKind:
		return proto.Size(v.Message().Interface())
	}
	return 0
}

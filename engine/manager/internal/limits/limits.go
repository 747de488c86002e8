// Package limits checks messages from outside against bounds: each method's message, each string
// and bytes field. A request that is too large is refused with the field's name. A report is cut,
// because it would come again.
//
// Texts for people are cut here, and again where the core keeps them (core.Settings.ReasonBytes).
// Fields that are unknown are dropped.
package limits

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
)

// All outside messages are bounded by bytes before the core steps, so that no request makes a batch
// that the event log can't take. These are the bounds.
const (
	// TextBytesMax bounds every string and every bytes field that fieldBytesMax does
	// not name: names, mostly. A site that allows longer names (core.graph.NameBytes)
	// raises it.
	TextBytesMax = 256
	// RequestBytesMax bounds a message of every method that methodBytesMax does not name.
	RequestBytesMax = 64 << 10
	// LauncherMessageMax bounds a message of a launcher. It is less than the event log's bound
	// of one record.
	LauncherMessageMax = wire.LauncherMessageBytesMax
	// ReadBytesMax is the largest message that the server reads. A larger one breaks its stream; a
	// launcher's report that is somewhat over its bound does not.
	ReadBytesMax = 64 << 20
	// FailureTextMax bounds the message, the stack and the record of a failure, each. Longer texts
	// are cut: a failure is reported in any case.
	FailureTextMax = 16 << 10
	// countersMax bounds the counters of one attempt.
	countersMax = 10_000
	// settingsBytesMax bounds a text of the configuration's file (configedit.TextBytesMax).
	settingsBytesMax = 1 << 20
	// pathBytesMax bounds a path or URL.
	pathBytesMax = 4096
)

// methodBytesMax are the methods with messages larger than requestBytesMax.
var methodBytesMax = map[string]int{
	rpc.Manager_Submit_FullMethodName:      4 << 20, // a larger graph goes as a blob
	rpc.Manager_PutBlob_FullMethodName:     4<<20 + 1<<10,
	rpc.Launchers_Connect_FullMethodName:   LauncherMessageMax,
	rpc.Launchers_KeepTails_FullMethodName: wire.TailsBytesMax,

	rpc.Manager_AddSchedule_FullMethodName: 128 << 10, // the core bounds it: core.schedules.bytes

	rpc.Manager_DiffSettings_FullMethodName:  settingsBytesMax + 1<<10,
	rpc.Manager_ApplySettings_FullMethodName: settingsBytesMax + 8<<10,
}

// fieldBytesMax are the fields that may be longer than textBytesMax, or must be shorter. 0 leaves
// the bound of a message's parts to the method.
var fieldBytesMax = map[protoreflect.FullName]int{
	"hamadryad.engine.v1.BlobChunk.data":             4 << 20,
	"hamadryad.engine.v1.LogTail.text":               wire.TailBytesMax,
	"hamadryad.engine.v1.JobRef.reason":              1 << 10,
	"hamadryad.engine.v1.EndRunRequest.reason":       4 << 10,
	"hamadryad.engine.v1.ScheduleDefinition.command": 128 << 10,
	"hamadryad.engine.v1.ScheduleDefinition.folder":  pathBytesMax,
	"hamadryad.engine.v1.JobSpec.outputs":            pathBytesMax,
	"hamadryad.engine.v1.JobSpec.graph":              wire.GraphInlineBytesMax, // the core checks its content
	"hamadryad.engine.v1.SubmitRequest.tickets":      64 << 10,                 // kerberos.BytesMax
	"hamadryad.engine.v1.PageRequest.path":           pathBytesMax,
	"hamadryad.engine.v1.PageRequest.query":          RequestBytesMax,
	"hamadryad.engine.v1.PageRequest.authorization":  4 << 10,
	"hamadryad.engine.v1.PageRequest.body":           RequestBytesMax,
	"hamadryad.engine.v1.Property.value":             32 << 10,
	"hamadryad.engine.v1.SettingsText.text":          settingsBytesMax,
	"hamadryad.engine.v1.ApplyRequest.text":          settingsBytesMax,
	"hamadryad.engine.v1.ApplyRequest.comment":       1 << 10,
	"hamadryad.engine.v1.Principal.proof":            4 << 10,
	"hamadryad.engine.v1.FromLauncher.join":          0, // checkJoin
	"hamadryad.engine.v1.FromLauncher.reports":       0, // tidyReport
}

// Edge refuses requests that are too large, with the field's name.
type Edge struct{ Text int }

// check checks one message of a method.
func (b Edge) check(method string, m any) error {
	message, ok := m.(proto.Message)
	if !ok {
		return nil
	}
	most, named := methodBytesMax[method]
	if !named {
		most = RequestBytesMax
	}
	if most < LauncherMessageMax { // launchers' messages are bounded by report
		if n := proto.Size(message); n > most {
			field, _ := wire.LargestField(message)
			return status.Errorf(codes.InvalidArgument, "the request has %d bytes, most of them in %s, and at most %d are taken: send less at once", n, field, most)
		}
	}
	if err := b.walk(message.ProtoReflect()); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return nil
}

// walk checks each string and bytes field in a message against its bound.
func (b Edge) walk(m protoreflect.Message) (err error) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		most, named := fieldBytesMax[f.FullName()]
		if !named {
			most = b.Text
		}
		switch {
		case f.IsList():
			list := v.List()
			for i := 0; i < list.Len() && err == nil; i++ {
				err = b.value(f, list.Get(i), most, named)
			}
		case f.IsMap():
			panic("manager: no message has a map: bound what is in it")
		default:
			err = b.value(f, v, most, named)
		}
		return err == nil
	})
	return err
}

func (b Edge) value(f protoreflect.FieldDescriptor, v protoreflect.Value, most int, named bool) error {
	n := 0
	switch f.Kind() {
	case protoreflect.StringKind:
		n = len(v.String())
	case protoreflect.BytesKind:
		n = len(v.Bytes())
	case protoreflect.MessageKind:
		if !named {
			return b.walk(v.Message())
		}
		if most > 0 {
			n = proto.Size(v.Message().Interface())
		}
	}
	if n > most {
		return fmt.Errorf("%s has %d bytes, at most %d are taken: shorten it", strings.ReplaceAll(string(f.Name()), "_", " "), n, most)
	}
	return nil
}

// Unary is the bounds' grpc.UnaryServerInterceptor.
func (b Edge) Unary(ctx context.Context, q any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if err := b.check(info.FullMethod, q); err != nil {
		return nil, err
	}
	return handle(ctx, q)
}

// Stream is the bounds' grpc.StreamServerInterceptor.
func (b Edge) Stream(server any, s grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	return handle(server, &boundedStream{ServerStream: s, bounds: b, method: info.FullMethod})
}

type boundedStream struct {
	grpc.ServerStream
	bounds Edge
	method string
}

func (s *boundedStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	// Thousands of these come each second, nearly all of them ends of attempts, which tidyReport
	// checks without reflection.
	if f, ok := m.(*wire.FromLauncher); ok && f.Join == nil {
		return nil
	}
	return s.bounds.check(s.method, m)
}

func tidyEnd(e *wire.AttemptEnded) {
	if e == nil {
		return
	}
	tidyFailure(e.Failure)
	why := ""
	if n := len(e.Counters); n > countersMax {
		why = fmt.Sprintf("it counted under %d names, at most %d are kept: use fewer", n, countersMax)
	}
	for _, c := range e.Counters {
		if len(c.GetName()) > TextBytesMax {
			why = fmt.Sprintf("a counter's name has %d bytes, at most %d are kept: shorten it", len(c.GetName()), TextBytesMax)
		}
	}
	for _, f := range e.Files {
		if n := max(len(f.GetName()), len(f.GetTemporary())); n > pathBytesMax {
			why = fmt.Sprintf("the name of an output file has %d bytes, at most %d are kept: shorten it", n, pathBytesMax)
		}
		if leadsOut(f.GetName()) || leadsOut(f.GetTemporary()) {
			why = fmt.Sprintf("the name of an output file, %.200q, leads out of the output's folder", f.GetName())
		}
	}
	if why == "" {
		return
	}
	e.Counters, e.Files = nil, nil
	if e.End == wire.End_END_FINISHED {
		e.End, e.Stored = wire.End_END_FAILED, nil
		e.Failure = &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_DENIED, Message: why} // the program's fault, not the launcher's
	}
}

// leadsOut reports whether a file's name leads out of a folder.
func leadsOut(name string) bool {
	return strings.HasPrefix(name, "/") || strings.ContainsRune(name, 0) || slices.Contains(strings.Split(name, "/"), "..")
}

func tidyFailure(f *wire.Failure) {
	if f == nil {
		return
	}
	f.Message, f.Stack, f.Record = Cut(f.Message, FailureTextMax), Cut(f.Stack, FailureTextMax), Cut(f.Record, FailureTextMax)
	f.Stage = Cut(f.Stage, TextBytesMax)
}

// Cut shortens a text for people, and says so.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + fmt.Sprintf("... (%d bytes more)", len(text)-end)
}

package client

import (
	"context"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/hamadryad/hamadryad/engine/client/internal/transport"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
)

// noting is a caller that notes the last call.
type noting struct {
	method           string
	request, answer  proto.Message
	uploads, streams bool
}

func (n *noting) Call(_ context.Context, method string, q, answer proto.Message) error {
	*n = noting{method: method, request: q, answer: answer}
	return nil
}

func (n *noting) Open(_ context.Context, method string, q proto.Message) (*transport.Stream, error) {
	*n = noting{method: method, request: q, streams: true}
	return nil, nil //nolint:nilnil // nobody reads it
}

func (n *noting) Upload(_ context.Context, method string, _ func() (proto.Message, error), answer proto.Message) error {
	*n = noting{method: method, answer: answer, uploads: true}
	return nil
}

// Each method of the service is there, and makes the call of its name with the service's messages.
func TestMethodsAreThoseOfTheService(t *testing.T) {
	var last noting
	m := reflect.ValueOf(manager{&last})
	methods := rpc.File_engine_wire_rpc_rpc_proto.Services().ByName("Manager").Methods()
	for i := range methods.Len() {
		d := methods.Get(i)
		call := m.MethodByName(string(d.Name()))
		if !call.IsValid() {
			t.Errorf("%s is missing: write it as the others are", d.Name())
			continue
		}
		q := reflect.Zero(call.Type().In(1))
		if !d.IsStreamingClient() {
			q = reflect.New(call.Type().In(1).Elem())
		}
		call.Call([]reflect.Value{reflect.ValueOf(t.Context()), q})
		if want := "/" + string(d.Parent().FullName()) + "/" + string(d.Name()); last.method != want || last.uploads != d.IsStreamingClient() || last.streams != d.IsStreamingServer() {
			t.Errorf("%s makes %+v", want, last)
		}
		for _, message := range []struct {
			has  proto.Message
			want protoreflect.MessageDescriptor
		}{{last.request, d.Input()}, {last.answer, d.Output()}} {
			if message.has != nil && message.has.ProtoReflect().Descriptor().FullName() != message.want.FullName() {
				t.Errorf("%s has a message of type %T", d.Name(), message.has)
			}
		}
	}
}

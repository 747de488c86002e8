package policycheck_test

import (
	"maps"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

var (
	rustStruct = regexp.MustCompile(`(?s)\npub struct (\w+) \{\n(.*?)\n?\}\n`)
	rustField  = regexp.MustCompile(`#\[prost\([^\n]*tag = "(\d+)"\)\]\n *pub (?:r#)?(\w+):`)
	rustValue  = regexp.MustCompile(`"([A-Z0-9_]+)" => Some\(`)
)

// TestRustMessagesAreCurrent: the generated messages of the example in Rust, which are committed, have the fields and
// values of the .proto file as it is.
func TestRustMessagesAreCurrent(t *testing.T) {
	text, err := os.ReadFile("../../../examples/policy-rust/src/wire.rs")
	if err != nil {
		t.Fatal(err)
	}
	has, want := map[string]int{}, map[string]int{}
	for _, s := range rustStruct.FindAllStringSubmatch(string(text), -1) {
		for _, f := range rustField.FindAllStringSubmatch(s[2], -1) {
			has[s[1]+"."+f[2]], err = strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, v := range rustValue.FindAllStringSubmatch(string(text), -1) {
		has[v[1]] = 0
	}
	file := schedwire.File_sdk_scheduler_schedwire_scheduler_proto
	for m := range each(file.Messages()) {
		for f := range each(m.Fields()) {
			if o := f.ContainingOneof(); o == nil || o.IsSynthetic() {
				want[string(m.Name())+"."+string(f.Name())] = int(f.Number())
			}
		}
	}
	for e := range each(file.Enums()) {
		for v := range each(e.Values()) {
			want[string(v.Name())] = 0
		}
	}
	const remedy = "generate it again: cd examples/policy-rust && cargo build --features generate"
	for name, number := range want {
		if got, there := has[name]; !there || got != number {
			t.Errorf("wire.rs has %s with the number %d (there: %t), and the .proto file with %d; %s", name, got, there, number, remedy)
		}
	}
	maps.DeleteFunc(has, func(name string, _ int) bool {
		_, there := want[name]
		return there
	})
	for name := range has {
		if m := file.Messages().ByName(protoreflect.Name(name[:max(strings.Index(name, "."), 0)])); m != nil {
			t.Errorf("wire.rs has %s, and the .proto file has it no more; %s", name, remedy)
		}
	}
}

// each walks a list of descriptors.
func each[T any](list interface {
	Len() int
	Get(int) T
},
) func(func(T) bool) {
	return func(yield func(T) bool) {
		for i := range list.Len() {
			if !yield(list.Get(i)) {
				return
			}
		}
	}
}

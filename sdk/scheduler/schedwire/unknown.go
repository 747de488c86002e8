package schedwire

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Unknown counts content from a manager of a later version that this version does not know:
//
//   - an event of an unknown kind is skipped;
//   - an unknown value of an enumeration becomes 0, which each of them calls unknown;
//   - unknown fields are skipped by protobuf, and not counted.
//
// So a policy need not be rebuilt for each manager. Authors who add to the contract must preserve
// this. A policy that skips the addition must stay correct, or the manager must send it only to
// policies that declare an ability. The zero value is ready. It is not safe for concurrent use.
type Unknown struct{ counts map[string]int }

// UnknownMax bounds the names that are counted separately. The rest is counted together.
const UnknownMax = 32

// unknownRest is the name of the rest.
const unknownRest = "others"

// count counts an unknown value of the named enumeration or kind.
func (u *Unknown) count(what string, value int32) { u.Add(fmt.Sprintf("%s %d", what, value), 1) }

// Add counts n more of a name, and reports whether they are the first.
func (u *Unknown) Add(name string, n int) (first bool) {
	if u.counts == nil {
		u.counts = map[string]int{}
	}
	if u.counts[name] == 0 && len(u.counts) >= UnknownMax {
		name = unknownRest
	}
	first = u.counts[name] == 0
	u.counts[name] += n
	return first
}

// All yields each name, such as "event kind 26", with its count, in order of name.
func (u *Unknown) All() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, name := range slices.Sorted(maps.Keys(u.counts)) {
			if !yield(name, u.counts[name]) {
				return
			}
		}
	}
}

// whole fails if a policy's message has unknown fields. To skip them would carry out a different
// decision: a list would get no outcomes, and a restricting column would have no effect.
func whole(r *reader, where string, messages ...proto.Message) {
	for _, m := range messages {
		if b := m.ProtoReflect().GetUnknown(); len(b) > 0 {
			number, _, _ := protowire.ConsumeTag(b)
			r.fail(where, "field %d of %s is not known to this version; use a policy built for it, or a later manager", number, m.ProtoReflect().Descriptor().Name())
		}
	}
}

package schedwire

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Unknown counts what a manager of a later version told and this version does not know:
//
//   - an event of an unknown kind is left out;
//   - an unknown value of an enumeration is 0, which each of them calls unknown;
//   - fields that are not known are left out by protobuf, and not counted.
//
// So a policy need not be built anew for each manager. Whoever adds to the contract
// keeps it so: a policy that skips what was added must stay right, or the manager sends
// it only to a policy that declares an ability. The zero value is ready. It is not for
// two goroutines at once.
type Unknown struct{ counts map[string]int }

// UnknownMax bounds the things that are counted by name. The rest is counted together.
const UnknownMax = 32

// unknownRest is the name of the rest.
const unknownRest = "others"

// count counts a value that is not known of what has such values.
func (u *Unknown) count(what string, value int32) { u.Add(fmt.Sprintf("%s %d", what, value), 1) }

// Add counts n more of what has this name, and says whether they are the first.
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

// All gives each name, such as "event kind 26", with its count, in order of name.
func (u *Unknown) All() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, name := range slices.Sorted(maps.Keys(u.counts)) {
			if !yield(name, u.counts[name]) {
				return
			}
		}
	}
}

// whole fails when a message of a policy has fields that this version does not know. To
// leave them out would be to carry out another decision than the policy's: a list would
// have no outcomes, and what a column restricts would be done without the restriction.
func whole(r *reader, where string, messages ...proto.Message) {
	for _, m := range messages {
		if b := m.ProtoReflect().GetUnknown(); len(b) > 0 {
			number, _, _ := protowire.ConsumeTag(b)
			r.fail(where, "field %d of %s is not known to this version; use a policy built for it, or a later manager", number, m.ProtoReflect().Descriptor().Name())
		}
	}
}

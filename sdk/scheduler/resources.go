package scheduler

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"weak"
)

// ResourceKind is the name of a kind of countable resource, such as "gpu" or "license-x". See
// CheckResourceKind.
type ResourceKind = string

// CoresKind is the kind of processor cores. Suspension always frees them, and they have no
// devices.
const CoresKind ResourceKind = "cores"

// Bounds of countable resources.
const (
	// ResourceKindsMax is how many kinds a launcher has, or a group asks for, at most.
	ResourceKindsMax = 16
	// ResourceCountMax is the largest amount of one kind on a launcher, or of one node.
	ResourceCountMax = 1 << 20
	// ResourceKindBytesMax is the length of a kind's name at most.
	ResourceKindBytesMax = 64
)

// ResourceCount is an amount of one kind of countable resource.
type ResourceCount struct {
	Kind  ResourceKind
	Count int
}

// Resources are amounts of countable resources, by kind. The zero value has none. A value never
// changes and may be shared by goroutines. Values with the same amounts compare equal with ==.
type Resources struct{ set *resourceSet }

// resourceSet has the amounts that are not 0, in order of kind. Equal sets are one object.
type resourceSet struct{ counts []ResourceCount }

// NewResources returns the amounts of a list. Amounts of one kind add up.
func NewResources(list ...ResourceCount) Resources {
	inOrder := true
	for i := range list {
		inOrder = inOrder && list[i].Count != 0 && (i == 0 || list[i-1].Kind < list[i].Kind)
	}
	if inOrder {
		return sharedResources(list)
	}
	counts := slices.Clone(list)
	slices.SortStableFunc(counts, func(x, y ResourceCount) int { return cmp.Compare(x.Kind, y.Kind) })
	merged := counts[:0]
	for _, c := range counts {
		if n := len(merged); n > 0 && merged[n-1].Kind == c.Kind {
			merged[n-1].Count += c.Count
		} else {
			merged = append(merged, c)
		}
	}
	return sharedResources(slices.DeleteFunc(merged, func(c ResourceCount) bool { return c.Count == 0 }))
}

// IsZero reports whether there are none.
func (r Resources) IsZero() bool { return r.set == nil }

// Equal reports whether both have the same amounts, as == does. Libraries that compare values look for
// it.
func (r Resources) Equal(other Resources) bool { return r == other }

// Counts returns the amounts that are not 0, in order of kind. The caller must not change the list.
func (r Resources) Counts() []ResourceCount {
	if r.set == nil {
		return nil
	}
	return r.set.counts
}

// Of returns the amount of a kind.
func (r Resources) Of(kind ResourceKind) int {
	for _, c := range r.Counts() {
		if c.Kind == kind {
			return c.Count
		}
	}
	return 0
}

// Covers reports whether r has at least as much of each kind that need has.
func (r Resources) Covers(need Resources) bool {
	if need.set == nil || need == r {
		return true
	}
	for _, c := range need.set.counts {
		if r.Of(c.Kind) < c.Count {
			return false
		}
	}
	return true
}

// Plus returns the sum of the amounts of each kind.
func (r Resources) Plus(more Resources) Resources { return r.plus(more, 1) }

// Minus returns the difference of the amounts of each kind. Amounts below 0 are kept.
func (r Resources) Minus(less Resources) Resources { return r.plus(less, -1) }

// Times returns n times the amounts.
func (r Resources) Times(n int) Resources {
	if n == 1 || r.set == nil {
		return r
	}
	var sum Resources
	return sum.plus(r, n)
}

func (r Resources) plus(b Resources, times int) Resources {
	if b.set == nil || times == 0 {
		return r
	}
	var few [ResourceKindsMax]ResourceCount
	sum := append(few[:0], r.Counts()...)
	for _, c := range b.set.counts {
		at, found := slices.BinarySearchFunc(sum, c.Kind, func(x ResourceCount, kind string) int { return cmp.Compare(x.Kind, kind) })
		if !found {
			sum = slices.Insert(sum, at, ResourceCount{Kind: c.Kind})
		}
		if sum[at].Count += times * c.Count; sum[at].Count == 0 {
			sum = slices.Delete(sum, at, at+1)
		}
	}
	return sharedResources(sum)
}

// Least returns the smaller amount of each kind that both have.
func (r Resources) Least(most Resources) Resources {
	if r == most {
		return r
	}
	var few [ResourceKindsMax]ResourceCount
	least := few[:0]
	for _, c := range r.Counts() {
		if n := min(c.Count, most.Of(c.Kind)); n != 0 {
			least = append(least, ResourceCount{c.Kind, n})
		}
	}
	return sharedResources(least)
}

// Positive returns the amounts above 0.
func (r Resources) Positive() Resources {
	negative := func(c ResourceCount) bool { return c.Count <= 0 }
	if !slices.ContainsFunc(r.Counts(), negative) {
		return r
	}
	return sharedResources(slices.DeleteFunc(slices.Clone(r.set.counts), negative))
}

// FreedBySuspension returns the part of an attempt's resources that suspension frees on a launcher
// with these LauncherJoined.SuspensionFrees. A resumption needs that part again.
func (r Resources) FreedBySuspension(kinds []ResourceKind) Resources {
	if r.set == nil || len(kinds) == 0 {
		return Resources{}
	}
	var few [ResourceKindsMax]ResourceCount
	some := few[:0]
	for _, c := range r.set.counts {
		if slices.Contains(kinds, c.Kind) {
			some = append(some, c)
		}
	}
	return sharedResources(some)
}

// String returns the amounts as ParseResources reads them; "" for none.
func (r Resources) String() string {
	var parts []string
	for _, c := range r.Counts() {
		parts = append(parts, fmt.Sprintf("%s:%d", c.Kind, c.Count))
	}
	return strings.Join(parts, ",")
}

// MarshalJSON writes an object with the amount of each kind.
func (r Resources) MarshalJSON() ([]byte, error) {
	m := map[string]int{}
	for _, c := range r.Counts() {
		m[c.Kind] = c.Count
	}
	return json.Marshal(m)
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (r *Resources) UnmarshalJSON(b []byte) error {
	var m map[string]int
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	var list []ResourceCount
	for kind, n := range m { // NewResources sorts
		list = append(list, ResourceCount{kind, n})
	}
	*r = NewResources(list...)
	return nil
}

// ParseResources reads amounts such as "gpu:2,license-x:1".
func ParseResources(text string) (Resources, error) {
	var list []ResourceCount
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		kind, amount, _ := strings.Cut(part, ":")
		n, err := strconv.Atoi(strings.TrimSpace(amount))
		if err != nil {
			return Resources{}, fmt.Errorf("%q is no amount of a resource: write KIND:COUNT, such as gpu:2", part)
		}
		list = append(list, ResourceCount{strings.TrimSpace(kind), n})
	}
	if err := CheckResources(list); err != nil {
		return Resources{}, err
	}
	return NewResources(list...), nil
}

// CheckResources checks the kinds and amounts that somebody declares or asks for: at most
// ResourceKindsMax kinds, each named once, with 1 to ResourceCountMax of each.
func CheckResources(list []ResourceCount) error {
	if len(list) > ResourceKindsMax {
		return fmt.Errorf("%d kinds of resources: name at most %d", len(list), ResourceKindsMax)
	}
	for i, c := range list {
		if err := CheckResourceKind(c.Kind); err != nil {
			return err
		}
		if c.Count < 1 || c.Count > ResourceCountMax {
			return fmt.Errorf("%d of resource %s: give a number from 1 to %d", c.Count, c.Kind, ResourceCountMax)
		}
		if slices.ContainsFunc(list[:i], func(x ResourceCount) bool { return x.Kind == c.Kind }) {
			return fmt.Errorf("resource %s is named twice: name it once", c.Kind)
		}
	}
	return nil
}

// CheckResourceKind checks the name of a kind. It has lower-case letters, digits and hyphens, and
// begins with a letter. So each kind has its own environment variable.
func CheckResourceKind(kind ResourceKind) error {
	good := func(i int, c byte) bool {
		return c >= 'a' && c <= 'z' || i > 0 && (c >= '0' && c <= '9' || c == '-')
	}
	for i := range len(kind) {
		if !good(i, kind[i]) {
			return fmt.Errorf("%.80q is no kind of resource: use lower-case letters, digits and hyphens, and begin with a letter", kind)
		}
	}
	if kind == "" || len(kind) > ResourceKindBytesMax {
		return fmt.Errorf("a kind of resource has a name of %d bytes: use 1 to %d", len(kind), ResourceKindBytesMax)
	}
	return nil
}

// shared has the sets in use, by their contents. Sets that nobody uses any more are dropped by the
// garbage collector. No decision depends on it: it only makes equal sets one object.
var shared = struct {
	sync.Mutex
	sets map[string]weak.Pointer[resourceSet]
}{sets: map[string]weak.Pointer[resourceSet]{}}

// sharedResources returns the value of counts, which are sorted and not 0. It keeps no reference to
// the list.
func sharedResources(counts []ResourceCount) Resources {
	if len(counts) == 0 {
		return Resources{}
	}
	var room [256]byte
	key := room[:0]
	for i := range counts {
		key = binary.AppendUvarint(key, uint64(len(counts[i].Kind)))
		key = append(key, counts[i].Kind...)
		key = binary.AppendVarint(key, int64(counts[i].Count))
	}
	shared.Lock()
	defer shared.Unlock()
	if s := shared.sets[string(key)].Value(); s != nil {
		return Resources{s}
	}
	s := &resourceSet{slices.Clone(counts)}
	entry := sharedEntry{string(key), weak.Make(s)}
	shared.sets[entry.key] = entry.set
	runtime.AddCleanup(s, sharedEntry.drop, entry)
	return Resources{s}
}

type sharedEntry struct {
	key string
	set weak.Pointer[resourceSet]
}

func (e sharedEntry) drop() {
	shared.Lock()
	defer shared.Unlock()
	if shared.sets[e.key] == e.set {
		delete(shared.sets, e.key)
	}
}

package wire

import "github.com/hamadryad/hamadryad/sdk/scheduler"

// ResourceCounts returns the messages of amounts of countable resources, in order of kind.
func ResourceCounts(r scheduler.Resources) []*ResourceCount {
	var list []*ResourceCount
	for _, c := range r.Counts() {
		list = append(list, &ResourceCount{Kind: c.Kind, Count: uint32(c.Count)}) //nolint:gosec // it is bounded by scheduler.ResourceCountMax
	}
	return list
}

// CheckResources checks amounts that somebody declares or asks for, as scheduler.CheckResources does.
func CheckResources(list []*ResourceCount) error {
	counts := make([]scheduler.ResourceCount, len(list))
	for i, c := range list {
		counts[i] = scheduler.ResourceCount{Kind: c.GetKind(), Count: int(c.GetCount())}
	}
	return scheduler.CheckResources(counts)
}

// ResourcesOf is the reverse of ResourceCounts.
func ResourcesOf(list []*ResourceCount) scheduler.Resources {
	counts := make([]scheduler.ResourceCount, len(list))
	for i, c := range list {
		counts[i] = scheduler.ResourceCount{Kind: c.GetKind(), Count: int(c.GetCount())}
	}
	return scheduler.NewResources(counts...)
}

package storage

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/hamadryad/hamadryad/sdk/storage/glob"
)

// NotAmbiguous is for stores' List. It refuses a path that exists as it is written and, as a
// pattern, also matches something else. The intent is unclear, and reading either would silently
// leave out the other.
func NotAmbiguous(ctx context.Context, t glob.Tree, pattern string) error {
	other, err := glob.Ambiguous(ctx, t, pattern)
	if err == nil && other != "" {
		err = fmt.Errorf("list %s: there is a file or folder of just that name, and as a pattern it matches others too, such as %s: write a \\ before each special character to mean the name, or [ ] around the first to mean the pattern", pattern, other)
	}
	return err
}

// SortInfos is for stores' List: it sorts files by path and removes duplicates.
func SortInfos(found []Info) []Info {
	sort.Slice(found, func(a, b int) bool { return found[a].Path < found[b].Path }) // slices.SortFunc adds 10 KB to each program
	return slices.CompactFunc(found, func(a, b Info) bool { return a.Path == b.Path })
}

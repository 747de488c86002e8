package policy

import (
	"testing"
	"time"
)

// A plug-in is looked at often only where it could reach its bound meanwhile.
func TestFarFromTheBoundIsLookedAtSeldom(t *testing.T) {
	for left, want := range map[int64]time.Duration{
		0:         weighEvery,
		256 << 20: weighEvery,
		8 << 30:   500 * time.Millisecond,
		1 << 40:   treeEvery,
	} {
		if after := weighAfter(left); after != want {
			t.Errorf("with %d bytes left it is looked at after %v, not %v", left, after, want)
		}
	}
}

package core

import "testing"

func TestSizesNeverLookAlike(t *testing.T) {
	for n, want := range map[int64]string{
		256 << 20: "256 MiB", 7680 << 20: "7.5 GiB", 0: "0 B",
		256<<20 + 1: "256 MiB (268435457 bytes)", 1537 << 20: "1.5 GiB (1611661312 bytes)",
	} {
		if got := sizeText(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

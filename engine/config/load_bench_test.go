package config

import "testing"

// BenchmarkLoad makes a configuration of the defaults alone.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := Load(Sources{}); err != nil {
			b.Fatal(err)
		}
	}
}

package job

import "testing"

// The hashes are those that XXH3 publishes for these inputs. They must never
// change: processes of one job, and stored channel files, rely on them.
func TestPartitionIsTheSameEverywhere(t *testing.T) {
	for _, c := range []struct {
		key       string
		hash      uint64
		partition int // floor(hash * 40 / 2^64)
	}{
		{"", 0x2d06800538d394c2, 7},
		{"hello", 0x9555e8555c62dcfd, 23},
	} {
		if got := Hash([]byte(c.key)); got != c.hash {
			t.Errorf("hash of %q is %x, want %x", c.key, got, c.hash)
		}
		if got := Partition([]byte(c.key), 40); got != c.partition {
			t.Errorf("partition of %q is %d, want %d", c.key, got, c.partition)
		}
	}
}

package job

import (
	"math/bits"

	"github.com/zeebo/xxh3"
)

// Hash is a hash of bytes that is the same in every process and release (XXH3).
func Hash(key []byte) uint64 { return xxh3.Hash(key) }

// Partition picks the partition, 0 to partitions-1, of a key by its Hash. Equal
// keys get equal partitions in every process.
func Partition(key []byte, partitions int) int { return PartitionOfHash(Hash(key), partitions) }

// PartitionOfHash is Partition for a key whose Hash is known. It uses the hash's
// high bits, so that a table may use the low ones.
func PartitionOfHash(hash uint64, partitions int) int {
	high, _ := bits.Mul64(hash, uint64(partitions))
	return int(high)
}

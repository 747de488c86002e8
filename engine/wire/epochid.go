package wire

// numberBits is how many numbers one life of the manager gives before they reach those of a later
// term: to callers, to generations of the policy, and to versions of its settings.
const numberBits = 24

// NewEpochID returns a number that no other life of the manager gives: the term of this life is in
// the upper bits. n is at most 2^24-1.
func NewEpochID(term, n uint64) uint64 { return term<<numberBits | n }

// SplitEpochID returns the term of the life that gave a number, such as a policy's generation, and
// how many that life had given with it.
func SplitEpochID(id uint64) (term, n uint64) { return id >> numberBits, id & (1<<numberBits - 1) }

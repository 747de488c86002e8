package wire

// numberBits are the bits for numbers given during one run of the manager, below the bits of its
// term: of callers, of policy generations, and of versions of the settings.
const numberBits = 24

// NewEpochID returns a number that no other run of the manager gives: the run's term is in the
// upper bits. n is at most 2^24-1.
func NewEpochID(term, n uint64) uint64 { return term<<numberBits | n }

// SplitEpochID splits a number, such as a policy's generation, into the term of the manager's run
// that gave it, and n.
func SplitEpochID(id uint64) (term, n uint64) { return id >> numberBits, id & (1<<numberBits - 1) }

// Package epochid makes numbers that no other life of the manager makes: the manager's term is in
// their upper bits. They number callers, generations of the policy, and versions of its settings.
package epochid

// numberBits is how many numbers a life gives to callers, to starts of the policy and
// to its settings, before they reach those of a later term.
const numberBits = 24

// New makes one that no other life gives.
func New(term, n uint64) uint64 { return term<<numberBits | n }

// Split takes a number apart that a manager gave, such as a policy's generation: the
// term of the life that gave it, and how many that life had given with it.
func Split(of uint64) (term, n uint64) { return of >> numberBits, of & (1<<numberBits - 1) }

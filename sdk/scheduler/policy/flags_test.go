package policy_test

import "flag"

var (
	seeds = flag.Int("seeds", 4, "random games of the kit for each policy")
	from  = flag.Uint64("from", 0, "the seed of the first of them")
)

package policy_test

import "flag"

var seeds = flag.Int("seeds", 4, "random games of the kit for each policy")

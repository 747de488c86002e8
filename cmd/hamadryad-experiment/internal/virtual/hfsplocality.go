package virtual

import (
	"context"

	"github.com/hamadryad/hamadryad/laboratory/traces"
)

// Work waits so long for its input's machine, and then for its rack, under both policies.
const (
	fairDelays = "locality: {node-delay: 15s, rack-delay: 15s}\n"
	hfspDelays = "locality: time\nnode-delay: 15s\nrack-delay: 15s\n"
)

// local plays FB2009 with delays of 15 s, and says how much was local.
func local(ctx context.Context, l *Lab, t *table) error {
	w, err := traces.Read(traces.FB2009)
	if err != nil {
		return err
	}
	on := hfspCluster(Launchers, startLate)
	both, err := l.plays(ctx, game{policy: "fair", settings: fairDelays, workload: w, on: on}, game{policy: "hfsp", settings: hfspDelays, workload: w, on: on})
	if err != nil {
		return err
	}
	fair, hfsp := nodeLocal(both[0]), nodeLocal(both[1])
	t.that(fair >= 98, "HFSP locality, FB2009, fair with delays of 15 s", "98 %", "98 % or more", "%.2f %%", fair)
	t.that(hfsp >= 99.9, "HFSP locality, FB2009, hfsp with delays of 15 s", "100 %", "99.9 % or more", "%.2f %%", hfsp)
	return nil
}

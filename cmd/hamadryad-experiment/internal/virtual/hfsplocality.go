package virtual

import (
	"context"

	"github.com/hamadryad/hamadryad/laboratory/traces"
)

// Work waits so long for its input's machine, and then for its rack, under both policies; or not at all.
const (
	fairDelays   = "locality: {node-delay: 15s, rack-delay: 15s}\n"
	hfspDelays   = "locality: {mode: delay, node-delay: 15s, rack-delay: 15s}\n"
	fairAnywhere = "locality: {mode: none}\n"
	hfspAnywhere = "locality: {mode: nearest}\n"
)

// local plays FB2009 with delays of 15 s, and says how much was local; and without delays, which tells why small jobs are
// not better off under HFSP in figure 3: it waits longer than fair by default, and what is near is no faster on this cluster.
func local(ctx context.Context, l *Lab, t *table) error {
	w, err := traces.Read(traces.FB2009)
	if err != nil {
		return err
	}
	on := hfspCluster(Launchers, startLate)
	all, err := l.plays(ctx,
		game{policy: "fair", settings: fairDelays, workload: w, on: on}, game{policy: "hfsp", settings: hfspDelays, workload: w, on: on},
		game{policy: "fair", settings: fairAnywhere, workload: w, on: on}, game{policy: "hfsp", settings: hfspAnywhere, workload: w, on: on})
	if err != nil {
		return err
	}
	fair, hfsp := nodeLocal(all[0]), nodeLocal(all[1])
	t.measure("HFSP locality, FB2009, fair with delays of 15 s", "%.2f %%", fair).expect(fair >= 98, "98 % or more")
	t.measure("HFSP locality, FB2009, hfsp with delays of 15 s", "%.2f %%", hfsp).expect(hfsp >= 99.9, "99.9 % or more")
	for _, class := range classesOf2009 {
		t.measure("HFSP fig. 3 without delay scheduling, FB2009, "+class+": median sojourn, FAIR and HFSP", "%.1f s, %.1f s",
			median(sojourns(w, all[2], class)).Seconds(), median(sojourns(w, all[3], class)).Seconds())
	}
	return nil
}

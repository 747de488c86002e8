package launcher_test

import (
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/launcher"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// BenchmarkNoopGroups runs groups that do nothing through one launcher with eight warm workers.
// Each group is started, reported and forgotten.
func BenchmarkNoopGroups(b *testing.B) {
	const slots = 8
	m := newManager(b)
	n := m.launch("a", func(c *launcher.Config) {
		c.Slots = []scheduler.SlotCount{{Kind: "default", Count: slots}}
	})
	j := m.job("noop")
	run := func(groups int) {
		ended := 0
		for range min(slots, groups) {
			n.start(j.attempt(0, 0))
		}
		begun := min(slots, groups)
		for ended < groups {
			for _, e := range n.ends() {
				ended++
				n.do(&wire.Command{Do: &wire.Command_Forget{Forget: e.Attempt}})
				if e.End != wire.End_END_FINISHED {
					b.Fatal(e)
				}
				if begun < groups {
					begun++
					n.start(j.attempt(0, 0))
				}
			}
		}
	}
	run(100) // warms the workers
	b.ResetTimer()
	began := time.Now()
	run(b.N)
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "groups/s")
}

// ends waits for ends of attempts and removes them all from the queue.
func (n *node) ends() []*wire.AttemptEnded {
	var all []*wire.AttemptEnded
	n.wait("end", func() bool {
		for _, r := range n.reports {
			if e := r.GetEnded(); e != nil {
				all = append(all, e)
			}
		}
		n.reports = n.reports[:0]
		return len(all) > 0
	})
	return all
}

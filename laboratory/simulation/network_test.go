package simulation

import (
	"fmt"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/plugins/fifo"
)

// Four launchers have one map each, and two of them the reduces. Each reduce fetches 300 MB from
// other hosts and 100 MB from its own. A host's link has 10 MB a second, so the 300 MB take 30 s.
// The four maps are over after 10 s, and a reduce works for 5 s.
func TestShuffleTakesItsTimeOnTheNetwork(t *testing.T) {
	j := job("a", 0, tasks(10*time.Second, 10*time.Second, 10*time.Second, 10*time.Second), tasks(5*time.Second, 5*time.Second))
	for i := range j.Stages[1].Tasks {
		j.Stages[1].Tasks[i].Shuffle = 400e6
	}
	w := &workload.Workload{Jobs: []workload.Job{j}}
	on := func(racks int, network cluster.Network) time.Duration {
		c := bare(4, map[string]int{"map": 1, "reduce": 1})
		c.Groups[0].Racks, c.Model.Network = racks, network
		first := play(t, Options{Workload: w, Cluster: c, Tick: -1, Think: -1}, fifo.New())
		if again := play(t, Options{Workload: w, Cluster: c, Tick: -1, Think: -1}, fifo.New()); fmt.Sprint(first.Jobs) != fmt.Sprint(again.Jobs) {
			t.Error("the same run comes out otherwise")
		}
		return first.Jobs[0].Ended
	}
	if d := on(1, cluster.Network{}); !near(d, 15*time.Second) {
		t.Errorf("without a network the job ends after %v, not after 15 s", d)
	}
	if d := on(1, cluster.Network{Host: 10e6}); !near(d, 45*time.Second) {
		t.Errorf("on links of hosts alone it ends after %v, not after 45 s", d)
	}
	// With each host in a rack of its own, the links of racks are the narrow ones.
	if d := on(4, cluster.Network{Host: 10e6, Rack: 5e6}); !near(d, 75*time.Second) {
		t.Errorf("through links of racks it ends after %v, not after 75 s", d)
	}
}

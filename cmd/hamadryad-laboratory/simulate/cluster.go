package simulate

import (
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/workload"
)

// settleCluster makes the cluster of the flags. Where they name none, it is one that suits the
// workload, and c.assumed says which.
func (c *command) settleCluster(flags *pflag.FlagSet, w *workload.Workload) (*cluster.Cluster, error) {
	on, err := c.readCluster()
	if err != nil {
		return nil, err
	}
	hosts, err := c.readHosts()
	if err != nil {
		return nil, client.Misuse("--topology: %w", err)
	}
	if c.cluster == "" && !flags.Changed("slots") {
		suited := *w
		if flags.Changed("launchers") {
			suited.Machine = workload.Machine{} // so many are wanted
		}
		if groups, why := cluster.Assumed(&suited, on.Groups[0], len(hosts)); groups != nil {
			on, c.assumed = cluster.Of(groups), why
		}
	}
	if c.topology != "" {
		if err := on.OnHosts(hosts); err != nil {
			return nil, client.Misuse("--topology: %w", err)
		}
		if lacks := on.Lacks(w); len(lacks) > 0 {
			return nil, client.Misuse("--topology: tasks of the workload need slots of kind %s, which no host has: write --slots %s=COUNT, or leave --slots and --cluster out",
				strings.Join(lacks, ", "), strings.Join(lacks, "=COUNT,"))
		}
	}
	if c.slowStart != 0 {
		on.Model.SlowStart = c.slowStart
	}
	if c.seed != 0 {
		on.Seed = c.seed
	}
	on.Model.Speculation = on.Model.Speculation || c.speculation
	return on, on.Check()
}

// readCluster reads the file of --cluster, or makes a cluster of --launchers with --slots.
func (c *command) readCluster() (*cluster.Cluster, error) {
	if c.cluster != "" {
		text, err := os.ReadFile(c.cluster)
		if err != nil {
			return nil, err
		}
		return cluster.Parse(c.cluster, text)
	}
	slots := map[string]int{}
	for _, text := range c.slots {
		kind, count, _ := strings.Cut(text, "=")
		n, err := strconv.Atoi(count)
		if err != nil || kind == "" {
			return nil, client.Misuse("--slots %q: write KIND=COUNT, such as map=4", text)
		}
		if _, twice := slots[kind]; twice {
			return nil, client.Misuse("--slots names the kind %q twice", kind)
		}
		slots[kind] = n
	}
	return cluster.Default(c.launchers, slots), nil
}

// readHosts reads the hosts of --topology; nil: there is none.
func (c *command) readHosts() ([]workload.Place, error) {
	if c.topology == "" {
		return nil, nil
	}
	f, err := os.Open(c.topology)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return workload.ReadTopology(f, c.topology)
}

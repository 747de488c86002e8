package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/minihdfs"
	"github.com/hamadryad/hamadryad/laboratory/experiment"
)

// The published run: a word count of 26 blocks of 512 MB, one replica each, with 8
// reduces, on 4 launchers of 2 slots that are the DataNodes too; means of three
// executions. Our blocks have 1 MiB, and a map takes 400 ms.
const (
	table1Blocks  = 26
	table1Block   = 1 << 20
	table1Reduces = 8
	table1Nodes   = 4
	table1Slots   = 2
	table1Map     = 400 * time.Millisecond
	// Without locality a map is local by chance, with the probability of one in as many as there
	// are nodes. The mean of the executions may deviate from that by this many standard deviations.
	table1Deviations = 4
	// table1Missed is the allowed number of local maps below the optimum: it is known only at the
	// end, and the last few maps depend on which task ends first.
	table1Missed = 2
)

// table1Blind is the flow of table 1 without locality: nothing costs anything.
const table1Blind = "min-cost-flow, costs: {node-local: 0, rack-local: 0, remote: 0}"

// table1Settings choose how the fair policy places work.
func table1Settings(mode string) string {
	return fmt.Sprintf("locality: {mode: %s}\npreemption: {mode: \"off\"}\n", mode) + experiment.PoolsOfWorkload
}

// table1Row is the result of one execution.
type table1Row struct {
	local   int // maps that ran on the host of their block
	optimum int // the most that were possible, with as many maps on each launcher
	took    time.Duration
}

func table1(ctx context.Context, l *lab) error {
	fmt.Fprintf(l.log, "%d blocks of %d MiB (published: 512 MB) with one replica in a real HDFS, %d launchers of %d slots on the\n"+
		"DataNodes' hosts, %d reduces; a map takes %v wherever it runs, since all hosts are one machine; %d executions\n\n", table1Blocks, table1Block>>20, table1Nodes, table1Slots, table1Reduces, l.scaled(table1Map), l.runs)
	kit, err := minihdfs.Prepare(ctx, l.log)
	if err != nil {
		return err
	}
	store, err := minihdfs.Start(ctx, kit, minihdfs.Options{DataNodes: table1Nodes, Replication: 1, BlockSize: table1Block})
	if err != nil {
		return err
	}
	defer store.Stop() //nolint:errcheck // its processes are killed; there is nothing to do about one that is gone
	without, err := l.table1Rows(ctx, store, "no-costs", table1Blind)
	if err != nil {
		return fmt.Errorf("without locality: %w", err)
	}
	with, err := l.table1Rows(ctx, store, "min-cost-flow", "min-cost-flow, node-delay: 0s, rack-delay: 0s")
	if err != nil {
		return fmt.Errorf("with min-cost flow: %w", err)
	}
	return l.table1Claims(without, with)
}

func (l *lab) table1Claims(without, with []table1Row) error {
	fmt.Fprintf(l.log, "%-28s %12s %12s   %s\n", "", "local maps", "time", "published")
	for _, r := range []struct {
		name      string
		rows      []table1Row
		published string
	}{{"without locality", without, "6.3, 9m14s"}, {"with min-cost flow", with, "20, 8m21s"}} {
		local, took := table1Mean(r.rows)
		fmt.Fprintf(l.log, "%-28s %12.1f %11.2fs   %s\n", r.name, local, took.Seconds(), r.published)
	}
	c := claims{lab: l}
	local, _ := table1Mean(without)
	expected, off := table1Chance(len(without))
	c.that(math.Abs(local-expected) <= off, "without locality as many of the %d maps are local as by chance, %.1f, give or take %.1f: %.1f", table1Blocks, expected, off, local)
	for i, r := range with {
		c.that(r.local >= r.optimum-table1Missed, "execution %d with min-cost flow: %d local maps; the optimum for that placement is %d (at most %d fewer)", i+1, r.local, r.optimum, table1Missed)
	}
	return c.err()
}

// table1Chance is the expected mean number of local maps of executions without regard to locality
// (a binomial distribution), and the deviation that may still be chance.
func table1Chance(executions int) (expected, off float64) {
	const p = 1.0 / table1Nodes
	return table1Blocks * p, table1Deviations * math.Sqrt(table1Blocks*p*(1-p)/float64(executions))
}

func table1Mean(rows []table1Row) (local float64, took time.Duration) {
	for _, r := range rows {
		local += float64(r.local) / float64(len(rows))
		took += r.took / time.Duration(len(rows))
	}
	return local, took
}

// table1Rows runs the job several times under the fair policy with a named mode of locality.
func (l *lab) table1Rows(ctx context.Context, store *minihdfs.Cluster, name, mode string) ([]table1Row, error) {
	s := site{
		launchers: table1Nodes, slots: table1Slots, policy: "fair", settings: table1Settings(mode),
		environ: []string{"HADOOP_CONF_DIR=" + store.ConfDir()},
	}
	for i := range table1Nodes {
		s.hosts = append(s.hosts, minihdfs.Host(i)) // without racks, as the published network has none
	}
	c, err := l.start(ctx, s)
	if err != nil {
		return nil, err
	}
	defer c.stop()
	var rows []table1Row
	for i := range l.runs {
		row, err := c.table1Row(ctx, store, fmt.Sprintf("%s-%d", name, i+1))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(l.log, "%s: %d of %d maps local (at most %d), %.2f s\n", name, row.local, table1Blocks, row.optimum, row.took.Seconds())
		rows = append(rows, row)
	}
	return rows, nil
}

// table1Row puts a text into HDFS and counts its words.
func (c *cluster) table1Row(ctx context.Context, store *minihdfs.Cluster, pool string) (table1Row, error) {
	local, err := c.words(pool, table1Blocks*wordsPerMap, table1Block/wordsPerMap)
	if err != nil {
		return table1Row{}, err
	}
	input := "/words-" + pool
	if _, err := store.Run(ctx, "dfs", "-put", local, input); err != nil {
		return table1Row{}, err
	}
	blocks, err := table1Places(ctx, store, input)
	if err != nil {
		return table1Row{}, err
	}
	w := wordCount{pool: pool, maps: table1Blocks, reduces: table1Reduces, perMap: c.lab.scaled(table1Map)}
	wait, err := c.submitOn(w, store.NameNode()+input, store.NameNode()+"/out-"+pool, table1Block)
	if err != nil {
		return table1Row{}, err
	}
	j, err := wait()
	if err != nil {
		return table1Row{}, err
	}
	return table1Count(j, blocks)
}

// table1Places returns the DataNode of each block.
func table1Places(ctx context.Context, store *minihdfs.Cluster, path string) ([]int, error) {
	replicas, err := store.Replicas(ctx, path)
	if err != nil {
		return nil, err
	}
	if len(replicas) != table1Blocks {
		return nil, fmt.Errorf("%s has %d block replicas and should have %d", path, len(replicas), table1Blocks)
	}
	nodes := make([]int, table1Blocks)
	for _, r := range replicas {
		nodes[r.Block] = r.Node
	}
	return nodes, nil
}

// table1Count counts the local maps of a job, by the blocks on the DataNodes' disks. Map i reads
// block i. A launcher that ran n maps and holds m blocks can have run min(n, m) local ones; the sum
// is the optimum.
func table1Count(j *wire.JobStatus, blocks []int) (table1Row, error) {
	var ran, holds [table1Nodes]int
	for _, node := range blocks {
		holds[node]++
	}
	row := table1Row{took: took(j)}
	for _, a := range j.Attempts {
		if a.Stage != mapStage || a.State != "finished" {
			continue
		}
		var launcher int
		if _, err := fmt.Sscanf(strings.TrimPrefix(a.Launcher, "launcher-"), "%d", &launcher); err != nil || launcher < 1 || launcher > table1Nodes || int(a.Index) >= len(blocks) {
			return row, fmt.Errorf("map %d on launcher %q is none of the experiment's", a.Index, a.Launcher)
		}
		ran[launcher-1]++
		if blocks[a.Index] == launcher-1 {
			row.local++
		}
	}
	for i := range ran {
		row.optimum += min(ran[i], holds[i])
	}
	return row, nil
}

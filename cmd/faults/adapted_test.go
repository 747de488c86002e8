package faults

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// contents returns the job's output files by name.
func (j *gatedJob) contents() map[string]string {
	j.c.t.Helper()
	files := map[string]string{}
	for _, path := range j.c.files(filepath.Join(j.folder, "out"), func(p string) bool { return filepath.Base(p) != "_SUCCESS" }) {
		b, err := os.ReadFile(path)
		if err != nil {
			j.c.t.Fatal(err)
		}
		files[filepath.Base(path)] = string(b)
	}
	return files
}

// losesOutputs kills the manager and a launcher that stores outputs, and starts the manager again.
func (c *cluster) losesOutputs() {
	c.manager.kill(c.t)
	for i := range c.launchers {
		if len(c.stored(i)) > 0 {
			c.launchers[i].kill(c.t)
			break
		}
	}
	c.startManager()
}

// A launcher is lost after the nodes of an aggregating stage were chosen and ran, with their output and
// that of writers. Some readers have read, and one has not begun. The manager is killed too. All that
// is needed is made again, and nothing is counted twice or left out.
func TestLauncherKilledAfterAggregation(t *testing.T) {
	const mapTasks, reduces = 9, 4
	c := startCluster(t, options{launchers: 3, slots: 1})
	even := c.submitIn("even", "file", 0, mapTasks, reduces)
	even.succeeds()
	want := even.contents()

	j := c.submitIn("faulty", "aggregated", 0, mapTasks, reduces, "part")
	j.reached("part", 1)
	nodes := j.attempts("gather")
	if nodes == 0 {
		t.Fatal("no machine got a node of the aggregating stage: the test wants some")
	}
	c.losesOutputs()
	j.open("part")
	j.succeeds()
	if runs, again := j.attempts("map"), j.attempts("gather"); runs+again <= mapTasks+nodes {
		t.Errorf("%d attempts of %d maps, and %d of %d aggregating nodes: none ran again", runs, mapTasks, again, nodes)
	}
	if got := j.contents(); !maps.Equal(got, want) {
		t.Errorf("got %d files, which are not the %d of the job without a fault:\ngot  %v\nwant %v", len(got), len(want), got, want)
	}
}

// A launcher is lost after the readers of an adapted connection were chosen, with outputs that they
// need. Some have read, others have not begun. The manager is killed too. Writers run again, and the
// choice stays, so the files are those of a job without a fault.
func TestLauncherKilledAfterReadersWereChosen(t *testing.T) {
	const mapTasks, partitions = 6, 40
	c := startCluster(t, options{launchers: 3, slots: 1})
	even := c.submitIn("even", "adapted", 0, mapTasks, partitions)
	even.succeeds()
	want := even.contents()
	if len(want) < 5 || len(want) >= partitions {
		t.Fatalf("%d readers of %d partitions: the test wants some that wait for a slot, and some with several partitions", len(want), partitions)
	}

	j := c.submitIn("faulty", "adapted", 0, mapTasks, partitions, "part")
	j.reached("part", 1)
	c.losesOutputs()
	j.open("part")
	j.succeeds()
	if runs := j.attempts("map"); runs <= mapTasks {
		t.Errorf("%d attempts of %d maps: none ran again", runs, mapTasks)
	}
	if got := j.contents(); !maps.Equal(got, want) {
		t.Errorf("got %d files, which are not the %d of the job without a fault:\ngot  %v\nwant %v", len(got), len(want), got, want)
	}
}

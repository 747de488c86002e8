package launcher_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// sumTo is the sum of the numbers below n.
func sumTo(n int64) int64 { return n * (n - 1) / 2 }

func TestSharedMemoryChannels(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	b := m.job("relay", "shm", "3", "2", "20000")
	e := n.finished(n.start(b.attempt(0, 0, 0, 1, 0, 2, 1, 0, 1, 1)))
	if got := counters(e); got["records"] != 60000 || got["sum"] != sumTo(60000) {
		t.Errorf("%v", got)
	}
	if e.Work.ChannelBytes[2] != 8*60000 {
		t.Errorf("bytes by kind %v", e.Work.ChannelBytes)
	}
	if left, err := os.ReadDir(filepath.Join(dataOf(t, n), "scratch")); err != nil || len(left) > 0 {
		t.Errorf("left in scratch: %v, %v", left, err)
	}
}

// dataOf is the data folder of a launcher made by launch.
func dataOf(t *testing.T, n *node) string {
	t.Helper()
	return n.m.folders[n.name]
}

func TestStreamedChannelsAcrossLaunchers(t *testing.T) {
	m := newManager(t)
	one, two := m.launch("one", nil), m.launch("two", nil)
	b := m.job("relay", "tcp", "2", "2", "5000")
	from, to := b.attempt(0, 0, 0, 1), b.attempt(1, 0, 1, 1)
	peers := startBundle(member{one, from}, member{two, to})
	if peers[0].Address != "" || peers[1].Address == "" {
		t.Errorf("writers listen at %q, readers at %q: only readers need a port", peers[0].Address, peers[1].Address)
	}
	garble(t, peers[1].Address)
	meet(peers, member{one, from}, member{two, to})
	one.finished(from.Attempt)
	if got := counters(two.finished(to.Attempt)); got["records"] != 10000 || got["sum"] != sumTo(10000) {
		t.Errorf("%v", got)
	}
}

// member is a group of a bundle and the launcher that runs it.
type member struct {
	*node
	group *wire.StartAttempt
}

// startBundle starts groups as one bundle and waits until all have started.
func startBundle(members ...member) []*wire.Peer {
	first := members[0].group
	for _, x := range members {
		x.group.Bundle, x.group.BundleAttempt, x.group.Token = first.Bundle, first.BundleAttempt, first.Token
		x.group.WaitForPeers = true
		x.start(x.group)
	}
	var peers []*wire.Peer
	for _, x := range members {
		peers = append(peers, &wire.Peer{Attempt: x.group.Attempt, Address: x.started(x.group.Attempt).Address, Nodes: x.group.Nodes, LauncherName: x.name})
	}
	return peers
}

// meet sends the groups of a bundle the addresses of the others.
func meet(peers []*wire.Peer, members ...member) {
	for _, x := range members {
		x.do(&wire.Command{Do: &wire.Command_Peers{Peers: &wire.Peers{Attempt: x.group.Attempt, Peers: peers}}})
	}
}

// garble sends random bytes to a port.
func garble(t *testing.T, address string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte(strings.Repeat("\xff\x00garbage", 100))); err != nil {
		t.Log("the port refuses garbage in the middle of it:", err)
	}
}

func TestBrokenBundleIsLost(t *testing.T) {
	m := newManager(t)
	one, two := m.launch("one", nil), m.launch("two", nil)
	b := m.job("relay", "tcp", "1", "1", "100000000")
	from, to := b.attempt(0, 0), b.attempt(1, 0)
	meet(startBundle(member{one, from}, member{two, to}), member{one, from}, member{two, to})
	two.logged(to.Attempt, "reading")
	one.stop(from.Attempt, 0)
	if e := two.ended(to.Attempt); e.End != wire.End_END_FAILED || e.Failure.Kind != wire.ErrorKind_ERROR_KIND_LOST {
		t.Errorf("a reader whose writer was killed: %v", e)
	}
}

func TestStoredChannels(t *testing.T) {
	for _, place := range []string{"same machine", "over the network", "on the job's storage"} {
		t.Run(place, func(t *testing.T) {
			m := newManager(t)
			one := m.launch("one", nil)
			two := m.launch("two", func(c *configuration) {
				if place == "over the network" {
					c.Cache = t.TempDir()
				}
			})
			args := []string{"file", "2", "2", "20000"}
			kept := t.TempDir()
			if place == "on the job's storage" {
				args = append(args, kept)
			}
			b := m.job("relay", args...)
			first, second := b.attempt(0, 0), b.attempt(0, 1)
			stored := one.finished(one.start(first))
			two.finished(two.start(second))
			if len(stored.Stored) != 1 || len(stored.Stored[0].PartitionBytes) != 2 || stored.Stored[0].Bytes == 0 {
				t.Fatalf("%v", stored.Stored)
			}
			garble(t, one.join.DataAddress)
			read := b.attempt(1, 1)
			read.Sources = []*wire.Source{source(one, first, 0, 0), source(two, second, 0, 1)}
			e := two.finished(two.start(read))
			// Odd numbers below 40000.
			if got := counters(e); got["records"] != 20000 || got["sum"] != 400_000_000 {
				t.Errorf("%v", got)
			}
			if e.Work.Read[0] == 0 || e.Work.Read[1] == 0 || e.Work.Read[2] != 0 {
				t.Errorf("bytes by locality %v", e.Work.Read)
			}
			if place == "on the job's storage" {
				finishJob(t, one, b, false)
				if left, err := os.ReadDir(kept); err != nil || len(left) > 0 {
					t.Errorf("the last group left %v, %v", left, err)
				}
			}
		})
	}
}

// A folder on the job's storage in which another user may change files is neither written, read nor
// published: the attempt fails with a message that names the problem.
func TestFoldersOfOthersAreRefused(t *testing.T) {
	kept := t.TempDir()
	m := newManager(t)
	n := m.launch("one", nil)
	for what, swap := range map[string]func(folder string) error{
		"it belongs to uid:1":              func(f string) error { return errors.Join(os.Mkdir(f, 0o755), os.Chown(f, 1, 1)) },
		"everybody may change":             func(f string) error { return errors.Join(os.Mkdir(f, 0o755), os.Chmod(f, 0o777)) }, //nolint:gosec // that this is refused is tested
		"it is no folder, but a link":      func(f string) error { return os.Symlink(t.TempDir(), f) },
		"was it removed, or is its store":  func(string) error { return nil },
		"is not used: it is no folder, bu": func(f string) error { return os.WriteFile(f, nil, 0o600) },
	} {
		b := m.job("relay", "file", "1", "1", "10", kept)
		about := &wire.JobFolders{Secret: "s3cret", Owners: []string{"uid:5", "uid:6"}}
		owner := m.owner(b)
		owner.Secret = about.Secret
		if err := os.Mkdir(owner.Channels(kept), 0o755); err != nil {
			t.Fatal(err)
		}
		good := b.attempt(0, 0)
		good.Folders = about
		n.finished(n.start(good))
		if err := errors.Join(os.RemoveAll(owner.Channels(kept)), swap(owner.Channels(kept))); err != nil {
			t.Fatal(err)
		}
		write := b.attempt(0, 0)
		write.Folders = about
		if e := n.ended(n.start(write)); e.End != wire.End_END_FAILED || !strings.Contains(e.Failure.GetMessage(), what) {
			t.Errorf("%s: its writer: %v", what, e)
		}
		if what == "was it removed, or is its store" {
			continue // readers report a lost input, as for a file
		}
		read := b.attempt(1, 0)
		read.Folders, read.Sources = about, []*wire.Source{source(n, good, 0, 0)}
		if e := n.ended(n.start(read)); e.End != wire.End_END_FAILED || !strings.Contains(e.Failure.GetMessage(), what) {
			t.Errorf("%s: its reader: %v", what, e)
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	b := m.jobWith(&plan.Submission{Name: "output", Args: []string{out}, Folders: []string{out}})
	if err := errors.Join(os.Mkdir(m.owner(b).Temporary(out), 0o755), os.Chown(m.owner(b).Temporary(out), 1, 1)); err != nil {
		t.Fatal(err)
	}
	write, publish := b.attempt(0, 0), b.attempt()
	publish.Finish = &wire.Finish{Publish: true, Outputs: []string{out}}
	for _, s := range []*wire.StartAttempt{write, publish} {
		s.Folders = &wire.JobFolders{Owners: []string{"uid:5"}}
		n.start(s)
		if s == publish {
			n.grant(s.Attempt, true)
		}
		if e := n.ended(s.Attempt); e.End != wire.End_END_FAILED || !strings.Contains(e.Failure.GetMessage(), "it belongs to uid:1") {
			t.Errorf("%v", e)
		}
	}
}

func finishJob(t *testing.T, n *node, b *built, publish bool) *wire.AttemptEnded {
	t.Helper()
	s := b.attempt()
	s.Finish = &wire.Finish{Publish: publish}
	return n.finished(n.start(s))
}

func TestSourcesThatComeLater(t *testing.T) {
	m := newManager(t)
	n := m.launch("one", nil)
	b := m.job("relay", "file", "2", "1", "1000")
	first, second := b.attempt(0, 0), b.attempt(0, 1)
	n.finished(n.start(first))
	read := b.attempt(1, 0)
	read.Sources, read.SourcesComplete = []*wire.Source{source(n, first, 0, 0)}, false
	n.start(read)
	n.started(read.Attempt)
	n.finished(n.start(second))
	n.do(&wire.Command{Do: &wire.Command_Sources{Sources: &wire.SourcesUpdate{
		Attempt: read.Attempt, Sources: []*wire.Source{source(n, second, 0, 1)}, Complete: true,
	}}})
	if got := counters(n.finished(read.Attempt)); got["records"] != 2000 || got["sum"] != sumTo(2000) {
		t.Errorf("%v", got)
	}
}

func TestDamagedOutputIsReadFromItsSuccessor(t *testing.T) {
	for _, direct := range []bool{true, false} {
		t.Run(fmt.Sprintf("direct=%v", direct), func(t *testing.T) {
			m := newManager(t)
			one := m.launch("one", nil)
			two := m.launch("two", func(c *configuration) {
				if !direct {
					c.Cache = t.TempDir()
				}
			})
			b := m.job("relay", "file", "1", "1", "1000")
			write := b.attempt(0, 0)
			one.finished(one.start(write))
			path := filepath.Join(worker.AttemptFolder(filepath.Join(dataOf(t, one), "store"), b.id, write.Attempt), worker.StoredName(0, 0))
			flipBit(t, path)
			read := b.attempt(1, 0)
			read.Sources = []*wire.Source{source(one, write, 0, 0)}
			two.start(read)
			lost := two.report("lost input", func(r *wire.Report) bool { return r.GetInputLost() != nil }).GetInputLost()
			if lost.Attempt != read.Attempt || lost.Producer != write.Attempt || !lost.Damaged || lost.Connection != 0 || lost.From != 0 {
				t.Errorf("%v", lost)
			}
			again := b.attempt(0, 0)
			one.finished(one.start(again))
			two.do(&wire.Command{Do: &wire.Command_Sources{Sources: &wire.SourcesUpdate{
				Attempt: read.Attempt, Sources: []*wire.Source{source(one, again, 0, 0)}, Complete: true,
			}}})
			if got := counters(two.finished(read.Attempt)); got["records"] != 1000 || got["sum"] != sumTo(1000) {
				t.Errorf("%v", got)
			}
		})
	}
}

// A reader fetches many outputs together. Some are damaged, some are gone, and those of one launcher
// that died are not reached. The reader names what it needs made again, and reads each output once.
func TestManyOutputsOfWhichSomeAreMadeAgain(t *testing.T) {
	m := newManager(t)
	one := m.launch("one", nil)
	dead, process := m.launchProcess(m.config("dead"))
	two := m.launch("two", func(c *configuration) { c.Cache = t.TempDir() })
	const writers, damaged, gone = 24, 5, 9
	b := m.job("relay", "file", fmt.Sprint(writers), "1", "1000")
	read := b.attempt(1, 0)
	onDead := func(i int) bool { return i%12 == 3 } // two: an input reads four outputs at once, in any order
	made := map[int]*wire.StartAttempt{}
	for i := range writers {
		n := one
		if onDead(i) {
			n = dead
		}
		made[i] = b.attempt(0, i)
		n.finished(n.start(made[i]))
		read.Sources = append(read.Sources, source(n, made[i], 0, i))
	}
	flipBit(t, filepath.Join(worker.AttemptFolder(filepath.Join(dataOf(t, one), "store"), b.id, made[damaged].Attempt), worker.StoredName(0, damaged)))
	read.Sources[gone].Attempt = 1 << 40
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	two.start(read)
	again := func(i int) {
		t.Helper()
		write := b.attempt(0, i)
		one.finished(one.start(write))
		two.do(&wire.Command{Do: &wire.Command_Sources{Sources: &wire.SourcesUpdate{
			Attempt: read.Attempt, Sources: []*wire.Source{source(one, write, 0, i)}, Complete: true,
		}}})
	}
	for range 2 {
		lost := two.report("lost input", func(r *wire.Report) bool { return r.GetInputLost() != nil }).GetInputLost()
		if lost.From != damaged && lost.From != gone || !lost.Damaged {
			t.Fatalf("%v", lost)
		}
		again(int(lost.From))
	}
	for i := range writers {
		if onDead(i) {
			again(i)
		}
	}
	if got := counters(two.finished(read.Attempt)); got["records"] != writers*1000 || got["sum"] != sumTo(writers*1000) {
		t.Errorf("%v", got)
	}
}

// When a reader of many small partitions starts, its launcher merges the files. Later readers on the
// machine need the files no more. They read what is in no merged file as before: those of a launcher
// that has few, and an output that was made again. They report what is nowhere.
func TestReadersOfAWideShuffleReadMergedCopies(t *testing.T) {
	m := newManager(t)
	one, two := m.launch("one", nil), m.launch("two", nil)
	const writers, few, readers, count = 30, 3, 64, 640 // few of the writers run on two
	b := m.job("relay", "file", fmt.Sprint(writers), fmt.Sprint(readers), fmt.Sprint(count))
	made, sources := make([]*wire.StartAttempt, writers), make([]*wire.Source, writers)
	write := func(i int) {
		n := one
		if i < few {
			n = two
		}
		made[i] = b.attempt(0, i)
		n.finished(n.start(made[i]))
		sources[i] = source(n, made[i], 0, i)
	}
	for i := range writers {
		write(i)
	}
	reader := func(n *node, index int) *wire.StartAttempt {
		read := b.attempt(1, index)
		read.Sources = slices.Clone(sources)
		n.start(read)
		return read
	}
	check := func(n *node, read *wire.StartAttempt, index int) {
		t.Helper()
		const each = writers * count / readers
		if got := counters(n.finished(read.Attempt)); got["records"] != each || got["sum"] != int64(each*index)+readers*sumTo(each) {
			t.Errorf("reader %d: %v", index, got)
		}
	}
	check(one, reader(one, 1), 1)
	merged := filepath.Join(dataOf(t, one), "store", fmt.Sprintf("job-%d.merged", b.id), "c0.0")
	proctest.Until(t, time.Minute, "the files are merged", func() bool {
		_, err := os.Stat(merged)
		return err == nil
	})
	remove := func(n *node, i int) {
		t.Helper()
		if err := os.Remove(filepath.Join(worker.AttemptFolder(filepath.Join(dataOf(t, n), "store"), b.id, made[i].Attempt), worker.StoredName(0, uint32(i)))); err != nil {
			t.Fatal(err)
		}
	}
	for i := few; i < writers; i++ {
		remove(one, i)
	}
	check(two, reader(two, 2), 2)
	write(9) // another attempt, of which there is no copy
	remove(one, 9)
	read := reader(two, 3)
	lost := two.report("lost input", func(r *wire.Report) bool { return r.GetInputLost() != nil }).GetInputLost()
	if lost.From != 9 || lost.Producer != made[9].Attempt {
		t.Fatalf("%v", lost)
	}
	write(9)
	two.do(&wire.Command{Do: &wire.Command_Sources{Sources: &wire.SourcesUpdate{Attempt: read.Attempt, Sources: sources[9:10], Complete: true}}})
	check(two, read, 3)

	if err := os.Chmod(merged, 0o600); err != nil {
		t.Fatal(err)
	}
	flipBit(t, merged)
	damaged := reader(two, readers/3) // what is damaged has no other copy now
	lost = two.report("lost input", func(r *wire.Report) bool { return r.GetInputLost() != nil }).GetInputLost()
	if lost.Attempt != damaged.Attempt || int(lost.From) < few {
		t.Errorf("%v", lost)
	}
	two.stop(damaged.Attempt, 0)
	two.ended(damaged.Attempt)
	one.do(&wire.Command{Do: &wire.Command_DropJob{DropJob: b.id}})
	proctest.Until(t, time.Minute, "the merged files are gone", func() bool {
		_, err := os.Stat(filepath.Dir(merged))
		return errors.Is(err, os.ErrNotExist)
	})
}

// flipBit changes one bit in the middle of a file.
func flipBit(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/3] ^= 16
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestWrongTokenIsRefused(t *testing.T) {
	m := newManager(t)
	one := m.launch("one", nil)
	two := m.launch("two", func(c *configuration) { c.Cache = t.TempDir() })
	b := m.job("relay", "file", "1", "1", "1000")
	write, read := b.attempt(0, 0), b.attempt(1, 0)
	one.finished(one.start(write))
	wrong := source(one, write, 0, 0)
	wrong.Token = []byte("guessed")
	read.Sources = []*wire.Source{wrong}
	two.start(read)
	two.report("lost input", func(r *wire.Report) bool { return r.GetInputLost().GetProducer() == write.Attempt })
}

func TestDroppedOutputAndJobAreDeleted(t *testing.T) {
	m := newManager(t)
	n := m.launch("one", nil)
	b := m.job("relay", "file", "2", "1", "1000")
	first, second := b.attempt(0, 0), b.attempt(0, 1)
	n.finished(n.start(first))
	n.finished(n.start(second))
	store := filepath.Join(dataOf(t, n), "store")
	n.do(&wire.Command{Do: &wire.Command_DropOutput{DropOutput: &wire.Stored{Job: b.id, Attempt: first.Attempt}}})
	waitGone(t, worker.AttemptFolder(store, b.id, first.Attempt))
	if _, err := os.Stat(worker.AttemptFolder(store, b.id, second.Attempt)); err != nil {
		t.Error(err)
	}
	n.do(&wire.Command{Do: &wire.Command_DropJob{DropJob: b.id}})
	waitGone(t, filepath.Join(store, fmt.Sprintf("job-%d", b.id)))

	// A job's folder is removed with the last output in it: nobody drops a job of which a launcher
	// has nothing.
	b = m.job("relay", "file", "2", "1", "1000")
	first, second = b.attempt(0, 0), b.attempt(0, 1)
	n.finished(n.start(first))
	n.do(&wire.Command{Do: &wire.Command_DropOutput{DropOutput: &wire.Stored{Job: b.id, Attempt: first.Attempt}}})
	waitGone(t, filepath.Join(store, fmt.Sprintf("job-%d", b.id)))
	n.finished(n.start(second))
	if _, err := os.Stat(worker.AttemptFolder(store, b.id, second.Attempt)); err != nil {
		t.Error(err)
	}
}

// A launcher confirms that a job is dropped when all its files are gone, and again when the command
// is repeated. If a manager that forgot the drop starts an attempt of the job, the launcher does
// not run it and reports its end. The manager can still have the job cleaned up.
func TestDroppedJobIsConfirmedAndStartsNoMore(t *testing.T) {
	m := newManager(t)
	n := m.launch("one", nil)
	b := m.job("relay", "file", "2", "1", "1000")
	n.finished(n.start(b.attempt(0, 0)))
	store := filepath.Join(dataOf(t, n), "store", fmt.Sprintf("job-%d", b.id))
	for range 2 {
		n.do(&wire.Command{Do: &wire.Command_DropJob{DropJob: b.id}})
		n.report("the end of the files", func(r *wire.Report) bool { return r.GetJobDropped() == b.id })
		if _, err := os.Stat(store); !os.IsNotExist(err) {
			t.Fatalf("the job's files are there: %v", err)
		}
	}
	e := n.ended(n.start(b.attempt(0, 1)))
	if e.End != wire.End_END_FAILED || e.Failure.GetKind() != wire.ErrorKind_ERROR_KIND_INVALID || !strings.Contains(e.Failure.Message, "event log has lost the job's end") {
		t.Errorf("an attempt of a dropped job ended as %v", e)
	}
	clean := b.attempt()
	clean.Finish = &wire.Finish{Outputs: []string{filepath.Join(t.TempDir(), "out")}}
	n.finished(n.start(clean))
}

// A launcher's join shows whether an event log lost records: it contains the newest attempt that
// the launcher received, and the jobs of which it has anything.
func TestJoinTellsWhatWasSeen(t *testing.T) {
	m := newManager(t)
	n := m.launch("one", nil)
	b := m.job("hang")
	id := n.start(b.attempt(0, 0))
	n.logged(id, "hanging")
	n.do(&wire.Command{Do: &wire.Command_ReportInventory{ReportInventory: true}})
	if r := n.report("inventory", func(r *wire.Report) bool { return r.GetInventory() != nil }).GetInventory(); !slices.Equal(r.Jobs, []uint64{b.id}) {
		t.Errorf("it has jobs %v, want %d", r.Jobs, b.id)
	}
	n.cut()
	n.wait("it joins again", func() bool { return n.join.GetSeen() != 0 })
	if n.join.Seen != id || n.join.Term != m.term.Load() || !slices.Equal(n.join.Jobs, []uint64{b.id}) {
		t.Errorf("it tells of attempt %d, term %d, jobs %v; want %d, %d, %d", n.join.Seen, n.join.Term, n.join.Jobs, id, m.term.Load(), b.id)
	}
}

// owner identifies the owner of a job's folders.
func (m *manager) owner(b *built) plan.Owner {
	return plan.Owner{Cluster: plan.Cluster(m.id), Job: b.id}
}

func TestPublish(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	out := filepath.Join(t.TempDir(), "out")
	b := m.jobWith(&plan.Submission{Name: "output", Args: []string{out}, Folders: []string{out}})
	if err := os.Mkdir(m.owner(b).Temporary(out), 0o755); err != nil {
		t.Fatal(err)
	}
	var files []*wire.CommittedFile
	for i := range 2 {
		files = append(files, n.finished(n.start(b.attempt(0, i))).Files...)
	}
	if len(files) != 2 || files[0].Name != "deep/part-0" || files[0].Bytes != 7 {
		t.Fatalf("%v", files)
	}
	publish := func() *wire.StartAttempt {
		s := b.attempt()
		s.Finish = &wire.Finish{Publish: true, Outputs: []string{out}, Files: files}
		return s
	}
	// The first attempt is refused the grant, the second publishes, the third finds the output
	// published.
	denied, first, again := publish(), publish(), publish()
	n.start(denied)
	n.grant(denied.Attempt, false)
	if e := n.ended(denied.Attempt); e.End != wire.End_END_FAILED {
		t.Errorf("%v", e)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("published without a grant")
	}
	for _, s := range []*wire.StartAttempt{first, again} {
		n.start(s)
		n.grant(s.Attempt, true)
		n.finished(s.Attempt)
	}
	for name, want := range map[string]string{"deep/part-0": "from 0\n", "deep/part-1": "from 1\n", "_SUCCESS": fmt.Sprintf("job-%d output\n", b.id)} {
		if text, err := os.ReadFile(filepath.Join(out, name)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if _, err := os.Stat(m.owner(b).Temporary(out)); err == nil {
		t.Error("the temporary folder is left")
	}
}

func (n *node) grant(id uint64, granted bool) {
	n.m.t.Helper()
	n.report("question for the grant", func(r *wire.Report) bool { return r.GetCommit() == id })
	n.do(&wire.Command{Do: &wire.Command_Commit{Commit: &wire.CommitVerdict{Attempt: id, Granted: granted, Reason: "test"}}})
}

func TestPublishNeverReplacesAFolder(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	out := filepath.Join(t.TempDir(), "out")
	b := m.jobWith(&plan.Submission{Name: "output", Args: []string{out}, Folders: []string{out}})
	for _, folder := range []string{m.owner(b).Temporary(out), out} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := b.attempt()
	s.Finish = &wire.Finish{Publish: true, Outputs: []string{out}}
	n.start(s)
	n.grant(s.Attempt, true)
	if e := n.ended(s.Attempt); e.Failure.GetKind() != wire.ErrorKind_ERROR_KIND_OUTPUT {
		t.Errorf("%v", e)
	}
	clean := b.attempt()
	clean.Finish = &wire.Finish{Outputs: []string{out}}
	n.finished(n.start(clean))
	if _, err := os.Stat(m.owner(b).Temporary(out)); err == nil {
		t.Error("clean left the temporary folder")
	}
	if _, err := os.Stat(out); err != nil {
		t.Error("clean removed somebody else's folder")
	}
}

func TestWriteAfterReturnFails(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	s := m.job("leftover").attempt(0, 0, 1, 0)
	n.finished(n.start(s))
	// The goroutine that was left behind prints after the end, into any attempt's log. The process
	// survives, and runs another group.
	n.finished(n.start(m.job("leftover").attempt(0, 0, 1, 0)))
}

package launcher_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/isolate"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/suspend"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker"
)

// Two users that every Debian system has.
const (
	alice = "daemon"
	eve   = "nobody"
)

// isolation starts workers as the submitters. Tests with it need root, and say so.
func isolation(t testing.TB) func(*configuration) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("this test starts workers of two users, so it needs root")
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return func(c *configuration) {
		c.Isolation = isolate.Settings{User: isolate.Submitter, LeastUID: 1}
		c.Step = []string{path, stepArgument}
	}
}

// asUser returns a start of a job's group as a user.
func (b *built) asUser(name string, nodes ...int) *wire.StartAttempt {
	s := b.attempt(nodes...)
	s.User = name
	return s
}

func idOf(t testing.TB, name string) (uid, gid int64) {
	t.Helper()
	u, err := user.Lookup(name)
	if err == nil {
		uid, err = strconv.ParseInt(u.Uid, 10, 64)
	}
	if err == nil {
		gid, err = strconv.ParseInt(u.Gid, 10, 64)
	}
	if err != nil {
		t.Fatalf("%v: this test runs as users that each Debian has", err)
	}
	return uid, gid
}

// inTheOpen is a folder that all users can reach, like a launcher's data folder, with a set-uid
// program that prints files, and a file of root's.
func inTheOpen(t *testing.T) (folder, program, file string) {
	t.Helper()
	folder, err := os.MkdirTemp("/var/lib", "hamadryad-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	program, file = filepath.Join(folder, "print"), filepath.Join(folder, "root")
	cat, err := os.ReadFile("/bin/cat")
	for _, err := range []error{
		err, os.Chmod(folder, 0o755), os.WriteFile(program, cat, 0o755), os.Chmod(program, 0o755|os.ModeSetuid),
		os.WriteFile(file, []byte(secret), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return folder, program, file
}

// Of two users on one launcher, neither can reach the other's files, processes or logs, nor the
// launcher's. Where all workers run as the launcher's user, an attacker reaches all of them.
func TestUsersCantReachEachOther(t *testing.T) {
	on := isolation(t)
	for _, how := range []string{isolate.Submitter, isolate.None} {
		t.Run(how, func(t *testing.T) {
			m := newManager(t)
			open, program, file := inTheOpen(t)
			data := filepath.Join(open, "data")
			n := m.launch("a", func(c *configuration) {
				if c.Data, c.Cache = data, filepath.Join(data, "cache"); how == isolate.Submitter {
					on(c)
				}
			})
			b := m.job("secretive")
			n.do(&wire.Command{Do: &wire.Command_Tickets{Tickets: &wire.JobTickets{Job: b.id, Cache: []byte(secret)}}})
			victim := n.start(b.asUser(alice, 0, 0))
			kept := strings.Fields(n.m.follow(n.join.HttpAddress, victim, "\nkeeps "))[1]
			relay := m.job("relay", "file", "1", "1", "10")
			stored := relay.asUser(alice, 0, 0)
			n.finished(n.start(stored))
			pid := workerOf(t, victim, kept)
			paths := []string{
				ticketsOf(t, pid), file, kept, filepath.Dir(kept), filepath.Dir(filepath.Dir(kept)), filepath.Join(data, "scratch"), filepath.Join(data, "logs"), filepath.Join(data, "logs", fmt.Sprintf("a%d.log", victim)),
				filepath.Join(worker.AttemptFolder(filepath.Join(data, "store"), relay.id, stored.Attempt), worker.StoredName(0, 0)),
				filepath.Join(data, "cache"), filepath.Join(data, "cache", b.plan), filepath.Join(data, "identity"), filepath.Join(data, "incarnation"),
			}
			args := append([]string{strconv.Itoa(pid), program}, paths...)
			got := counters(n.finished(n.start(m.job("intrude", args...).asUser(eve, 0, 0))))
			all := []string{"saw the process", "read its environment", "could kill it", "traced it", "gained by a set-uid program"}
			for _, p := range paths {
				all = append(all, "read "+p)
			}
			for _, what := range all {
				if gained := got[what] > 0; gained != (how == isolate.None) {
					t.Errorf("%s: %t", what, gained)
				}
			}
		})
	}
}

// ticketsOf is the path of a worker's file of tickets.
func ticketsOf(t *testing.T, pid int) string {
	t.Helper()
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut("\x00"+string(environ), "\x00KRB5CCNAME=FILE:")
	path, _, _ := strings.Cut(rest, "\x00")
	if text, err := os.ReadFile(path); !ok || err != nil || string(text) != secret {
		t.Fatalf("the worker has no tickets in %q: %q, %v", path, text, err)
	}
	return path
}

// workerOf finds a worker from outside, by a prefix of its working folder.
func workerOf(t *testing.T, attempt uint64, inside string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		to, err := os.Readlink("/proc/" + e.Name() + "/cwd")
		environ, _ := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err == nil && to != "/" && strings.HasPrefix(inside, to+"/") && bytes.Contains(environ, []byte("HAMADRYAD_WORKER_MARK=")) {
			pid, err := strconv.Atoi(e.Name())
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("there is no worker of attempt %d", attempt)
	return 0
}

// A worker has its user's ids, and only the environment and descriptors that the launcher passes
// on. Other users can't read its files, and its /tmp is private.
func TestAWorkerHasOnlyWhatItIsGiven(t *testing.T) {
	on := isolation(t)
	t.Setenv("KRB5CCNAME", "/run/"+secret)
	t.Setenv("HAMADRYAD_HDFS_KEYTAB", "/etc/"+secret)
	f, err := os.Create(filepath.Join(t.TempDir(), secret))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	inherited, err := syscall.Dup(int(f.Fd())) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	before, err := os.Getgroups()
	if err == nil {
		err = syscall.Setgroups([]int{0})
	}
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Setgroups(before)
	m := newManager(t)
	n := m.launch("a", on)
	for _, name := range []string{alice, eve} {
		uid, gid := idOf(t, name)
		got := counters(n.finished(n.start(m.job("look").asUser(name, 0, 0))))
		if got["uid"] != uid || got["gid"] != gid || len(got) != 2 {
			t.Errorf("a worker of %s, %d:%d: %v", name, uid, gid, got)
		}
	}
	for _, path := range []string{"/tmp/of-a-worker", "/dev/shm/of-a-worker"} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is left", path)
		}
	}
}

// Isolated workers can do what others can: they store files, read them from this launcher and from
// another, run commands, and are kept warm.
func TestIsolatedWorkersWork(t *testing.T) {
	m := newManager(t)
	on := isolation(t)
	one, two := m.launch("one", on), m.launch("two", func(c *configuration) {
		on(c)
		c.Cache = t.TempDir()
	})
	b := m.job("relay", "file", "1", "2", "1000")
	write := b.asUser(alice, 0, 0)
	one.finished(one.start(write))
	sum := int64(0)
	for i, n := range []*node{one, two} {
		read := b.asUser(alice, 1, i)
		read.Sources = []*wire.Source{source(one, write, 0, 0)}
		sum += counters(n.finished(n.start(read)))["sum"]
	}
	if sum != sumTo(1000) {
		t.Errorf("the sum is %d", sum)
	}
	c := m.job("command", "lines", "cat")
	members := []member{{one, c.asUser(alice, 0, 0)}, {one, c.asUser(alice, 1, 0)}, {two, c.asUser(alice, 2, 0)}}
	meet(startBundle(members...), members...)
	if got := counters(two.finished(members[2].group.Attempt)); got["records"] != 10_000 {
		t.Errorf("%v", got)
	}
	store := filepath.Join(dataOf(t, one), "store")
	one.do(&wire.Command{Do: &wire.Command_DropJob{DropJob: b.id}})
	one.do(&wire.Command{Do: &wire.Command_DropJob{DropJob: c.id}})
	waitGone(t, filepath.Join(store, fmt.Sprintf("job-%d", b.id)))
	waitGone(t, filepath.Join(store, fmt.Sprintf("job-%d", c.id)))
	waitFor(t, "end of the workers and of what they had", func() bool {
		left, err := os.ReadDir(filepath.Join(dataOf(t, one), "scratch"))
		return err == nil && len(left) == 0
	})
}

// A file of another user's worker on a launcher of this machine is fetched from that launcher.
func TestIsolatedWorkersReadFromOthers(t *testing.T) {
	m := newManager(t)
	on := isolation(t)
	open, _, _ := inTheOpen(t)
	one, two := m.launch("one", func(c *configuration) { c.Data = filepath.Join(open, "data") }), m.launch("two", on)
	b := m.job("relay", "file", "1", "1", "1000")
	write, read := b.asUser(alice, 0, 0), b.asUser(alice, 1, 0)
	one.finished(one.start(write))
	read.Sources = []*wire.Source{source(one, write, 0, 0)}
	if got := counters(two.finished(two.start(read))); got["sum"] != sumTo(1000) {
		t.Errorf("%v", got)
	}
}

// An attempt whose worker left something else in place of a stored file has failed.
func TestForgedOutputsAreRefused(t *testing.T) {
	m := newManager(t)
	_, _, file := inTheOpen(t)
	n := m.launch("a", isolation(t))
	for _, what := range []string{"symlink", "pipe", "folder", "linked folder", "two names"} {
		b := m.job("forge", what, dataOf(t, n), file)
		e := n.ended(n.start(b.asUser(eve, 0, 0)))
		if e.End != wire.End_END_FAILED || e.Failure.Kind != wire.ErrorKind_ERROR_KIND_PROGRAM || !strings.Contains(e.Failure.Message, "launcher a does not serve what it stored") {
			t.Errorf("%s: %v", what, e)
		}
	}
	if text, err := os.ReadFile(file); string(text) != secret {
		t.Errorf("root's file has %q (%v)", text, err)
	}
}

// A stored file that is replaced later is not served, and the target of a link is neither read nor
// removed.
func TestReplacedOutputsAreNotServed(t *testing.T) {
	m := newManager(t)
	on := isolation(t)
	one, two := m.launch("one", on), m.launch("two", func(c *configuration) {
		on(c)
		c.Cache = t.TempDir()
	})
	// The file of root's is a whole channel file, on the same disk: only its owner distinguishes it
	// from the right one.
	foreign := filepath.Join(dataOf(t, one), "root")
	for _, how := range []string{"symlink", "hard link", "pipe", "folder", "the file"} {
		b := m.job("relay", "file", "1", "1", "1000")
		write, read := b.asUser(eve, 0, 0), b.asUser(eve, 1, 0)
		one.finished(one.start(write))
		path := filepath.Join(worker.AttemptFolder(filepath.Join(dataOf(t, one), "store"), b.id, write.Attempt), worker.StoredName(0, 0))
		if err := replace(how, path, foreign); err != nil {
			t.Fatal(err)
		}
		read.Sources = []*wire.Source{source(one, write, 0, 0)}
		two.start(read)
		lost := two.report("lost input of "+how, func(r *wire.Report) bool { return r.GetInputLost().GetProducer() == write.Attempt }).GetInputLost()
		if !strings.Contains(lost.Reason, "no plain file of its owner") {
			t.Errorf("%s: %v", how, lost)
		}
		two.stop(read.Attempt, 0)
		one.do(&wire.Command{Do: &wire.Command_DropJob{DropJob: b.id}})
		waitGone(t, path)
		if _, err := os.ReadFile(foreign); err != nil {
			t.Errorf("%s: %v", how, err)
		}
	}
}

// replace makes a file root's, and puts something else in its place.
func replace(how, path, foreign string) error {
	if err := os.Rename(path, foreign); err != nil {
		return err
	}
	if err := os.Chown(foreign, 0, 0); err != nil {
		return err
	}
	switch how {
	case "symlink":
		return os.Symlink(foreign, path)
	case "hard link":
		return os.Link(foreign, path)
	case "pipe":
		return unix.Mkfifo(path, 0o666)
	case "the file":
		return errors.Join(os.Rename(foreign, path), os.WriteFile(foreign, nil, 0o600))
	}
	return os.Mkdir(path, 0o700)
}

// running reports whether any process has an argument.
func running(argument string) bool {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return true
	}
	for _, e := range entries {
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if bytes.HasSuffix(line, []byte("\x00"+argument+"\x00")) {
			return true
		}
	}
	return false
}

// A worker's processes end with it, even those that have left their parents, their session and
// their environment, whether the worker or the launcher ends.
func TestNothingOutlivesAWorker(t *testing.T) {
	m := newManager(t)
	cfg := m.config("a")
	isolation(t)(&cfg)
	cfg.Suspend = suspend.Signals // the freezer's groups would end them, too
	m.folders["a"] = cfg.Data
	n, cmd := m.launchProcess(cfg)
	hidden := func(i int) (id uint64, argument string) {
		argument = fmt.Sprintf("%d.%d", 100_000+os.Getpid(), i)
		id = n.start(m.job("hide", argument).asUser(eve, 0, 0))
		n.logged(id, "hides")
		waitFor(t, "the hidden process", func() bool { return running(argument) })
		return id, argument
	}
	id, argument := hidden(1)
	n.stop(id, 0)
	n.ended(id)
	waitFor(t, "end of what the stopped worker started", func() bool { return !running(argument) })
	id, argument = hidden(2)
	if err := syscall.Kill(childOf(cmd.Process.Pid), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	n.ended(id)
	waitFor(t, "end of what the killed worker started", func() bool { return !running(argument) })
	_, argument = hidden(3)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	waitFor(t, "end of what a worker of the killed launcher started", func() bool { return !running(argument) })
}

// Forks and temporary files are bounded, and other workers go on meanwhile.
func TestBombsAreBounded(t *testing.T) {
	const processes, temporary = 100, 4 << 20
	m := newManager(t)
	on := isolation(t)
	n := m.launch("a", func(c *configuration) {
		on(c)
		c.Isolation.Processes, c.Isolation.TemporaryBytes = processes, temporary
	})
	id := n.start(m.job("bomb", "1000").asUser("games", 0, 0))
	neighbour := n.finished(n.start(m.job("noop").asUser(alice, 0, 0)))
	got := counters(n.finished(id))
	if got["forks"] == 0 || got["forks"] > processes || got["filled"] == 0 || got["filled"] > temporary {
		t.Errorf("%v beside %v", got, neighbour)
	}
}

// A user who is unknown here, is root, or may not run here fails at once, with a message that names
// the user and the launcher.
func TestUsersWhoRunNothing(t *testing.T) {
	m := newManager(t)
	on := isolation(t)
	n := m.launch("strict", func(c *configuration) {
		on(c)
		c.Isolation.LeastUID, c.Isolation.Deny = 3, []string{eve}
	})
	b := m.job("noop")
	for name, why := range map[string]string{
		"no-such-user": "no user", "": "no user", "root": "is root", eve: "in launcher.isolation.deny", alice: "launcher.isolation.leastUID is 3",
	} {
		e := n.ended(n.start(b.asUser(name, 0, 0)))
		if f := e.Failure; f.GetKind() != wire.ErrorKind_ERROR_KIND_DENIED || !strings.Contains(f.Message, strconv.Quote(name)) ||
			!strings.Contains(f.Message, "launcher strict") || !strings.Contains(f.Message, why) {
			t.Errorf("%q: %v", name, e)
		}
	}
	n.finished(n.start(b.asUser("games", 0, 0)))
}

// BenchmarkWorkerStart measures from the command to the end of a group that does nothing, in a
// worker of its own: alternately as the launcher's user and as another user.
func BenchmarkWorkerStart(b *testing.B) {
	m := newManager(b)
	on := isolation(b)
	program := filepath.Join(b.TempDir(), "step")
	if said, err := exec.Command("go", "build", "-o", program, "github.com/hamadryad/hamadryad/cmd/hamadryad-isolate").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, said)
	}
	nodes := map[string]*node{isolate.None: m.launch("none", nil), isolate.Submitter: m.launch("submitter", func(c *configuration) {
		on(c)
		c.Step = []string{program}
	})}
	took := map[string][]time.Duration{}
	for range b.N {
		for how, n := range nodes {
			job := m.job("noop")
			began := time.Now()
			n.finished(n.start(job.asUser(alice, 0, 0)))
			took[how] = append(took[how], time.Since(began))
			n.do(&wire.Command{Do: &wire.Command_DropJob{DropJob: job.id}})
		}
	}
	for how, all := range took {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds()), how+"-µs")
	}
}

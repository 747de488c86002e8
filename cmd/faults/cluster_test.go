package faults

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	proc "github.com/hamadryad/hamadryad/cmd/internal/processes"
	"github.com/hamadryad/hamadryad/engine/isolate/cgroup/cgrouptest"
	"github.com/hamadryad/hamadryad/internal/hdfstest"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// atOnce is how many of those tests run at the same time that say they may: most of their time they wait, for
// what a policy is given up after, or a lease. What measures, or changes the environment, runs alone.
const atOnce = 6

// binaries is the folder of the programs under test, built once.
var binaries string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "hamadryad-faults")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binaries = dir
		build := exec.Command("go", "build", "-o", dir+"/", "../hamadryad", "../hamadryad-streaming", "../../plugins/...", "../../examples/...", "./testdata/gated", "./testdata/faultypolicies", "./testdata/wrong", "./testdata/standing", "./testdata/forger", "./testdata/large", "./testdata/odd", "./testdata/many", "./testdata/seesaw", "./testdata/slowcount")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the programs: %v\n%s", err, out)
			return 1
		}
		flag.Parse()
		if err := flag.Set("test.parallel", strconv.Itoa(max(atOnce, runtime.GOMAXPROCS(0)))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return cgrouptest.Run(func() int { return hdfstest.Run(m) })
	}())
}

// cluster is a manager and launchers as processes, with files of its own.
type cluster struct {
	t         *testing.T
	dir       string
	address   string // of the manager
	options   options
	manager   *process
	launchers []*process
	started   []*process // all that were
	within    []string   // a command that starts the next launcher by its last arguments; nil: none
}

// options are a test's settings for its cluster.
type options struct {
	launchers int
	slots     int
	lease     time.Duration // 0: so long that no busy machine lets it run out
	core      string        // lines of YAML below core:
	// impatient gives up a policy soon if it does not start or answer, for tests of such policies.
	impatient bool
	policy    string // path of a plug-in; "": the FIFO
	checksum  string // of it
	// policyLines are lines of YAML below policy:, in the place of all that is above.
	policyLines string
	// places, if set, gives launcher i its host and rack.
	places  func(i int) (host, rack string)
	disk    string // size of a disk of its own for the manager's data; "": none
	suspend string // how launchers suspend; "": as they can
	memory  string // of each launcher; "": 4GiB
	swap    string // of each launcher; "": none
	// eventLog are further settings of the manager's event log, each behind a comma.
	eventLog      string
	managerLines  string // lines of YAML below manager:
	launcherLines string // lines of YAML below launcher:
	// history is the URL of a copy of the manager's history; "": none.
	history string
}

// process is one program of the cluster.
type process struct {
	name string
	cmd  *exec.Cmd
	log  *proctest.Output
	done chan struct{}
}

// waitMax bounds every wait of these tests, on a machine that is slow and busy.
const waitMax = 3 * time.Minute

// leaseDefault is longer than a test may wait for one thing: work that a slow
// machine loses is none that the test took away. leaseShort is for tests in which
// it runs out.
const (
	leaseDefault = 5 * time.Minute
	leaseShort   = 2 * time.Second
)

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	proctest.Until(t, waitMax, what, holds)
}

func startCluster(t *testing.T, o options) *cluster {
	t.Helper()
	if o.lease == 0 {
		o.lease = leaseDefault
	}
	c := &cluster{t: t, dir: t.TempDir(), address: ownAddress(t), options: o}
	if o.disk != "" {
		c.smallDisk("manager", o.disk)
	}
	t.Cleanup(c.stop)
	c.startManager()
	for range o.launchers {
		c.addLauncher()
	}
	return c
}

// ownAddress is a loopback address that is this test's to its end: also while
// nobody listens there, the kernel gives its port to no other. A process that asks
// for it by number gets it, because a socket that is bound and does not listen lets
// others with SO_REUSEADDR, which Go sets, listen.
func ownAddress(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) }) // nothing was written
	loopback := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if err := errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), unix.Bind(fd, loopback)); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port)
}

func (c *cluster) path(elem ...string) string {
	return filepath.Join(append([]string{c.dir}, elem...)...)
}

func (c *cluster) write(name, text string) string {
	c.t.Helper()
	path := c.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// start runs a program of the project and keeps what it prints.
func (c *cluster) start(name string, args ...string) *process {
	c.t.Helper()
	args = append([]string{filepath.Join(binaries, args[0])}, args[1:]...)
	if name != "manager" {
		args = append(slices.Clone(c.within), args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "HAMADRYAD_MANAGER="+c.address)
	started, err := proc.Start(name, cmd)
	if err != nil {
		c.t.Fatal(err)
	}
	p := &process{name: name, cmd: cmd, log: started.Log, done: started.Done}
	c.started = append(c.started, p)
	return p
}

func (c *cluster) startManager() {
	c.t.Helper()
	c.launchManager()
	c.managerServes()
}

// launchManager starts a manager and does not wait for it.
func (c *cluster) launchManager() {
	c.t.Helper()
	config := c.write("manager.yaml", c.managerConfig(c.policy()))
	c.manager = c.start("manager", "hamadryad", "serve", "manager", "--config", config)
}

func (c *cluster) managerServes() {
	c.t.Helper()
	eventually(c.t, "the manager listens", func() bool {
		if c.manager.ended() {
			c.t.Fatalf("the manager ended:\n%s", c.manager.log)
		}
		conn, err := net.Dial("tcp", c.address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

// managerConfig is the manager's configuration with lines that choose the policy.
func (c *cluster) managerConfig(policy string) string {
	return fmt.Sprintf(`manager:
  listen: %s
  http: 127.0.0.1:0
  data: %s
  heartbeat: 100ms
  lease: %v
  launcherLostAfter: %v
  eventLog: {fileSize: 64KiB%s}
  history: {store: %q}
%spolicy:
%score:
  reclaimAfter: 300ms
  commandTimeout: 1s
  speculation: false # tests count attempts
%s`, c.address, c.path("manager"), c.options.lease, c.options.lease*2, c.options.eventLog, c.options.history, c.options.managerLines, policy, c.options.core)
}

// policy is the configuration's lines that choose the policy.
func (c *cluster) policy() string {
	if c.options.policyLines != "" {
		return c.options.policyLines
	}
	lines := "  name: fifo\n"
	if c.options.policy != "" {
		lines = "  path: " + c.options.policy + "\n"
	}
	if c.options.checksum != "" {
		lines += "  checksum: \"" + c.options.checksum + "\"\n"
	}
	if c.options.impatient {
		lines += "  roundDeadline: 1s\n  startTimeout: 2s\n"
	}
	return lines
}

// policyRuns waits until the cluster's policy decides.
func (c *cluster) policyRuns() {
	c.t.Helper()
	eventually(c.t, "the policy runs", func() bool {
		out, err := c.command("policy", "-o", "json")
		return err == nil && strings.Contains(out, `"state": "running"`)
	})
}

func (c *cluster) addLauncher() {
	c.t.Helper()
	c.launchers = append(c.launchers, nil)
	c.startLauncher(len(c.launchers) - 1)
}

// startLauncher starts launcher i, again after it ended.
func (c *cluster) startLauncher(i int) {
	c.t.Helper()
	name := fmt.Sprintf("launcher%d", i)
	host, rack := name+".test", ""
	if c.options.places != nil {
		host, rack = c.options.places(i)
	}
	config := c.write(name+".yaml", fmt.Sprintf(`launcher:
  manager: %s
  name: %s
  host: %s
  rack: %q
  slots: {default: %d}
  memory: %s
  data: %s
  suspend: %s
  swap: %s
%s`, c.address, name, host, rack, c.options.slots, cmp.Or(c.options.memory, "4GiB"), c.path(name), cmp.Or(c.options.suspend, "auto"), cmp.Or(c.options.swap, "0"), c.options.launcherLines))
	c.launchers[i] = c.start(name, "hamadryad", "serve", "launcher", "--config", config)
	eventually(c.t, name+" joined", func() bool {
		out, err := c.command("launchers", "-o", "json")
		return err == nil && strings.Contains(out, `"`+name+`"`) && strings.Contains(out, `"up"`)
	})
}

// command runs the command line and returns what it prints.
func (c *cluster) command(args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(binaries, "hamadryad"), args...)
	cmd.Env = append(os.Environ(), "HAMADRYAD_MANAGER="+c.address)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// kill sends SIGKILL and waits for the end.
func (p *process) kill(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGKILL)
	select {
	case <-p.done:
	case <-time.After(waitMax):
		t.Fatalf("%s does not end", p.name)
	}
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop ends everything, and fails the test if a process outlives it.
func (c *cluster) stop() {
	c.killAll()
	if c.t.Failed() {
		for _, p := range append([]*process{c.manager}, c.launchers...) {
			c.t.Logf("---- %s\n%s", p.name, tail(p.log.String(), 8000))
		}
	}
	left := time.NewTimer(waitMax)
	defer left.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for strays := c.strays(); len(strays) > 0; strays = c.strays() {
		select {
		case <-left.C:
			c.t.Fatalf("processes of the cluster are left:\n%s", describe(strays))
		case <-tick.C:
		}
	}
}

func (c *cluster) killAll() {
	for _, p := range c.started {
		_ = p.cmd.Process.Signal(syscall.SIGCONT)
		p.kill(c.t)
	}
}

// strays are processes that carry this cluster's folder in their command line or
// environment.
func (c *cluster) strays() []int { return proc.Mentioning(c.dir) }

// Also used by the tests of histories.
var (
	processes = proc.List
	dead      = proc.Dead
	parent    = proc.Parent
	describe  = proc.Describe
)

// plugin is the process id of the manager's policy.
func (c *cluster) plugin() int {
	c.t.Helper()
	var found []int
	eventually(c.t, "the plug-in runs", func() bool {
		found = processes(func(pid int) bool {
			exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
			return err == nil && filepath.Dir(exe) == binaries && filepath.Base(exe) == "hamadryad-policy-fifo" && parent(pid) == c.manager.cmd.Process.Pid
		})
		return len(found) == 1
	})
	return found[0]
}

// files lists the regular files below a folder of the cluster whose path matches.
func (c *cluster) files(folder string, match func(string) bool) []string {
	var found []string
	_ = filepath.WalkDir(c.path(folder), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && match(path) {
			found = append(found, path)
		}
		return nil
	})
	return found
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "…" + s[len(s)-n:]
}

// listening lists the TCP ports on which processes listen.
func listening(pids []int) []int {
	inodes := map[string]bool{}
	for _, pid := range pids {
		fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		for _, fd := range fds {
			if link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name())); err == nil {
				inodes[strings.TrimSuffix(strings.TrimPrefix(link, "socket:["), "]")] = true
			}
		}
	}
	var ports []int
	table, _ := os.ReadFile("/proc/net/tcp")
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) > 9 && f[3] == "0A" && inodes[f[9]] {
			_, hex, _ := strings.Cut(f[1], ":")
			if port, err := strconv.ParseInt(hex, 16, 32); err == nil {
				ports = append(ports, int(port))
			}
		}
	}
	return ports
}

func itoa(n int) string { return strconv.Itoa(n) }

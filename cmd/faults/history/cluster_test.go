package history

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/cmd/internal/processes"
	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/internal/network"
	"github.com/hamadryad/hamadryad/internal/smalldisk"
)

// diskSize is the size of the disk of the manager, and of each launcher: room for
// the programs of two applications, and for what the jobs store.
const diskSize = "120m"

// endMax bounds the end of a process that was told to end, on a busy machine.
const endMax = time.Minute

// cluster is a manager, launchers and clients, each on a machine of its own.
type cluster struct {
	h         history
	dir       string
	net       *network.Network
	manager   *machine
	launchers []*machine
	clients   *machine // where all clients run; it has no process of its own
	jobs      []*submitted
	release   []func()

	config sync.Mutex // held while the manager's configuration is changed
	policy string     // that it names

	mu         sync.Mutex
	began      time.Time
	started    []*processes.Process
	diary      strings.Builder
	complaints []string
}

// machine is a network address with at most one serving process.
type machine struct {
	name    string
	args    []string   // of hamadryad
	process sync.Mutex // held while the process is stopped, killed or started
	link    sync.Mutex // held while the link is broken or mended
	disk    sync.Mutex // held while the disk is filled
	running atomic.Pointer[processes.Process]
	told    *atomic.Bool // the running process was told to end; guarded by process
}

// newCluster makes the machines and starts their processes.
func newCluster(h history, dir string) (*cluster, error) {
	c := &cluster{h: h, dir: dir, policy: h.policy, began: time.Now(), manager: &machine{name: "manager"}, clients: &machine{name: "clients"}}
	names := []string{"manager", "clients"}
	for i := range h.launchers {
		c.launchers = append(c.launchers, &machine{name: fmt.Sprintf("launcher%d", i)})
		names = append(names, c.launchers[i].name)
	}
	var err error
	if c.net, err = network.New(names...); err != nil {
		return c, err
	}
	if err := c.certify(); err != nil {
		return c, err
	}
	if err := c.writeConfig(""); err != nil {
		return c, err
	}
	c.manager.args = []string{"serve", "manager", "--config", c.path("manager.yaml")}
	for _, m := range c.launchers {
		if err := c.writeLauncher(m.name, m.name); err != nil {
			return c, err
		}
		m.args = []string{"serve", "launcher", "--config", c.path(m.name + ".yaml")}
	}
	for _, m := range append([]*machine{c.manager}, c.launchers...) {
		release, err := smalldisk.Mount(c.path(m.name), diskSize)
		if err != nil {
			return c, err
		}
		c.release = append(c.release, release)
		if m == c.manager {
			if err := c.openBank(); err != nil {
				return c, err
			}
		}
		if err := c.serve(m); err != nil {
			return c, err
		}
	}
	return c, nil
}

func (c *cluster) path(elem ...string) string {
	return filepath.Join(append([]string{c.dir}, elem...)...)
}

// address is the manager's.
func (c *cluster) address() string { return c.net.Address("manager") + ":7070" }

// writeConfig writes the manager's configuration; more are further lines of it. The
// file is replaced at once, as an editor does it.
func (c *cluster) writeConfig(more string) error {
	own := ""
	if c.policy == paid {
		own = fmt.Sprintf("  store: %s\n  settings: {alloc-interval: %v, kill-interval: 500ms}\n", c.bank(), allocInterval)
	}
	text := fmt.Sprintf(`manager:
  listen: %s
  http: %s:7071
  data: %s
  heartbeat: 100ms
  lease: %v
  launcherLostAfter: %v
  eventLog: {fileSize: %s, keep: 100000}
policy:
  name: %s
  folder: %s
  roundDeadline: 2s
  failuresMax: 20
%sauth: {mode: tls, certificate: %s, roles: {administrator: {users: ["*"]}}}
core:
  speculation: %v
  speculationMin: 500ms
  speculationEvery: 200ms
  reclaimAfter: 300ms
  commandTimeout: 1s
  lostMax: 60 # histories lose more than sites do; a program that nobody can fetch ends in time
  excludeFor: 1s
  publishRetryAfter: 100ms
  publishRetryMax: 1s
%s`, c.address(), c.net.Address("manager"), c.path("manager"), c.h.lease, 2*c.h.lease, c.h.logFile, c.policy, binaries, own, c.certificate(auth.Manager, "manager"), c.h.speculate, more)
	if err := os.WriteFile(c.path("manager.yaml.new"), []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(c.path("manager.yaml.new"), c.path("manager.yaml"))
}

// writeLauncher writes the configuration of a launcher with its data in a folder of
// that name.
func (c *cluster) writeLauncher(name, data string) error {
	return os.WriteFile(c.path(data+".yaml"), fmt.Appendf(nil, `launcher:
  manager: %s
  name: %s
  host: %[2]s.test
  bind: %s
  slots: {default: %d}
  memory: 8GiB
  data: %s
  workerIdle: 500ms
auth: {mode: tls, certificate: %s}
`, c.address(), name, c.net.Address(name), c.h.slots, c.path(data), c.certificate(auth.Launcher, name)), 0o644)
}

// operator is the user of commands.
const operator = "operator"

// certify makes the certificates of all: the machines reach one another, so nobody is
// believed without.
func (c *cluster) certify() error {
	ca, err := certs.Init(c.path("ca"), "history", time.Now())
	if err != nil {
		return err
	}
	ids := []auth.Identity{{Kind: auth.Manager, Name: "manager"}, {Kind: auth.User, Name: operator}}
	for _, m := range c.launchers {
		ids = append(ids, auth.Identity{Kind: auth.Launcher, Name: m.name})
	}
	for _, p := range payers {
		ids = append(ids, auth.Identity{Kind: auth.User, Name: p.name})
	}
	for _, id := range ids {
		id.Cluster = ca.Cluster()
		if _, _, err := ca.Write(c.path("ca", string(id.Kind)), id, time.Now(), time.Hour); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) certificate(kind auth.Kind, name string) string {
	return c.path("ca", string(kind), name+".pem")
}

// start runs a program of the project on a machine.
func (c *cluster) start(on *machine, environ []string, args ...string) (*processes.Process, error) {
	cmd := exec.Command(filepath.Join(binaries, args[0]), args[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "HAMADRYAD_MANAGER="+c.address())
	if on == c.clients {
		cmd.Env = append(cmd.Env, client.CertificateVariable+"="+c.certificate(auth.User, operator))
	}
	cmd.Env = append(cmd.Env, environ...)
	var p *processes.Process
	err := c.net.Inside(on.name, func() (err error) {
		p, err = processes.Start(strings.Join(args, " "), cmd)
		return err
	})
	if err == nil {
		c.mu.Lock()
		c.started = append(c.started, p)
		c.mu.Unlock()
	}
	return p, err
}

// serve starts a machine's own process, and complains if it ends unasked. The caller holds the
// machine's process lock, or is alone.
func (c *cluster) serve(m *machine) error {
	p, err := c.start(m, nil, append([]string{"hamadryad"}, m.args...)...)
	if err != nil {
		return err
	}
	told := &atomic.Bool{}
	m.running.Store(p)
	m.told = told
	go func() {
		<-p.Done
		if !told.Load() {
			c.complain("%s ended by itself (%v):\n%s", m.name, p.Cmd.ProcessState, tail(p.Log.String(), 3000))
		}
	}()
	return nil
}

// end ends a machine's process by a signal. The caller holds the process lock.
func (c *cluster) end(m *machine, s syscall.Signal) error {
	m.told.Store(true)
	return m.running.Load().Stop(s, endMax)
}

// command runs the command line on the clients' machine.
func (c *cluster) command(args ...string) (string, error) {
	p, err := c.start(c.clients, nil, append([]string{"hamadryad"}, args...)...)
	if err != nil {
		return "", err
	}
	select {
	case <-p.Done:
	case <-time.After(endMax):
		return "", p.Stop(syscall.SIGKILL, endMax)
	}
	if code := p.Cmd.ProcessState.ExitCode(); code != 0 {
		return "", fmt.Errorf("hamadryad %s: exit code %d: %s", strings.Join(args, " "), code, p.Log)
	}
	return p.Log.String(), nil
}

// stop ends what is left by force, and takes network and disks away.
func (c *cluster) stop() {
	c.mu.Lock()
	started := c.started
	c.mu.Unlock()
	for _, p := range started {
		if !p.Ended() {
			_ = p.Stop(syscall.SIGKILL, endMax)
		}
	}
	for _, f := range c.release {
		f()
	}
	if c.net != nil {
		c.net.Close()
	}
}

// note writes what happened into the diary.
func (c *cluster) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(&c.diary, "  %6v %s\n", time.Since(c.began).Truncate(time.Millisecond), fmt.Sprintf(format, args...))
}

// complain records a violation.
func (c *cluster) complain(format string, args ...any) {
	c.note("WRONG: "+format, args...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.complaints = append(c.complaints, fmt.Sprintf(format, args...))
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "…" + s[len(s)-n:]
}

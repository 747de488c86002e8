package history

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/cmd/internal/processes"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/internal/smalldisk"
)

// place is the target of a kind of fault.
type place int

const (
	onManager place = iota
	onLauncher
	onJob
)

// part says what of a place is broken: faults of different parts may meet.
type part int

const (
	process part = iota
	link
	disk
	child // a worker, or the policy's plug-in
	file
	order // what an admin asks for
)

// faultKind is a way to break something. Do breaks it and, where it lasts, mends it.
// An error is one of the test itself.
type faultKind struct {
	name  string
	on    place
	to    part
	lasts bool
	do    func(c *cluster, f fault) error
}

// faultKinds are all kinds.
func faultKinds() []faultKind {
	return []faultKind{
		{"manager killed", onManager, process, true, restarted(managerOf, syscall.SIGKILL)},
		{"manager ended", onManager, process, true, restarted(managerOf, syscall.SIGTERM)},
		{"manager stopped", onManager, process, true, stopped(managerOf)},
		{"manager cut off", onManager, link, true, cut(managerOf)},
		{"manager's disk full", onManager, disk, true, diskFull(managerOf)},
		{"event log cut", onManager, process, true, eventLogCut},
		{"wrong configuration at restart", onManager, process, true, wrongAtRestart},
		{"wrong configuration", onManager, process, true, wrongWhileRunning},
		{"policy changed", onManager, process, false, policyChanged},
		{"policy killed", onManager, child, false, policyKilled},
		{"policy stopped", onManager, child, true, policyStopped},
		{"stored program damaged", onManager, file, false, damaged(managerOf, "programs", programFile, flipByte)},
		{"launcher killed", onLauncher, process, true, restarted(launcherOf, syscall.SIGKILL)},
		{"launcher ended", onLauncher, process, true, restarted(launcherOf, syscall.SIGTERM)},
		{"launcher stopped", onLauncher, process, true, stopped(launcherOf)},
		{"launcher drained", onLauncher, order, true, drained},
		{"second launcher of the name", onLauncher, order, true, doubled},
		{"worker killed", onLauncher, child, false, workerKilled},
		{"worker stopped", onLauncher, child, true, workerStopped},
		{"launcher's disk full", onLauncher, disk, true, diskFull(launcherOf)},
		{"channel file damaged", onLauncher, file, false, damaged(launcherOf, "store", channelFile, flipByte)},
		{"channel file truncated", onLauncher, file, false, damaged(launcherOf, "store", channelFile, halve)},
		{"cached program damaged", onLauncher, file, false, damaged(launcherOf, "cache", programFile, flipByte)},
		{"launcher cut off", onLauncher, link, true, cut(launcherOf)},
		{"launcher hears nothing", onLauncher, link, true, deafened},
		{"launcher is not heard", onLauncher, link, true, muted},
		{"launcher not heard by its neighbour", onLauncher, link, true, mutedToOne},
		{"link flaps", onLauncher, link, true, flapped},
		{"link slow", onLauncher, link, true, slowed},
		{"connections reset", onLauncher, link, false, reset},
		{"clients cut off", onManager, order, true, cut(clientsOf)},
		{"client killed", onJob, process, false, clientKilled},
		{"client interrupted", onJob, process, false, clientInterrupted},
		{"client stopped", onJob, process, true, clientStopped},
		{"job killed", onJob, order, false, jobKilled},
		{"job's priority changed", onJob, order, false, priorityChanged},
		{"log reader stalled", onJob, child, true, readerStalled},
	}
}

func kindOf(f fault) faultKind {
	kinds := faultKinds()
	return kinds[slices.IndexFunc(kinds, func(k faultKind) bool { return k.name == f.kind })]
}

func managerOf(c *cluster, _ fault) *machine  { return c.manager }
func clientsOf(c *cluster, _ fault) *machine  { return c.clients }
func launcherOf(c *cluster, f fault) *machine { return c.launchers[f.target] }

// chosen is the machine that a fault is done to.
type chosen func(*cluster, fault) *machine

// restarted ends a machine's process, and starts it again later.
func restarted(of chosen, s syscall.Signal) func(*cluster, fault) error {
	return func(c *cluster, f fault) error {
		m := of(c, f)
		m.process.Lock()
		defer m.process.Unlock()
		if err := c.end(m, s); err != nil {
			c.complain("%v", err)
			if err := c.end(m, syscall.SIGKILL); err != nil {
				return err
			}
		}
		time.Sleep(f.lasts)
		return c.serve(m)
	}
}

// stopped freezes a machine's process for a while.
func stopped(of chosen) func(*cluster, fault) error {
	return func(c *cluster, f fault) error {
		m := of(c, f)
		m.process.Lock()
		defer m.process.Unlock()
		return frozen(m.running.Load(), f.lasts)
	}
}

func frozen(p *processes.Process, lasts time.Duration) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	time.Sleep(lasts)
	return p.Signal(syscall.SIGCONT)
}

// linkBroken breaks a machine's link and mends it later.
func linkBroken(c *cluster, m *machine, lasts time.Duration, breaks, mends func() error) error {
	m.link.Lock()
	defer m.link.Unlock()
	if err := breaks(); err != nil {
		return err
	}
	time.Sleep(lasts)
	return mends()
}

func cut(of chosen) func(*cluster, fault) error {
	return func(c *cluster, f fault) error {
		name := of(c, f).name
		return linkBroken(c, of(c, f), f.lasts, func() error { return c.net.Cut(name) }, func() error { return c.net.Mend(name) })
	}
}

func deafened(c *cluster, f fault) error {
	m := launcherOf(c, f)
	return linkBroken(c, m, f.lasts, func() error { return c.net.Deafen(m.name) }, func() error { return c.net.Mend(m.name) })
}

func muted(c *cluster, f fault) error {
	m := launcherOf(c, f)
	all := []string{"manager", "clients"}
	for _, l := range c.launchers {
		all = append(all, l.name)
	}
	return linkBroken(c, m, f.lasts, func() error { return c.net.Mute(m.name, all...) }, func() error { return c.net.Mend(m.name) })
}

func mutedToOne(c *cluster, f fault) error {
	m, other := launcherOf(c, f), c.launchers[(f.target+1)%len(c.launchers)]
	return linkBroken(c, m, f.lasts, func() error { return c.net.Mute(m.name, other.name) }, func() error { return c.net.Mend(m.name) })
}

// flapped cuts a link off and mends it again and again; how often, and for how long,
// the amount says.
func flapped(c *cluster, f fault) error {
	period := time.Duration(50+f.amount%400) * time.Millisecond
	for left := f.lasts; left > 0; left -= 2 * period {
		if err := cut(launcherOf)(c, fault{target: f.target, lasts: period}); err != nil {
			return err
		}
		time.Sleep(period)
	}
	return nil
}

func slowed(c *cluster, f fault) error {
	m := launcherOf(c, f)
	return linkBroken(c, m, f.lasts, func() error { return c.net.Slow(m.name) }, func() error { return c.net.Hasten(m.name) })
}

func reset(c *cluster, f fault) error { return c.net.Reset(launcherOf(c, f).name) }

func diskFull(of chosen) func(*cluster, fault) error {
	return func(c *cluster, f fault) error {
		m := of(c, f)
		m.disk.Lock()
		defer m.disk.Unlock()
		ballast, err := smalldisk.Fill(c.path(m.name))
		if err != nil {
			return err
		}
		time.Sleep(f.lasts)
		return os.Remove(ballast)
	}
}

// eventLogCut kills the manager and takes the end of its event log away, as a disk
// does that says it has written what it has not.
func eventLogCut(c *cluster, f fault) error {
	m := c.manager
	m.process.Lock()
	defer m.process.Unlock()
	if err := c.end(m, syscall.SIGKILL); err != nil {
		return err
	}
	if err := c.cutLog(500 + f.amount%14_000); err != nil {
		return err
	}
	time.Sleep(f.lasts)
	return c.serve(m)
}

// cutLog cuts bytes off the newest file of the event log, but nothing of its
// checkpoint, which was read back when it was written.
func (c *cluster) cutLog(bytes int) error {
	files, err := eventlog.Files(c.path("manager", "log"))
	if err != nil || len(files) == 0 {
		return err
	}
	path := files[len(files)-1]
	whole, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	end := len(strings.TrimRight(string(whole), "\x00"))
	for ; ; bytes /= 2 {
		if err := os.WriteFile(path, whole[:max(end-bytes, 0)], 0o600); err != nil {
			return err
		}
		var damage *eventlog.DamageError
		if _, err := eventlog.ReadSegment(path); bytes == 0 || !errors.As(err, &damage) {
			c.note("%d bytes of the event log are gone", bytes)
			return err
		}
	}
}

// wrongLines are mistakes in a configuration.
var wrongLines = []string{"  noSuchBound: 1\n", "  commandTimeout: soon\n", "\tno YAML\n", "nonsense: true\n"}

func wrongLine(f fault) string { return wrongLines[f.amount%len(wrongLines)] }

// wrongAtRestart restarts the manager while its configuration has a mistake, which
// is mended later. It must run all the time.
func wrongAtRestart(c *cluster, f fault) error {
	c.config.Lock()
	defer c.config.Unlock()
	m := c.manager
	m.process.Lock()
	defer m.process.Unlock()
	err := errors.Join(c.end(m, syscall.SIGKILL), c.writeConfig(wrongLine(f)), c.serve(m))
	if err != nil {
		return err
	}
	time.Sleep(f.lasts)
	if err := c.writeConfig(""); err != nil || !m.running.Load().Ended() {
		return err
	}
	return c.serve(m)
}

func wrongWhileRunning(c *cluster, f fault) error {
	c.config.Lock()
	defer c.config.Unlock()
	if err := c.writeConfig(wrongLine(f)); err != nil {
		return err
	}
	time.Sleep(f.lasts)
	return c.writeConfig("")
}

func policyChanged(c *cluster, f fault) error {
	c.config.Lock()
	defer c.config.Unlock()
	others := slices.DeleteFunc(slices.Clone(policies), func(p string) bool { return p == c.policy })
	c.policy = others[f.amount%len(others)]
	c.note("the policy becomes %s", c.policy)
	return c.writeConfig("")
}

// child returns a process started by a machine's process, or 0 if there is none.
func (c *cluster) child(m *machine, amount int, match func(pid int) bool) int {
	parent := m.running.Load().Pid()
	found := processes.List(func(pid int) bool { return processes.Parent(pid) == parent && match(pid) })
	if len(found) == 0 {
		return 0
	}
	return found[amount%len(found)]
}

func isPolicy(pid int) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil && strings.HasPrefix(filepath.Base(exe), "hamadryad-policy-")
}

// signalled sends a signal to a process that may have ended; 0 is none.
func (c *cluster) signalled(pid int, s syscall.Signal) error {
	if pid == 0 {
		return nil
	}
	c.note("%v to %d", s, pid)
	if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

func policyKilled(c *cluster, f fault) error {
	return c.signalled(c.child(c.manager, f.amount, isPolicy), syscall.SIGKILL)
}

func policyStopped(c *cluster, f fault) error {
	return c.childStopped(c.child(c.manager, f.amount, isPolicy), f.lasts)
}

func (c *cluster) childStopped(pid int, lasts time.Duration) error {
	if err := c.signalled(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	time.Sleep(lasts)
	return c.signalled(pid, syscall.SIGCONT)
}

func anyProcess(int) bool { return true }

func workerKilled(c *cluster, f fault) error {
	return c.signalled(c.child(launcherOf(c, f), f.amount, anyProcess), syscall.SIGKILL)
}

func workerStopped(c *cluster, f fault) error {
	return c.childStopped(c.child(launcherOf(c, f), f.amount, anyProcess), f.lasts)
}

// drained keeps new work from a launcher for a while.
func drained(c *cluster, f fault) error {
	name := launcherOf(c, f).name
	if _, err := c.command("drain", name); err != nil {
		c.note("not drained: %v", err)
	}
	time.Sleep(f.lasts)
	for tries := time.Now().Add(endMax); ; {
		_, err := c.command("undrain", name)
		if err == nil || time.Now().After(tries) {
			return err
		}
	}
}

// doubled runs a second launcher with the name of another for a while.
func doubled(c *cluster, f fault) error {
	m := launcherOf(c, f)
	data := fmt.Sprintf("second-%s-%d", m.name, f.amount)
	if err := c.writeLauncher(m.name, data); err != nil {
		return err
	}
	p, err := c.start(m, nil, "hamadryad", "serve", "launcher", "--config", c.path(data+".yaml"))
	if err != nil {
		return err
	}
	time.Sleep(f.lasts)
	return p.Stop(syscall.SIGKILL, endMax)
}

// programFile reports whether a file has the name of a stored program or plan.
func programFile(path string) bool { return len(filepath.Base(path)) == 2*sha256.Size }

func channelFile(path string) bool {
	name := filepath.Base(path)
	return strings.HasPrefix(name, "c") && strings.Contains(name, ".n")
}

// damaged changes one of the files that match in a folder of a machine's data, if
// there is one.
func damaged(of chosen, folder string, match func(path string) bool, change func(path string) error) func(*cluster, fault) error {
	return func(c *cluster, f fault) error {
		var found []string
		_ = filepath.WalkDir(c.path(of(c, f).name, folder), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && match(path) {
				found = append(found, path)
			}
			return nil
		})
		if len(found) == 0 {
			c.note("there is no file to damage")
			return nil
		}
		path := found[f.amount%len(found)]
		c.note("damaged: %s", path)
		err := change(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ETXTBSY) { // it went, or runs
			c.note("not damaged: %v", err)
			return nil
		}
		return err
	}
}

func flipByte(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, info.Size()/2); err != nil {
		return err
	}
	b[0] ^= 4
	_, err = f.WriteAt(b, info.Size()/2)
	return err
}

func halve(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Truncate(path, info.Size()/2)
}

// clientOf is the client of a fault's job, nil when none runs.
func (c *cluster) clientOf(f fault) (*submitted, *processes.Process) {
	j := c.jobs[f.target]
	c.mu.Lock()
	defer c.mu.Unlock()
	if j.client == nil || j.client.Ended() {
		return j, nil
	}
	return j, j.client
}

func clientKilled(c *cluster, f fault) error { return c.clientEnded(f, syscall.SIGKILL) }

func clientInterrupted(c *cluster, f fault) error { return c.clientEnded(f, syscall.SIGINT) }

func (c *cluster) clientEnded(f fault, s syscall.Signal) error {
	j, client := c.clientOf(f)
	if client == nil {
		return nil
	}
	c.note("%v to the client of job %d", s, f.target)
	c.mu.Lock()
	j.killed, j.clientKilled = true, j.clientKilled || s == syscall.SIGKILL
	c.mu.Unlock()
	return client.Signal(s)
}

func clientStopped(c *cluster, f fault) error {
	if _, client := c.clientOf(f); client != nil {
		return frozen(client, f.lasts)
	}
	return nil
}

func jobKilled(c *cluster, f fault) error {
	j, client := c.clientOf(f)
	if client == nil || j.id() == 0 {
		return nil
	}
	c.mu.Lock()
	j.killed = true
	c.mu.Unlock()
	_, err := c.command("kill", fmt.Sprintf("job-%d", j.id()))
	c.note("job %d killed: %v", f.target, err)
	return nil
}

func priorityChanged(c *cluster, f fault) error {
	j, client := c.clientOf(f)
	if client == nil || j.id() == 0 {
		return nil
	}
	_, err := c.command("set-priority", fmt.Sprintf("job-%d", j.id()), []string{"VERY_LOW", "HIGH", "VERY_HIGH"}[f.amount%3])
	c.note("priority of job %d changed: %v", f.target, err)
	return nil
}

// readerStalled asks for a job's log and takes nothing of it.
func readerStalled(c *cluster, f fault) error {
	j, client := c.clientOf(f)
	if client == nil || j.id() == 0 {
		return nil
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	cmd := exec.Command(filepath.Join(binaries, "hamadryad"), "logs", "--follow", fmt.Sprintf("job-%d", j.id()))
	cmd.Env = append(os.Environ(), "HAMADRYAD_MANAGER="+c.address(), "FOLDER="+c.dir)
	cmd.Stdout = write
	err = c.net.Inside("clients", cmd.Start)
	write.Close()
	if err != nil {
		return err
	}
	time.Sleep(f.lasts)
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	return nil
}

package policy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/hamadryad/hamadryad/internal/childproc"
	"github.com/hamadryad/hamadryad/internal/process/proctree"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/direct"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
)

// drainTimeout is how long output may still come after a plug-in's process ended; a child of it may
// hold the pipe open.
const drainTimeout = time.Second

// firstInherited is the number, in a new process, of the first file beside the standard ones.
const firstInherited = 3

// process is a plug-in's process, in a group of its own and with a mark in its
// environment, so that nothing it started outlives it. It is what go-plugin runs;
// unlike go-plugin's own runner it kills at once and reads the output itself.
type process struct {
	name   string
	cmd    *exec.Cmd
	lines  *lineLog
	stdout *io.PipeReader // the handshake's line, for go-plugin
	mark   proctree.Mark  // its own
	socket *os.File       // for rounds, which the process inherits; nil: none
	logged chan struct{}  // closed when its output has been read to the end
	exited chan struct{}  // closed when the process has been waited for

	mu     sync.Mutex
	pid    int  // 0 before the start and after the end
	first  int  // the process id, also after the end
	doomed bool // killed, perhaps before it started
	state  *os.ProcessState
}

var _ runner.Runner = (*process)(nil)

func newProcess(path string, lines *lineLog) *process {
	return &process{
		name: filepath.Base(path), cmd: exec.Command(path), lines: lines,
		logged: make(chan struct{}), exited: make(chan struct{}),
	}
}

// prepare takes over the environment that go-plugin made.
func (p *process) prepare(o Options, env []string) {
	p.mark = proctree.Mark("HAMADRYAD_POLICY_PROCESS=" + rand.Text())
	p.cmd.Args = append(p.cmd.Args, o.Args...)
	p.cmd.Env = append(env, rpc.HostPIDKey+"="+strconv.Itoa(os.Getpid()), string(p.mark))
	if o.Mark != "" {
		p.cmd.Env = append(p.cmd.Env, string(o.Mark))
	}
	if !slices.ContainsFunc(p.cmd.Env, func(v string) bool { return strings.HasPrefix(v, memoryLimitVariable+"=") }) {
		p.cmd.Env = append(p.cmd.Env, fmt.Sprintf("%s=%d", memoryLimitVariable, o.Memory/10*9))
	}
	if p.socket != nil {
		p.cmd.ExtraFiles = []*os.File{p.socket}
		p.cmd.Env = append(p.cmd.Env, direct.Key+"="+strconv.Itoa(firstInherited))
	}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// Start starts the process, which ends with this one.
func (p *process) Start(context.Context) error {
	stdout, stdoutIn, err := os.Pipe()
	if err != nil {
		return err
	}
	stderr, stderrIn, err := os.Pipe()
	if err != nil {
		stdout.Close()
		stdoutIn.Close()
		return err
	}
	handshake, handshakeIn := io.Pipe()
	p.stdout = handshake
	p.cmd.Stdout, p.cmd.Stderr = stdoutIn, stderrIn
	started := make(chan error, 1)
	go p.run(started)
	err = <-started
	p.closeSocket()
	stdoutIn.Close()
	stderrIn.Close()
	if err != nil {
		stdout.Close()
		stderr.Close()
		return fmt.Errorf("start the program: %w", err)
	}
	go p.readOutput(stdout, handshakeIn, stderr)
	return nil
}

// closeSocket closes the process's end of the socket for rounds in this process. Then its end is
// seen when the process has ended.
func (p *process) closeSocket() {
	if p.socket != nil {
		p.socket.Close()
	}
}

// run starts the process and waits for it.
func (p *process) run(started chan<- error) {
	p.mu.Lock()
	err := errors.New("given up before the start")
	if !p.doomed {
		if err = childproc.Start(p.cmd); err == nil {
			p.pid, p.first = p.cmd.Process.Pid, p.cmd.Process.Pid
		}
	}
	p.mu.Unlock()
	started <- err
	if err != nil {
		return
	}
	_ = p.cmd.Wait() // the state has all that is needed
	p.mu.Lock()
	// The process's children are killed too: its group, and those that left the group.
	_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	p.pid, p.state = 0, p.cmd.ProcessState
	p.mu.Unlock()
	if err := proctree.KillMarked(p.mark); err != nil {
		p.lines.log.Warn("processes that the policy plug-in started stay behind", "err", err)
	}
	close(p.exited)
}

// readOutput reads the plug-in's standard output and error to their ends. It sees to it that the
// pipes close soon after the process has ended.
func (p *process) readOutput(stdout *os.File, handshake *io.PipeWriter, stderr *os.File) {
	go func() {
		<-p.exited
		waited(p.logged, drainTimeout)
		p.stdout.Close()
		stdout.Close()
		stderr.Close()
	}()
	defer close(p.logged)
	var both sync.WaitGroup
	both.Go(func() { p.lines.copyPrinted(stdout, handshake) })
	both.Go(func() { p.lines.copyLog(stderr) })
	both.Wait()
	p.lines.flush()
}

// Kill kills the process and its children, and waits for its end within a bound.
func (p *process) Kill(context.Context) error {
	p.mu.Lock()
	p.doomed = true
	if p.pid != 0 {
		// First the children found by their parents, while the parents live.
		_ = proctree.Kill(p.pid, "")
		_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	}
	started := p.first != 0
	p.mu.Unlock()
	if started && !waited(p.exited, exitTimeout) {
		return errors.New("the plug-in's process did not end after SIGKILL")
	}
	return nil
}

// Wait waits for the process's end.
func (p *process) Wait(context.Context) error {
	<-p.exited
	return nil
}

// status says how the process ended, "" while it runs.
func (p *process) status() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == nil {
		return ""
	}
	return p.state.String()
}

// livePID returns the process id while the process runs, else 0.
func (p *process) livePID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}

// Diagnose has nothing to add to the log's last lines.
func (p *process) Diagnose(context.Context) string { return "" }

// Stdout is where go-plugin reads the handshake.
func (p *process) Stdout() io.ReadCloser { return p.stdout }

// Stderr is empty for go-plugin: readOutput reads it.
func (p *process) Stderr() io.ReadCloser { return io.NopCloser(eof{}) }

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// Name is the program's name.
func (p *process) Name() string { return p.name }

// ID is the process id; go-plugin takes "" for not started.
func (p *process) ID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == 0 {
		return ""
	}
	return strconv.Itoa(p.first)
}

// PluginToHost leaves addresses as they are.
func (p *process) PluginToHost(network, addr string) (string, string, error) {
	return network, addr, nil
}

// HostToPlugin leaves addresses as they are.
func (p *process) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}

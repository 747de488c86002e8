package minihdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/internal/childproc"
)

const (
	nameNodeHeap = "-Xmx512m"
	dataNodeHeap = "-Xmx384m"
	// stopTimeout is how long a daemon may take to end by itself before it is killed.
	stopTimeout = 20 * time.Second
	// tailBytes of a log or an answer are shown when something fails: enough for a
	// few of Java's long traces.
	tailBytes = 16 << 10
)

// daemon is a NameNode or a DataNode that can be started repeatedly.
type daemon struct {
	name    string
	command func() *exec.Cmd
	logPath string

	// Of the running process; cmd is nil without one.
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{}
}

func (c *Cluster) daemon(name, role, heap string, flags ...string) *daemon {
	args := append(slices.Clone(flags), "-XX:TieredStopAtLevel=1", // soon ready beats fast later
		"-Djava.io.tmpdir="+c.temporary(), "Hdfs", role)
	return &daemon{
		name: name, logPath: filepath.Join(c.folder, name+".log"),
		command: func() *exec.Cmd { return c.program(context.Background(), c.daemonConf(), heap, args...) }, // kill ends it
	}
}

func (d *daemon) start() error {
	if d.running() {
		return fmt.Errorf("%s runs already", d.name)
	}
	log, err := os.OpenFile(d.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := d.command()
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Dir(d.logPath), log, log
	// Its own process group: ctrl-C at the terminal is for the process that started it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := childproc.Start(cmd); err != nil {
		return fmt.Errorf("start %s: %w", d.name, err)
	}
	ended := make(chan struct{})
	d.cmd, d.stdin, d.ended = cmd, stdin, ended
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(ended)
	}()
	return nil
}

func (d *daemon) running() bool {
	if d.cmd == nil {
		return false
	}
	select {
	case <-d.ended:
		return false
	default:
		return true
	}
}

func (d *daemon) signal(s syscall.Signal) error {
	if !d.running() {
		return fmt.Errorf("%s does not run", d.name)
	}
	return d.cmd.Process.Signal(s)
}

// kill kills the process and waits until it is gone. No process is no error.
func (d *daemon) kill() error {
	if d.cmd == nil {
		return nil
	}
	err := d.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-d.ended
	d.cmd = nil
	return err
}

// stop lets the process end in order.
func (d *daemon) stop() error {
	if err := d.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-d.ended:
	case <-time.After(stopTimeout):
	}
	return d.kill()
}

// logTail is the end of the daemon's log.
func (d *daemon) logTail() string {
	log, err := os.ReadFile(d.logPath)
	if err != nil {
		return err.Error()
	}
	return string(log[max(0, len(log)-tailBytes):])
}

// Logs is the end of each daemon's log, for people who debug a failure.
func (c *Cluster) Logs() string {
	var all strings.Builder
	for _, d := range c.daemons() {
		fmt.Fprintf(&all, "---- the end of the log of %s\n%s\n", d.name, d.logTail())
	}
	return all.String()
}

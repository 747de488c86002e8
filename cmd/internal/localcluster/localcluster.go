// Package localcluster starts `hamadryad local` without a program, for the commands
// that run several programs on one cluster and then end it: benchmarks, experiments.
package localcluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/engine/client"
)

const (
	// readyMax bounds the start of a cluster. `hamadryad local` has its own bound and reports the
	// problem; this one is a backup.
	readyMax = 90 * time.Second
	// stopMax bounds a cluster's graceful stop; then it is killed.
	stopMax = 20 * time.Second
)

// Options describe the cluster.
type Options struct {
	Launchers int
	Slots     int       // of each launcher
	Config    string    // text of its configuration file; "": the defaults
	Flags     []string  // further ones of `hamadryad local`
	Environ   []string  // variables for all its processes, besides this process's
	Log       io.Writer // its output besides its address; nil: thrown away
}

// Cluster is a running cluster. Stop ends it.
type Cluster struct {
	Address string // of its manager
	Folder  string // with its data; the caller may add files, and Stop removes all

	cmd    *exec.Cmd
	cancel context.CancelFunc
}

// Start starts a cluster by the binary of hamadryad and waits until its policy decides. The cluster
// ends with ctx, too. After an error nothing of it is left, and Log has its output.
func Start(ctx context.Context, binary string, o Options) (*Cluster, error) {
	folder, err := os.MkdirTemp("", "hamadryad-cluster")
	if err != nil {
		return nil, err
	}
	c := &Cluster{Folder: folder}
	ctx, c.cancel = context.WithCancel(ctx)
	if err := c.launch(ctx, binary, o); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

func (c *Cluster) launch(ctx context.Context, binary string, o Options) error {
	args := []string{
		"local", "--log-level", "warn", "--launchers", fmt.Sprint(o.Launchers), "--slots", fmt.Sprint(o.Slots),
		"--data", filepath.Join(c.Folder, "data"),
	}
	if o.Config != "" {
		config := filepath.Join(c.Folder, "site.yaml")
		if err := os.WriteFile(config, []byte(o.Config), 0o644); err != nil {
			return err
		}
		args = append(args, "--config", config)
	}
	cmd := exec.CommandContext(ctx, binary, append(args, o.Flags...)...)
	cmd.Env = append(os.Environ(), o.Environ...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopMax
	cmd.Stderr = o.Log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.cmd = cmd
	found := make(chan string, 1)
	go announced(out, found)
	select {
	case c.Address = <-found:
		if c.Address == "" {
			return errors.New("hamadryad local ended before its cluster was ready")
		}
		return nil
	case <-time.After(readyMax):
		return fmt.Errorf("hamadryad local said nothing of its cluster in %s", readyMax)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// announced finds the manager's address in the output of `hamadryad local`, sends it, and reads on,
// so that the cluster never waits for its reader. It closes found at the output's end.
func announced(out io.Reader, found chan<- string) {
	defer close(found)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if _, address, ok := strings.Cut(lines.Text(), "export "+client.AddressVariable+"="); ok {
			found <- address
			break
		}
	}
	_, _ = io.Copy(io.Discard, out)
}

// PID is the process of `hamadryad local`, the parent of the cluster's processes.
func (c *Cluster) PID() int { return c.cmd.Process.Pid }

// Stop ends the cluster, within stopMax, and removes its folder. It may be called repeatedly.
func (c *Cluster) Stop() {
	c.cancel()
	if c.cmd != nil {
		_ = c.cmd.Wait() // it was asked to end: its exit status does not matter
	}
	_ = os.RemoveAll(c.Folder)
}

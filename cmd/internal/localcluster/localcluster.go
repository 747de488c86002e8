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
	// readyMax bounds the start of a cluster. `hamadryad local` has a bound of its own
	// and says what is amiss; this one is behind it.
	readyMax = 90 * time.Second
	// stopMax bounds the end of a cluster that was asked to stop; then it is killed.
	stopMax = 20 * time.Second
)

// Options say what the cluster is like.
type Options struct {
	Launchers int
	Slots     int       // of each launcher
	Config    string    // text of its configuration file; "": the defaults
	Flags     []string  // further ones of `hamadryad local`
	Environ   []string  // variables for all its processes, besides those of this one
	Log       io.Writer // what it says besides its address; nil: thrown away
}

// Cluster is a running cluster. Stop ends it.
type Cluster struct {
	Address string // of its manager
	Folder  string // with its data; the caller may add files, and all goes with the cluster

	cmd    *exec.Cmd
	cancel context.CancelFunc
}

// Start starts a cluster by the binary of hamadryad and waits until its policy
// decides. The cluster ends with ctx, too. After an error nothing of it is left, and
// Log has what it said.
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

// announced finds the manager's address in what `hamadryad local` prints, sends it,
// and reads on, so that the cluster never waits for its reader. It closes found at
// the output's end.
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

// Stop ends the cluster, within stopMax, and removes its folder. It may be called
// again.
func (c *Cluster) Stop() {
	c.cancel()
	if c.cmd != nil {
		_ = c.cmd.Wait() // it was told to end: how it did is of no interest
	}
	_ = os.RemoveAll(c.Folder)
}

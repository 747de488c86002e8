package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// cluster is `hamadryad local` without a program, for several measured jobs.
type cluster struct {
	cmd     *exec.Cmd
	dir     string
	address string
}

var managerAddress = regexp.MustCompile(`\d+\.\d+\.\d+\.\d+:\d+`)

// readyMax bounds the wait for a cluster to be ready.
const readyMax = 30 * time.Second

func startCluster(ctx context.Context, b *bench, launchers, slots int) (*cluster, error) {
	dir, err := os.MkdirTemp("", "hamadryad-bench")
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir}
	c.cmd = exec.CommandContext(ctx, filepath.Join(b.bin, "hamadryad"), "local", "--log-level", "warn",
		"--launchers", fmt.Sprint(launchers), "--slots", fmt.Sprint(slots), "--data", filepath.Join(dir, "data"))
	c.cmd.Cancel = func() error { return c.cmd.Process.Signal(syscall.SIGTERM) }
	c.cmd.WaitDelay = 10 * time.Second
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.cmd.Stderr = os.Stderr
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	found := make(chan string, 1)
	go func() {
		defer close(found)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if a := managerAddress.FindString(lines.Text()); a != "" {
				found <- a
				_, _ = io.Copy(io.Discard, out)
				return
			}
		}
	}()
	select {
	case c.address = <-found:
	case <-time.After(readyMax):
	}
	if c.address == "" {
		c.stop()
		return nil, errors.New("hamadryad local printed no address")
	}
	return c, nil
}

func (c *cluster) stop() {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	_ = c.cmd.Wait()
	_ = os.RemoveAll(c.dir)
}

// run runs a program against the cluster and returns how long it took.
func (c *cluster) run(ctx context.Context, b *bench, program string, args ...string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(b.bin, program), args...)
	cmd.Env = append(os.Environ(), "HAMADRYAD_MANAGER="+c.address)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, out.Bytes())
	}
	return time.Since(start), nil
}

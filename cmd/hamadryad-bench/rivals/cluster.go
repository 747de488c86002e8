package rivals

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// cluster is a rival's running cluster.
type cluster struct {
	cmd    *exec.Cmd
	cancel context.CancelFunc
	input  io.Closer // its end is the cluster's
}

// cluster starts a cluster and returns its address when it is ready.
func (r *Rival) cluster(ctx context.Context) (*cluster, string, error) {
	ctx, cancel := context.WithTimeout(ctx, programMax)
	cmd := r.command(ctx, "cluster")
	input, err := cmd.StdinPipe()
	output, err2 := cmd.StdoutPipe()
	if err := errors.Join(err, err2); err != nil {
		cancel()
		return nil, "", err
	}
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, "", err
	}
	c := &cluster{cmd, cancel, input}
	for lines := bufio.NewScanner(output); lines.Scan(); {
		if got, err := parse(lines.Text()); err == nil && got.Address != "" {
			go func() { _, _ = io.Copy(io.Discard, output) }() // a full pipe would stop it
			return c, got.Address, nil
		}
	}
	return nil, "", errors.Join(fmt.Errorf("%s: its cluster ended before it was ready", r.system.Title), c.Close())
}

// Close ends the cluster.
func (c *cluster) Close() error {
	_ = c.input.Close() // it may have ended already
	err := c.cmd.Wait()
	c.cancel()
	end(c.cmd)
	return err
}

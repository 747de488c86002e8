package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/cmd/internal/localcluster"
	"github.com/hamadryad/hamadryad/engine/client"
)

// cluster is `hamadryad local` without a program, for several measured jobs.
type cluster struct{ *localcluster.Cluster }

func startCluster(ctx context.Context, b *bench, launchers, slots int) (cluster, error) {
	c, err := localcluster.Start(ctx, filepath.Join(b.bin, "hamadryad"),
		localcluster.Options{Launchers: launchers, Slots: slots, Log: os.Stderr})
	return cluster{c}, err
}

// managerPID is the process of the cluster's manager; 0 when there is none.
func (c cluster) managerPID() int {
	for _, pid := range descendants(c.PID()) {
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // an ended process serves nothing
		if strings.Contains(string(command), "\x00serve\x00manager\x00") {
			return pid
		}
	}
	return 0
}

// run runs a program against the cluster and returns its duration.
func (c cluster) run(ctx context.Context, b *bench, program string, args ...string) (time.Duration, error) {
	return timed(ctx, []string{client.AddressVariable + "=" + c.Address}, filepath.Join(b.bin, program), args...)
}

// timed runs a program to its end, with further variables, and returns its duration.
func timed(ctx context.Context, environ []string, program string, args ...string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), environ...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, out.Bytes())
	}
	return time.Since(start), nil
}

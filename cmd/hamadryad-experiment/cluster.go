package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/cmd/internal/localcluster"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// site is an experiment's requirements on its cluster.
type site struct {
	launchers, slots int
	policy           string   // name
	settings         string   // YAML below policy.settings, without indentation
	core             string   // YAML below core
	hosts            []string // HOST or HOST=RACK of the launchers; none: this machine
	environ          []string // for all its processes
	memory           string   // of each launcher; "": 4GiB
}

// cluster is a running `hamadryad local` with its own folder.
type cluster struct {
	*localcluster.Cluster
	lab    *lab
	site   site
	client *client.Client
	cancel context.CancelFunc // ends the submitted programs
	ctx    context.Context
	ended  sync.WaitGroup // of those programs
}

const (
	// runningMax bounds the wait for work to run.
	runningMax = time.Minute
	// stopMax bounds a program's graceful stop.
	stopMax = 20 * time.Second
)

// start starts a cluster and waits until its policy decides.
func (l *lab) start(ctx context.Context, s site) (*cluster, error) {
	var log bytes.Buffer
	local, err := localcluster.Start(ctx, filepath.Join(l.bin, "hamadryad"), localcluster.Options{
		Launchers: s.launchers, Slots: s.slots, Config: s.config(), Flags: s.flags(), Environ: s.environ, Log: &log,
	})
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, log.String())
	}
	c := &cluster{Cluster: local, lab: l, site: s}
	c.ctx, c.cancel = context.WithCancel(ctx)
	if c.client, err = client.Dial(c.Address, client.Options{}); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

func (s site) config() string {
	text := "policy:\n  name: " + s.policy + "\n"
	if s.settings != "" {
		text += "  settings:\n" + indent(s.settings, "    ")
	}
	if s.core != "" {
		text += "core:\n" + indent(s.core, "  ")
	}
	return text
}

func (s site) flags() []string {
	flags := []string{"--memory", cmp.Or(s.memory, "4GiB")}
	if len(s.hosts) > 0 {
		flags = append(flags, "--hosts", strings.Join(s.hosts, ","))
	}
	return flags
}

func indent(text, by string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(by + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}

// stop ends the programs and the cluster, and removes their files.
func (c *cluster) stop() {
	c.cancel()
	c.ended.Wait()
	if c.client != nil {
		_ = c.client.Close()
	}
	c.Stop()
}

// wordCount is a job to be run.
type wordCount struct {
	pool    string
	maps    int
	reduces int
	perMap  time.Duration // how long a map sleeps in all
}

// wordsPerMap divides a map's time: it sleeps for each word.
const wordsPerMap = 128

// words writes a text of n words, one a line, all lines of equal length, for a pool's job, and
// returns its path.
func (c *cluster) words(pool string, n, lineBytes int) (string, error) {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "%0*d\n", lineBytes-1, i*7919%1000)
	}
	path := filepath.Join(c.Folder, "words-"+pool)
	return path, os.WriteFile(path, b.Bytes(), 0o644)
}

// submitOn starts a word count over an existing text, and returns a function that waits for its
// end.
func (c *cluster) submitOn(w wordCount, input, output string, split int) (wait func() (*wire.JobStatus, error), err error) {
	return c.run(w.pool, "words", (w.perMap / wordsPerMap).String(), fmt.Sprint(w.reduces), fmt.Sprint(split), input, output)
}

// submitReduces starts a job of one short map and reduces that sleep for each.
func (c *cluster) submitReduces(pool string, reduces int, each time.Duration) (wait func() (*wire.JobStatus, error), err error) {
	input, err := c.words(pool, reduces*wordsPerMap, 8)
	if err != nil {
		return nil, err
	}
	return c.run(pool, "reduces", (each / wordsPerMap).String(), fmt.Sprint(reduces), input, filepath.Join(c.Folder, "out-"+pool))
}

// run starts a job of a pool, and returns a function that waits for its end.
func (c *cluster) run(pool string, args ...string) (wait func() (*wire.JobStatus, error), err error) {
	cmd := exec.CommandContext(c.ctx, filepath.Join(c.lab.bin, "hamadryad-experiment-words"),
		append([]string{"--manager", c.client.Address(), "--pool", pool, "--quiet", "--no-speculation"}, args...)...)
	cmd.Env = append(os.Environ(), c.site.environ...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopMax
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	end := make(chan error, 1)
	c.ended.Go(func() { end <- cmd.Wait() })
	return func() (*wire.JobStatus, error) {
		if err := <-end; err != nil {
			return nil, fmt.Errorf("the job of pool %s: %w\n%s", pool, err, out.Bytes())
		}
		return c.statusOf(c.ctx, pool)
	}, nil
}

// statusOf returns the newest job of a pool, with its attempts.
func (c *cluster) statusOf(ctx context.Context, pool string) (*wire.JobStatus, error) {
	jobs, err := c.client.Jobs(ctx, true)
	if err != nil {
		return nil, err
	}
	var newest uint64
	for _, j := range jobs {
		if j.Pool == pool {
			newest = max(newest, j.Job)
		}
	}
	if newest == 0 {
		return nil, fmt.Errorf("no job of pool %s is known", pool)
	}
	return c.client.Status(ctx, newest, true)
}

// awaitRunning waits until n groups of a pool's job run.
func (c *cluster) awaitRunning(ctx context.Context, pool string, n uint32) error {
	ctx, cancel := context.WithTimeout(ctx, runningMax)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var jobs []*wire.JobSummary
	for {
		now, err := c.client.Jobs(ctx, false)
		if ctx.Err() != nil {
			return notRunning(pool, n, jobs)
		}
		if err != nil {
			return err
		}
		jobs = now
		for _, j := range jobs {
			if j.Pool == pool && j.GroupsRunning >= n {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// notRunning describes what runs instead.
func notRunning(pool string, n uint32, jobs []*wire.JobSummary) error {
	var b strings.Builder
	for _, j := range jobs {
		fmt.Fprintf(&b, " %s: %d;", j.Pool, j.GroupsRunning)
	}
	return fmt.Errorf("pool %s did not get %d slots; the pools have%s", pool, n, b.String())
}

// awaitAll waits for all jobs, even when one fails.
func awaitAll(waits []func() (*wire.JobStatus, error)) ([]*wire.JobStatus, error) {
	var jobs []*wire.JobStatus
	var first error
	for _, wait := range waits {
		j, err := wait()
		if err != nil && first == nil {
			first = err
		}
		jobs = append(jobs, j)
	}
	return jobs, first
}

// sleep waits, or ends with the context.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

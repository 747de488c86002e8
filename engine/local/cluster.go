// Package local runs a whole cluster as processes of this machine. Manager and launchers are
// commands of this program. The cluster lives for one program, or until it is stopped.
//
//	c, err := local.Start(ctx, local.Options{
//		Folder: data, Launchers: 2, Errors: os.Stderr,
//		Manager:  func(address, page string) []string { return []string{"serve", "manager", "--listen", address, ...} },
//		Launcher: func(i int, name, manager string) []string { return []string{"serve", "launcher", ...} },
//	})
//	defer c.Stop()
//	code, err := c.Run([]string{"./wordcount", "texts", "out"})
//
// A part that dies is restarted, but not for ever, and not before all were up. The first part that
// cannot be kept up ends the cluster; its failure is reported with the end of its log. The parts
// die with this process, however it ends: the kernel is asked for that, and each part checks for
// itself (Part).
package local

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// ReadyMax bounds the start of a cluster.
const ReadyMax = time.Minute

// Options configure the parts.
type Options struct {
	Folder    string    // for the logs of the parts: NAME.log
	Launchers int       // 1 or more, named launcher-1 and so on
	Env       []string  // variables for all processes, added to this process's
	Errors    io.Writer // messages for people about faults that the cluster survives

	// Manager is the manager's command line, without the program. It listens on address, and shows
	// its page on the other, also after a restart: both are reserved for the cluster's life. Its
	// line of readiness is both, with a blank between.
	Manager func(address, page string) []string
	// Launcher is the command line of launcher i, from 0, of that name.
	Launcher func(i int, name, manager string) []string
}

// Cluster is a cluster that runs. Stop ends it.
type Cluster struct {
	Address string // of its manager
	Page    string // of the manager's metrics

	parts    *parts
	reserved []func() // release the addresses
}

// Start starts the parts and waits until a policy decides, at most ReadyMax. After an error no part
// of the cluster is left.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	c := &Cluster{parts: newParts(o.Folder, o.Env)}
	ctx, cancel := context.WithTimeout(ctx, ReadyMax)
	defer cancel()
	err := c.start(ctx, o)
	if err == nil {
		err = c.policyRuns(ctx, o.Errors)
	}
	if err != nil {
		c.Stop()
		return nil, err
	}
	c.parts.up.Store(true)
	return c, nil
}

// start brings the processes up.
func (c *Cluster) start(ctx context.Context, o Options) error {
	address, free, err := reserve()
	if err != nil {
		return err
	}
	c.reserved = append(c.reserved, free)
	page, free, err := reserve()
	if err != nil {
		return err
	}
	c.reserved = append(c.reserved, free)
	results := make(chan error, 1+o.Launchers)
	go func() {
		addresses, err := c.parts.child(ctx, "manager", func(string) []string { return o.Manager(address, page) })
		c.Address, c.Page, _ = strings.Cut(addresses, " ")
		results <- err
	}()
	// Launchers start beside the manager, and connect as soon as it listens.
	for i := range o.Launchers {
		name := fmt.Sprintf("launcher-%d", i+1)
		go func() {
			_, err := c.parts.child(ctx, name, func(string) []string { return o.Launcher(i, name, address) })
			results <- err
		}()
	}
	for range 1 + o.Launchers {
		if one := <-results; err == nil {
			err = one
		}
	}
	return err
}

// Wait waits until ctx ends, or a part cannot be kept up, which is the error.
func (c *Cluster) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-c.parts.whole.Done():
		return context.Cause(c.parts.whole)
	}
}

// Stop ends all parts. It waits for them, and kills those that take too long.
func (c *Cluster) Stop() {
	c.parts.stop()
	for _, free := range c.reserved {
		free()
	}
	c.reserved = nil
}

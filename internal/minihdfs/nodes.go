package minihdfs

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

// KillDataNode ends a DataNode as kill -9 does. The NameNode considers it dead after some 12
// seconds; until then it still returns its blocks' locations.
func (c *Cluster) KillDataNode(node int) error { return c.data[node].kill() }

// StopDataNode ends a DataNode in order.
func (c *Cluster) StopDataNode(node int) error { return c.data[node].stop() }

// PauseDataNode freezes a DataNode: its connections stay open and silent.
func (c *Cluster) PauseDataNode(node int) error { return c.data[node].signal(syscall.SIGSTOP) }

// ResumeDataNode thaws a paused one.
func (c *Cluster) ResumeDataNode(node int) error { return c.data[node].signal(syscall.SIGCONT) }

// RestartDataNode starts a DataNode, after ending a running one, and returns when it is registered
// with the NameNode. It keeps its blocks and gets another port.
func (c *Cluster) RestartDataNode(ctx context.Context, node int) error {
	ports, err := c.ports(ctx)
	if err != nil {
		return err
	}
	if err := c.data[node].kill(); err != nil {
		return err
	}
	if err := c.data[node].start(); err != nil {
		return err
	}
	before := make([]string, len(c.data))
	before[node] = ports[Host(node)]
	return c.waitReady(ctx, before)
}

// KillNameNode ends the NameNode as kill -9 does.
func (c *Cluster) KillNameNode() error { return c.name().kill() }

// PauseNameNode freezes the NameNode.
func (c *Cluster) PauseNameNode() error { return c.name().signal(syscall.SIGSTOP) }

// ResumeNameNode thaws the paused NameNode.
func (c *Cluster) ResumeNameNode() error { return c.name().signal(syscall.SIGCONT) }

// StartNameNode starts the NameNode again, at its old address, and returns when it has left safe
// mode and all running DataNodes are registered.
func (c *Cluster) StartNameNode(ctx context.Context) error {
	if err := c.name().start(); err != nil {
		return err
	}
	return c.waitReady(ctx, make([]string, len(c.data)))
}

// RestartNameNode stops the NameNode gracefully and starts it again.
func (c *Cluster) RestartNameNode(ctx context.Context) error {
	if err := c.name().stop(); err != nil {
		return err
	}
	return c.StartNameNode(ctx)
}

// Mend starts stopped daemons, resumes paused ones, and returns when all serve.
func (c *Cluster) Mend(ctx context.Context) error {
	before := make([]string, len(c.data))
	if c.name().running() {
		if err := c.name().signal(syscall.SIGCONT); err != nil {
			return err
		}
		ports, err := c.ports(ctx)
		if err != nil {
			return err
		}
		for i, d := range c.data {
			if !d.running() {
				before[i] = ports[Host(i)] // the NameNode may still consider it alive there
			}
		}
	}
	for _, d := range c.daemons() {
		var err error
		if d.running() {
			err = d.signal(syscall.SIGCONT)
		} else {
			err = errors.Join(d.kill(), d.start())
		}
		if err != nil {
			return err
		}
	}
	return c.waitReady(ctx, before)
}

// SafeMode turns safe mode on or off: in it the NameNode refuses all changes.
func (c *Cluster) SafeMode(ctx context.Context, on bool) error {
	verb := "leave"
	if on {
		verb = "enter"
	}
	_, err := c.Run(ctx, "dfsadmin", "-safemode", verb)
	return err
}

// WaitDead returns when the NameNode considers a DataNode dead.
func (c *Cluster) WaitDead(ctx context.Context, node int) error {
	return c.wait(ctx, fmt.Sprintf("%s is not dead", Host(node)), func(s state) bool {
		_, dead := s.dead[Host(node)]
		return dead
	})
}

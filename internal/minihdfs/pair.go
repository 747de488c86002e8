package minihdfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const (
	// pairService is the name service of two NameNodes.
	pairService = "pair"
	// pairSize is their number.
	pairSize = 2
)

// nameID is the id of one of two NameNodes in Hadoop's configuration.
func nameID(name int) string { return fmt.Sprintf("name%d", name) }

// pair returns two NameNodes that are not yet started.
func (c *Cluster) pair() []*daemon {
	var names []*daemon
	for i := range pairSize {
		names = append(names, c.daemon(nameID(i), "namenode", nameNodeHeap,
			"-Dhamadryad.name="+nameID(i), fmt.Sprintf("-Dhamadryad.standby=%t", i > 0)))
	}
	return names
}

// pairSite is the clients' and daemons' configuration of two NameNodes.
func (c *Cluster) pairSite() map[string]string {
	site := map[string]string{
		"dfs.nameservices":                                  pairService,
		"dfs.ha.namenodes." + pairService:                   nameID(0) + "," + nameID(1),
		"dfs.client.failover.proxy.provider." + pairService: "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider",
		"dfs.client.failover.sleep.base.millis":             "100",
	}
	for i := range pairSize {
		at := "." + pairService + "." + nameID(i)
		site["dfs.namenode.rpc-address"+at], site["dfs.namenode.http-address"+at] = c.rpc(i), c.http(i)
	}
	return site
}

// pairDaemonSite is the daemons' further configuration: the NameNodes share a folder of edits.
func (c *Cluster) pairDaemonSite() map[string]string {
	return map[string]string{
		"dfs.ha.namenode.id":            "${hamadryad.name}", // their addresses are equal
		"dfs.namenode.name.dir":         "file://" + filepath.Join(c.folder, "${hamadryad.name}"),
		"dfs.namenode.shared.edits.dir": "file://" + filepath.Join(c.folder, "edits"),
		// Seconds after which the standby sees changes: it can't leave safe mode before.
		"dfs.ha.log-roll.period":   "1",
		"dfs.ha.tail-edits.period": "1",
	}
}

// startPair makes the first NameNode serve and starts the other one.
func (c *Cluster) startPair(ctx context.Context) error {
	if err := c.wait(ctx, "the NameNode does not start", func(state) bool { return true }); err != nil {
		return err
	}
	if err := c.activate(ctx, c.active); err != nil {
		return err
	}
	return c.StartStandby(ctx)
}

// activate makes a NameNode active, whatever the other one's state, and waits until it is.
func (c *Cluster) activate(ctx context.Context, name int) error {
	if err := c.dropTorn(); err != nil {
		return err
	}
	if _, err := c.Run(ctx, "haadmin", "-transitionToActive", "--forceactive", nameID(name)); err != nil {
		return fmt.Errorf("%w; the end of the log of %s:\n%s", err, nameID(name), c.names[name].logTail())
	}
	c.active = name
	return c.waitReady(ctx, make([]string, len(c.data)))
}

// dropTorn removes segments of edits that end before their header, because a NameNode was killed:
// it fills the file with 0xff first. Such a segment holds no edits. HDFS takes it for damage, moves
// it aside and ends the NameNode that was to become active; an operator would start that one once
// more.
func (c *Cluster) dropTorn() error {
	segments, err := filepath.Glob(filepath.Join(c.folder, "*", "current", "edits_inprogress_*"))
	if err != nil {
		return err
	}
	for _, path := range segments {
		torn, err := isTorn(path)
		if err == nil && torn {
			err = os.Remove(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isTorn reports whether a segment has the filling where its header begins.
func isTorn(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	header := make([]byte, 4)
	n, err := io.ReadFull(f, header)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n > 0 && bytes.Count(header[:n], []byte{0xff}) == n, err
}

// FailOver makes the standby active. Kill the active one before, or pause it and kill it
// afterwards: two must not be active.
func (c *Cluster) FailOver(ctx context.Context) error {
	return c.activate(ctx, pairSize-1-c.active)
}

// KillStandby ends the standby NameNode as kill -9 does.
func (c *Cluster) KillStandby() error { return c.names[pairSize-1-c.active].kill() }

// StartStandby starts the standby NameNode. It returns when the standby answers clients, which it
// redirects, and all running DataNodes are registered.
func (c *Cluster) StartStandby(ctx context.Context) error {
	other := pairSize - 1 - c.active
	if err := c.names[other].start(); err != nil {
		return err
	}
	serves := c.active
	c.active = other // waiting polls this one
	defer func() { c.active = serves }()
	return c.waitReady(ctx, make([]string, len(c.data)))
}

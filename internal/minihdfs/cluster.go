package minihdfs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	// readyTimeout bounds the start of a cluster and the return of a daemon.
	readyTimeout = 5 * time.Minute
	// dataNodesMax guards against a typing error: each DataNode takes about 200 MB of memory.
	dataNodesMax = 16
	// rackSize is the number of neighbouring nodes that share a rack.
	rackSize = 2
)

// Options describe a cluster. The zero value is four DataNodes, two replicas,
// blocks of 128 MiB.
type Options struct {
	DataNodes   int   // 4 when 0; at most 16
	Replication int   // of new files; 2 when 0
	BlockSize   int64 // bytes, of new files; 128 MiB when 0; a multiple of 512
	// Pair starts two NameNodes, one of them standby, as the name service "pair".
	Pair bool
	// Properties are added to hdfs-site.xml, of clients and of daemons, and override existing ones.
	Properties map[string]string
	// Address is the loopback address of the NameNode: any, when "".
	Address string
	// Java are further flags of Java, of the daemons and of Hadoop's tools.
	Java []string
	// Ask sends a request to the NameNode's web server; nil: plain HTTP.
	Ask func(*http.Request) (*http.Response, error)
	// Folder keeps all data and logs, and a later start with it uses them again. "": a temporary
	// folder, which Stop removes.
	Folder string
}

func (o *Options) check() error {
	if o.DataNodes == 0 {
		o.DataNodes = 4
	}
	if o.Replication == 0 {
		o.Replication = 2
	}
	if o.BlockSize == 0 {
		o.BlockSize = 128 << 20
	}
	if o.Ask == nil {
		o.Ask = webClient.Do
	}
	if o.Address == "" {
		// A separate loopback address lets each cluster use the usual ports.
		o.Address = fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	}
	switch {
	case o.DataNodes < 1 || o.DataNodes > dataNodesMax:
		return fmt.Errorf("%d DataNodes: use 1 to %d", o.DataNodes, dataNodesMax)
	case o.Replication < 1 || o.Replication > o.DataNodes:
		return fmt.Errorf("%d replicas on %d DataNodes: use 1 to %d", o.Replication, o.DataNodes, o.DataNodes)
	case o.BlockSize < 512 || o.BlockSize%512 != 0:
		return fmt.Errorf("blocks of %d bytes: use a multiple of 512", o.BlockSize)
	}
	return nil
}

// Cluster is a running HDFS. Read-only methods (addresses, Command, Run, Replicas, Logs) are safe
// for concurrent use, the others are not.
type Cluster struct {
	kit     *Kit
	options Options
	folder  string
	address string    // of the NameNode, on loopback
	names   []*daemon // NameNodes: one, or two
	active  int       // number of the active NameNode
	data    []*daemon
	cleanup func()
	stopped bool
}

// Host is the host name of a DataNode.
func Host(node int) string { return fmt.Sprintf("node%d.test", node) }

// Rack is the rack of a DataNode.
func Rack(node int) string { return fmt.Sprintf("/rack%d", node/rackSize) }

// Start starts a NameNode and DataNodes and returns when all of them serve: after some 5 seconds on
// an idle machine. An error contains the end of the failed daemon's log.
func Start(ctx context.Context, kit *Kit, o Options) (*Cluster, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	c := &Cluster{kit: kit, options: o, address: o.Address, cleanup: func() {}}
	if err := c.makeFolder(); err != nil {
		return nil, err
	}
	if err := errors.Join(os.MkdirAll(c.temporary(), 0o700), c.writeConf(), c.writeScript()); err != nil {
		c.cleanup()
		return nil, err
	}
	c.names = []*daemon{c.daemon("namenode", "namenode", nameNodeHeap)}
	if o.Pair {
		c.names = c.pair()
	}
	for i := range o.DataNodes {
		c.data = append(c.data, c.daemon(Host(i), "datanode", dataNodeHeap, "-Dhamadryad.node="+Host(i)))
	}
	if err := c.startAll(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) makeFolder() error {
	if c.options.Folder == "" {
		folder, unlock, err := temporaryFolder()
		c.folder, c.cleanup = folder, func() { _ = os.RemoveAll(folder); unlock() } // a later sweep removes what is left
		return err
	}
	folder, err := filepath.Abs(c.options.Folder)
	if err != nil {
		return err
	}
	c.folder = folder
	return os.MkdirAll(folder, 0o700)
}

func (c *Cluster) startAll(ctx context.Context) error {
	for _, d := range append([]*daemon{c.name()}, c.data...) {
		if err := d.start(); err != nil {
			return err
		}
	}
	if c.options.Pair {
		return c.startPair(ctx)
	}
	return c.waitReady(ctx, make([]string, len(c.data)))
}

// Stop ends all daemons at once and removes a temporary folder. A second call does nothing.
func (c *Cluster) Stop() error {
	if c.stopped {
		return nil
	}
	c.stopped = true
	var errs []error
	for _, d := range c.daemons() {
		errs = append(errs, d.kill())
	}
	c.cleanup()
	return errors.Join(errs...)
}

// name is the active NameNode.
func (c *Cluster) name() *daemon { return c.names[c.active] }

// daemons are all of them.
func (c *Cluster) daemons() []*daemon { return slices.Concat(c.names, c.data) }

// NameNode is the URL of the file system, such as hdfs://127.3.2.1:9000, or of the name service
// where there are two NameNodes.
func (c *Cluster) NameNode() string {
	if c.options.Pair {
		return "hdfs://" + pairService
	}
	return "hdfs://" + c.rpc(0)
}

// rpc is the host and port at which a NameNode serves clients and DataNodes.
func (c *Cluster) rpc(name int) string { return fmt.Sprintf("%s:%d", c.address, namePort+name) }

// http is the host and port of a NameNode's web server.
func (c *Cluster) http(name int) string { return fmt.Sprintf("%s:%d", c.address, httpPort+name) }

// WebHDFS is the host and port of WebHDFS, at the active NameNode.
func (c *Cluster) WebHDFS() string { return c.http(c.active) }

// ConfDir is the folder with core-site.xml and hdfs-site.xml for clients: the value of
// HADOOP_CONF_DIR.
func (c *Cluster) ConfDir() string { return filepath.Join(c.folder, "conf") }

func (c *Cluster) daemonConf() string { return filepath.Join(c.folder, "daemons") }

// temporary is the daemons' temporary folder in place of the system's: a killed daemon leaves files
// there.
func (c *Cluster) temporary() string { return filepath.Join(c.folder, "tmp") }

// DataNodes is the number of DataNodes, including dead ones.
func (c *Cluster) DataNodes() int { return len(c.data) }

// Folder holds data and logs.
func (c *Cluster) Folder() string { return c.folder }

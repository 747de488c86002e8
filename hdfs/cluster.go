package hdfs

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	lib "github.com/colinmarc/hdfs/v2"
	"github.com/colinmarc/hdfs/v2/hadoopconf"

	"github.com/hamadryad/hamadryad/internal/hadoopsite"
)

// callsMax bounds a process's concurrent NameNode calls to one cluster; a client makes one at a
// time.
const callsMax = 8

// cluster is the store's state for one HDFS.
type cluster struct {
	set    settings
	name   hadoopsite.Cluster
	base   lib.ClientOptions // without dial functions
	umask  fs.FileMode
	health *health
	calls  chan struct{} // one token for each concurrent call
	idle   pool[*session]
	locate locator

	mu       sync.Mutex
	active   string // the NameNode that answered last
	defaults *lib.ServerDefaults
}

func newCluster(set settings, authority string, h *health) (*cluster, error) {
	name, err := set.site.Cluster(authority)
	if err != nil {
		return nil, err
	}
	c := &cluster{set: set, name: name, health: h, calls: make(chan struct{}, callsMax)}
	// The library's parser of the configuration needs values without variables.
	plain := hadoopconf.HadoopConf{}
	for key := range set.site {
		plain[key] = set.site.Get(key)
	}
	delete(plain, "fs.defaultFS") // the library would take it for an address
	delete(plain, "fs.default.name")
	c.base = lib.ClientOptionsFromConf(plain)
	c.base.Addresses, c.base.User = name.Addresses, set.User
	if c.umask, err = umask(set.site.Get("fs.permissions.umask-mode")); err != nil {
		return nil, err
	}
	c.locate.c = c
	return c, nil
}

// umask reads the octal form of fs.permissions.umask-mode; 022 is Hadoop's default.
func umask(text string) (fs.FileMode, error) {
	if text == "" {
		return 0o022, nil
	}
	mask, err := strconv.ParseUint(text, 8, 9)
	if err != nil {
		return 0, fmt.Errorf("fs.permissions.umask-mode is %q: write it in octal, such as 022", text)
	}
	return fs.FileMode(mask), nil
}

// nameNodes names the NameNodes in errors.
func (c *cluster) nameNodes() string {
	if len(c.name.Addresses) == 1 {
		return "the NameNode " + c.name.Addresses[0]
	}
	return "the NameNodes " + strings.Join(c.name.Addresses, " and ")
}

// addresses returns the NameNodes, the one that answered last first.
func (c *cluster) addresses() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.name.Addresses)
	if i := slices.Index(all, c.active); i > 0 {
		all[0], all[i] = all[i], all[0]
	}
	return all
}

// leave makes the next call turn to a NameNode other than the one at address, if there is one: that
// one may accept connections without answering.
func (c *cluster) leave(address string) {
	all := c.addresses()
	if all[0] != address || len(all) == 1 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.name.Addresses, address)
	c.active = c.name.Addresses[(i+1)%len(c.name.Addresses)]
}

// take returns an idle session, or a new one.
func (c *cluster) take(ctx context.Context) (*session, error) {
	if s, ok := c.idle.take(); ok {
		return s, nil
	}
	return c.connect(ctx, nil, false)
}

// put keeps a session for the next call.
func (c *cluster) put(s *session) {
	c.serves(s.at())
	c.idle.put(s)
}

// serves notes the NameNode that answered last.
func (c *cluster) serves(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active = address
}

// serverDefaults returns the cluster's defaults, which are requested once.
func (c *cluster) serverDefaults(ctx context.Context, p place) (lib.ServerDefaults, error) {
	c.mu.Lock()
	known := c.defaults
	c.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	var d lib.ServerDefaults
	err := c.call(ctx, "ask for the defaults of", p, func(s *session) (err error) {
		d, err = s.client.ServerDefaults()
		return err
	})
	if err != nil {
		return d, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.defaults = &d
	return d, nil
}

// opaque reports whether SASL wraps what DataNodes send, so that it can't be verified on its way.
func (c *cluster) opaque(d lib.ServerDefaults) bool {
	return c.base.DataTransferProtection != "" || d.EncryptDataTransfer
}

package hdfs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"strings"
	"sync"

	"github.com/hamadryad/hamadryad/internal/hadoopsite"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// scheme is the scheme of the store's URLs.
const scheme = "hdfs"

// clustersMax bounds the clusters that one process connects to.
const clustersMax = 64

func init() { storage.Register(scheme, New(Options{})) }

// Store is HDFS as a storage.Store. It reads its configuration at its first use. Safe for
// concurrent use.
type Store struct {
	options func() (settings, error)
	health  health

	mu       sync.Mutex
	clusters map[string]*cluster // by the part between hdfs:// and the path
}

var _ storage.Guarded = (*Store)(nil)

// settings are the resolved options and configuration.
type settings struct {
	Options
	site hadoopsite.Site
}

// New returns a store. Its first use reports errors in the options.
func New(o Options) *Store {
	return &Store{
		clusters: map[string]*cluster{},
		options: sync.OnceValues(func() (settings, error) {
			s, err := settle(o)
			if err != nil {
				return s, fmt.Errorf("hdfs: %w", err)
			}
			return s, nil
		}),
	}
}

func settle(o Options) (settings, error) {
	o, err := o.withEnvironment()
	if err != nil {
		return settings{}, err
	}
	s := settings{Options: o, site: hadoopsite.Site{}}
	if o.ConfDir != "" {
		if s.site, err = hadoopsite.Load(o.ConfDir); err != nil {
			return s, err
		}
	}
	maps.Copy(s.site, o.Properties)
	return s, nil
}

// place is a path in a cluster.
type place struct {
	*cluster
	url  string // as given, for errors
	path string // absolute and clean
}

// find resolves a URL.
func (s *Store) find(url string) (place, error) {
	rest, ok := strings.CutPrefix(url, scheme+"://")
	if !ok {
		return place{}, fmt.Errorf("%q is no %s:// URL", url, scheme)
	}
	authority, p := rest, "/"
	if slash := strings.IndexByte(rest, '/'); slash >= 0 {
		authority, p = rest[:slash], rest[slash:]
	}
	if strings.ContainsRune(p, 0) {
		return place{}, fmt.Errorf("%q: a path has no zero bytes", url)
	}
	c, err := s.cluster(authority)
	if err != nil {
		return place{}, fmt.Errorf("%s: %w", url, err)
	}
	return place{c, url, path.Clean(p)}, nil
}

func (s *Store) cluster(authority string) (*cluster, error) {
	set, err := s.options()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.clusters[authority]; c != nil {
		return c, nil
	}
	if len(s.clusters) >= clustersMax {
		return nil, fmt.Errorf("this process talks to %d HDFS clusters already, which is the most", clustersMax)
	}
	c, err := newCluster(set, authority, &s.health)
	if err != nil {
		return nil, err
	}
	s.clusters[authority] = c
	return c, nil
}

// Close closes idle connections. The store can be used afterwards.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clusters {
		c.idle.drop()
		c.locate.idle.drop()
	}
}

// Check checks what jobs need of a cluster: the NameNode must answer, and should return block
// locations. It returns an error if work is impossible. It returns a warning, in words for people,
// if work would run without block locations. url names the cluster and a readable folder in it:
// hdfs:///.
func (s *Store) Check(ctx context.Context, url string) (warning string, err error) {
	if _, err := s.Stat(ctx, url); err != nil {
		return "", err
	}
	p, err := s.find(url)
	if err != nil {
		return "", err
	}
	if err := p.checkLocations(ctx); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return fmt.Sprintf("where blocks of %s lie can't be told, so tasks run anywhere: %v", url, err), nil
	}
	return "", nil
}

// errFolder is the error for a folder where a file is wanted.
var errFolder = errors.New("it is a folder: name the files in it")

// Package certstest makes a cluster's certificates for tests.
package certstest

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
)

// Cluster is the name of the cluster of every CA that CA makes.
const Cluster = "test"

// CA is a cluster's CA in a folder that goes with the test.
type CA struct {
	*certs.Authority
	Folder string
	t      testing.TB
}

// New makes a CA. Each is another one, of the same cluster.
func New(t testing.TB) *CA { return At(t, time.Now()) }

// At makes a CA at a time.
func At(t testing.TB, now time.Time) *CA {
	t.Helper()
	folder := t.TempDir()
	a, err := certs.Init(folder, Cluster, now)
	if err != nil {
		t.Fatal(err)
	}
	return &CA{a, folder, t}
}

// Files issues a certificate that is good for an hour, and returns where it lies.
func (c *CA) Files(kind auth.Kind, name string) certs.Files {
	return c.FilesAt(kind, name, time.Now(), time.Hour)
}

// FilesAt issues a certificate at a time, for a time.
func (c *CA) FilesAt(kind auth.Kind, name string, now time.Time, life time.Duration) certs.Files {
	c.t.Helper()
	cert, _, err := c.Write(filepath.Join(c.Folder, string(kind)), auth.Identity{Cluster: Cluster, Kind: kind, Name: name}, now, life)
	if err != nil {
		c.t.Fatal(err)
	}
	return certs.Files{Certificate: cert}.Filled()
}

// Keys issues a certificate and opens it.
func (c *CA) Keys(kind auth.Kind, name string) *certs.Keys {
	c.t.Helper()
	keys, err := certs.Open(c.Files(kind, name), certs.Options{})
	if err != nil {
		c.t.Fatal(err)
	}
	return keys
}

// KeysIn are those of a user whose certificate says that it is in groups.
func (c *CA) KeysIn(name string, groups ...string) *certs.Keys {
	c.t.Helper()
	a, err := c.In(groups)
	if err != nil {
		c.t.Fatal(err)
	}
	with := *c
	with.Authority = a
	return with.Keys(auth.User, name)
}

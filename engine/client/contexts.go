package client

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/internal/suggest"
)

const (
	// contextsBytesMax bounds the file of contexts.
	contextsBytesMax = 1 << 20
	// contextsVersion is the file's version.
	contextsVersion = 1
)

// Contexts are the file of a user's clusters, as ~/.config/hamadryad/config.yaml:
//
//	version: 1
//	current: production
//	clusters:
//	  production: {manager: "10.0.0.1:7070", ca: ca.pem}
//	users:
//	  ann: {certificate: ann.pem}
//	contexts:
//	  production: {cluster: production, user: ann}
//
// Names of files are relative to the file's folder.
type Contexts struct {
	Version  int                       `yaml:"version"`
	Current  string                    `yaml:"current,omitempty"` // a context; "": none
	Clusters map[string]ContextCluster `yaml:"clusters,omitempty"`
	Users    map[string]ContextUser    `yaml:"users,omitempty"`
	Contexts map[string]Context        `yaml:"contexts,omitempty"`

	file string
}

// ContextCluster is the address of a cluster's manager, and the CA of its certificate.
type ContextCluster struct {
	Manager string `yaml:"manager"`      // host:port
	CA      string `yaml:"ca,omitempty"` // file; "": ca.pem beside the certificate
}

// ContextUser is how a user authenticates: one of a certificate, a bearer token and a Kerberos
// service; none where the manager asks for no proof.
type ContextUser struct {
	Certificate string `yaml:"certificate,omitempty"` // file
	Key         string `yaml:"key,omitempty"`         // file; "": beside the certificate
	Bearer      string `yaml:"bearer,omitempty"`      // file
	Service     string `yaml:"service,omitempty"`     // the manager's, such as hamadryad/m1.example.com
}

// Context is a cluster and its user; no user: that cluster asks for no proof.
type Context struct {
	Cluster string `yaml:"cluster"`
	User    string `yaml:"user,omitempty"`
}

// Target is a manager, and what to show it.
type Target struct {
	Manager         string
	Auth            certs.Files
	Bearer, Service string
}

// Environ are the environment variables with the target for a program.
func (t Target) Environ() (all []string) {
	for _, v := range [][2]string{
		{AddressVariable, t.Manager},
		{CertificateVariable, t.Auth.Certificate},
		{keyVariable, t.Auth.Key},
		{caVariable, t.Auth.CA},
		{BearerVariable, t.Bearer},
		{ServiceVariable, t.Service},
	} {
		if v[1] != "" {
			all = append(all, v[0]+"="+v[1])
		}
	}
	return all
}

// ContextsFile is where the file of contexts is: hamadryad/config.yaml in $XDG_CONFIG_HOME,
// or in .config of the user's home folder.
func ContextsFile() (string, error) {
	folder := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(folder) { // the XDG specification says to ignore relative paths
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		folder = filepath.Join(home, ".config")
	}
	return filepath.Join(folder, "hamadryad", "config.yaml"), nil
}

// ReadContexts reads a file of contexts. A missing file has no contexts.
func ReadContexts(file string) (*Contexts, error) {
	c := &Contexts{Version: contextsVersion, file: file}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, contextsBytesMax+1))
	if err == nil && len(text) > contextsBytesMax {
		err = fmt.Errorf("it has more than %d bytes", contextsBytesMax)
	}
	if err == nil {
		err = c.parse(text)
	}
	if err != nil {
		return nil, fmt.Errorf("the contexts in %s: %w", file, err)
	}
	return c, nil
}

func (c *Contexts) parse(text []byte) error {
	var head struct{ Version int }
	if yaml.Unmarshal(text, &head) == nil && head.Version > contextsVersion { // the rest may be anything
		return fmt.Errorf("they have version %d, and this program reads %d: use the version of Hamadryad that wrote them, or a newer one", head.Version, contextsVersion)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if c.Version != contextsVersion {
		return fmt.Errorf("they have version %d: write version: %d", c.Version, contextsVersion)
	}
	return c.Check()
}

// Check returns the mistakes: a name that is not defined, an invalid address.
func (c *Contexts) Check() error {
	for _, name := range slices.Sorted(maps.Keys(c.Clusters)) {
		if err := checkAddress(c.Clusters[name].Manager); err != nil {
			return fmt.Errorf("cluster %s: %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Contexts)) {
		x := c.Contexts[name]
		if _, ok := c.Clusters[x.Cluster]; !ok {
			return fmt.Errorf("context %s: there is no cluster %q%s", name, x.Cluster, suggest.Hint(x.Cluster, slices.Sorted(maps.Keys(c.Clusters))))
		}
		if _, ok := c.Users[x.User]; !ok && x.User != "" {
			return fmt.Errorf("context %s: there is no user %q%s", name, x.User, suggest.Hint(x.User, slices.Sorted(maps.Keys(c.Users))))
		}
	}
	if c.Current == "" {
		return nil
	}
	return c.known(c.Current)
}

func (c *Contexts) known(name string) error {
	if _, ok := c.Contexts[name]; ok {
		return nil
	}
	names := c.Names()
	if len(names) == 0 {
		return fmt.Errorf("there is no context %q, and no other in %s: add one with \"hamadryad config add %s --manager HOST:PORT\"", name, c.file, name)
	}
	return fmt.Errorf("there is no context %q%s: \"hamadryad config contexts\" lists them", name, suggest.Hint(name, names))
}

// Names are the names of the contexts, in order.
func (c *Contexts) Names() []string { return slices.Sorted(maps.Keys(c.Contexts)) }

// Use makes a context the current one.
func (c *Contexts) Use(name string) error {
	if err := c.known(name); err != nil {
		return err
	}
	c.Current = name
	return nil
}

// Add adds a context with a cluster and a user of its name; it replaces existing ones.
func (c *Contexts) Add(name string, cluster ContextCluster, user ContextUser) error {
	if c.Clusters == nil {
		c.Clusters = map[string]ContextCluster{}
	}
	if c.Users == nil {
		c.Users = map[string]ContextUser{}
	}
	if c.Contexts == nil {
		c.Contexts = map[string]Context{}
	}
	x := Context{Cluster: name}
	if user != (ContextUser{}) {
		c.Users[name], x.User = user, name
	}
	c.Clusters[name], c.Contexts[name] = cluster, x
	c.Current = cmp.Or(c.Current, name)
	return c.Check()
}

// Text is the file's.
func (c *Contexts) Text() ([]byte, error) { return yaml.Marshal(c) }

// Target is the manager and user of a context; "" is the current one. It is nil without such a
// context.
func (c *Contexts) Target(name string) (*Target, error) {
	if name = cmp.Or(name, c.Current); name == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	if err := c.known(name); err != nil {
		return nil, err
	}
	x := c.Contexts[name]
	cluster, user := c.Clusters[x.Cluster], c.Users[x.User]
	return &Target{
		Manager: cluster.Manager, Bearer: c.path(user.Bearer), Service: user.Service,
		Auth: certs.Files{CA: c.path(cluster.CA), Certificate: c.path(user.Certificate), Key: c.path(user.Key)},
	}, nil
}

// path makes the name of a file absolute.
func (c *Contexts) path(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(c.file), name)
}

// ContextTarget returns the manager and user of a context in the user's file. "" is the current
// one, which is ignored if the environment names a manager. It returns nil without such a context.
func ContextTarget(name string) (*Target, error) {
	if name == "" && os.Getenv(AddressVariable) != "" {
		return nil, nil //nolint:nilnil // there is none
	}
	file, err := ContextsFile()
	if err != nil {
		if name == "" {
			return nil, nil //nolint:nilnil // who has no home has no contexts
		}
		return nil, err
	}
	c, err := ReadContexts(file)
	if err != nil {
		return nil, err
	}
	return c.Target(name)
}

// Fill completes the credentials for the manager at an address from the target, where neither
// options nor the environment set them.
func (t *Target) Fill(address string, o *Options) {
	if t == nil || t.Manager != address {
		return
	}
	if o.Auth == (certs.Files{}) {
		o.Auth = Certificate()
	}
	if o.Auth.Certificate == "" && cmp.Or(o.Bearer, Bearer(), o.Service, Service()) == "" {
		o.Bearer, o.Service = t.Bearer, t.Service
		o.Auth.Certificate, o.Auth.Key = t.Auth.Certificate, t.Auth.Key
	}
	o.Auth.CA = cmp.Or(o.Auth.CA, t.Auth.CA)
}

package auth

import (
	"fmt"
	"strings"
)

// Kind is the kind of an identity. A certificate of one kind never passes for another.
type Kind string

// The kinds, as they stand in an identity's URI.
const (
	Manager  Kind = "manager"
	Launcher Kind = "launcher"
	User     Kind = "user"
	// Worker runs a user's program. It has the name of its launcher, which vouches for it. Only a
	// launcher issues such a certificate, and it issues no other.
	Worker Kind = "worker"
)

// scheme begins every identity.
const scheme = "hamadryad://"

// NameMax bounds the bytes of a cluster's name, and of a name within it.
const NameMax = 128

// Identity is a name that a certificate proves. Its parts are never empty if it comes from
// ParseIdentity or NewIdentity.
type Identity struct {
	Cluster string
	Kind    Kind
	Name    string // of the machine's launcher, or of the user
}

// NewIdentity checks the parts of an identity. The error names the part that is wrong.
func NewIdentity(cluster string, kind Kind, name string) (Identity, error) {
	switch kind {
	case Manager, Launcher, User, Worker:
	default:
		return Identity{}, fmt.Errorf("there is no kind %.40q: it is manager, launcher, user or worker", string(kind))
	}
	if err := CheckCluster(cluster); err != nil {
		return Identity{}, fmt.Errorf("the cluster's name: %w", err)
	}
	if err := CheckName(name); err != nil {
		return Identity{}, fmt.Errorf("the %s's name: %w", kind, err)
	}
	return Identity{Cluster: cluster, Kind: kind, Name: name}, nil
}

// ParseIdentity reads hamadryad://CLUSTER/KIND/NAME. It takes no other spelling of it: no
// escapes, no port, no query and nothing behind the name.
func ParseIdentity(uri string) (Identity, error) {
	rest, ok := strings.CutPrefix(uri, scheme)
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 {
		return Identity{}, fmt.Errorf("%.200q is no identity, which is hamadryad://CLUSTER/{manager,launcher,user,worker}/NAME", uri)
	}
	id, err := NewIdentity(parts[0], Kind(parts[1]), parts[2])
	if err != nil {
		return Identity{}, fmt.Errorf("%.200q is no identity: %w", uri, err)
	}
	return id, nil
}

// String is the URI that ParseIdentity reads.
func (id Identity) String() string {
	return scheme + id.Cluster + "/" + string(id.Kind) + "/" + id.Name
}

// CheckCluster returns why a text can't be a cluster's name, or nil. The cluster is the host of a
// URI. So it is a name as CheckName takes it, without + and @, of labels with single dots between
// them.
func CheckCluster(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if strings.ContainsAny(name, "+@") || strings.Contains(name+".", "..") {
		return fmt.Errorf("%q has a + or @, or a dot without a letter or digit behind it", name)
	}
	return nil
}

// CheckName returns why a text can't be a name in an identity, or nil. A name has ASCII letters and
// digits, and ". _ - + @" inside. Characters that mean something in a URI, a path, a shell or a
// terminal are excluded, and so are letters that look alike.
func CheckName(name string) error {
	if name == "" {
		return fmt.Errorf("it is empty")
	}
	if len(name) > NameMax {
		return fmt.Errorf("it has %d bytes, and at most %d are allowed", len(name), NameMax)
	}
	for i := range len(name) {
		c := name[i]
		if alphanumeric(c) || i > 0 && strings.IndexByte("._-+@", c) >= 0 {
			continue
		}
		return fmt.Errorf("%.*q must begin with a letter or digit and have nothing but letters and digits of ASCII and . _ - + @", NameMax, name)
	}
	return nil
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

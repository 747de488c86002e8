package certs

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/internal/logsample"
)

// lookEvery is the shortest time between two looks at the files: connections may come faster.
const lookEvery = time.Second

// Keys are a process's own certificate and key, and the CA that it trusts. Their TLS configurations
// always use the latest content of the files. Safe for concurrent use.
type Keys struct {
	files Files
	now   func() time.Time
	log   *slog.Logger
	wrong *slog.Logger // logs refused connections, sampled: strangers can cause any number

	mu      sync.Mutex
	state   *state // in force; never changed
	changes uint64 // of state
	looked  time.Time
	seen    [3]mark // of the files at the last try
	problem string  // the problem logged last

	revoked atomic.Pointer[auth.Revoked] // nil: none
}

// Options configure Open. Zero values are the defaults.
type Options struct {
	Cluster string           // the certificate's cluster; "": any
	Kinds   []auth.Kind      // the certificate must be of one of these; none: any
	Now     func() time.Time // the clock; time.Now
	Log     *slog.Logger     // gets a line for files that can't be used; slog.Default()
}

// state is the content of a set of files. It is immutable.
type state struct {
	files    Files
	identity auth.Identity
	own      tls.Certificate
	chain    []*x509.Certificate // of own
	anchors  []*x509.Certificate
	roots    *x509.CertPool
	caText   []byte
}

// mark detects that a file changed, without reading it.
type mark struct {
	size, changed int64 // bytes, and nanoseconds
	number        uint64
}

// Open reads the files. The error names the file and its problem: a certificate that has expired or
// is of another CA, a key that others may read, a file that is cut off.
func Open(files Files, o Options) (*Keys, error) {
	k := &Keys{files: files.Filled(), now: o.Now, log: o.Log}
	if k.now == nil {
		k.now = time.Now
	}
	if k.log == nil {
		k.log = slog.Default()
	}
	k.wrong = logsample.New(k.log)
	k.looked = k.now()
	k.seen = k.marks()
	s, err := k.read(k.looked)
	if err != nil {
		return nil, err
	}
	if o.Cluster != "" && o.Cluster != s.identity.Cluster {
		return nil, fmt.Errorf("%s is the certificate of %s, and the cluster is %s (auth.cluster): name the right file or the right cluster", k.files.Certificate, s.identity, o.Cluster)
	}
	if len(o.Kinds) > 0 && !slices.Contains(o.Kinds, s.identity.Kind) {
		return nil, fmt.Errorf("%s is the certificate of %s, and here that of a %s is wanted: issue one with \"hamadryad ca issue\"", k.files.Certificate, s.identity, oneOf(o.Kinds))
	}
	k.state = s
	return k, nil
}

// Trust makes keys for a process without a certificate, which proves itself to a manager in another
// way. They hold only the cluster's CA, so only Client can be called.
func Trust(ca string, o Options) (*Keys, error) { return Open(Files{CA: ca}, o) }

// Identity is this process's identity.
func (k *Keys) Identity() auth.Identity { return k.current().identity }

// Ends is when the process's own certificate expires.
func (k *Keys) Ends() time.Time { return k.current().chain[0].NotAfter }

// Life is the validity for which the certificate was issued, without the skew before it.
func (k *Keys) Life() time.Duration {
	c := k.current().chain[0]
	return c.NotAfter.Sub(c.NotBefore) - skew
}

// LookAgain makes the next use look at the files at once, because they were replaced.
func (k *Keys) LookAgain() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.looked = time.Time{}
}

// Revoke replaces the list of revoked certificates, for handshakes that begin from now on.
func (k *Keys) Revoke(r auth.Revoked) { k.revoked.Store(&r) }

// Revoked is the list of the last Revoke.
func (k *Keys) Revoked() auth.Revoked {
	if r := k.revoked.Load(); r != nil {
		return *r
	}
	return nil
}

// Signer is the process's own key, for a certificate signing request.
func (k *Keys) Signer() (crypto.Signer, bool) {
	s, ok := k.current().own.PrivateKey.(crypto.Signer)
	return s, ok
}

// Generation grows whenever files with other content come into force.
func (k *Keys) Generation() uint64 {
	_, n := k.latest()
	return n
}

// current returns the state in force. It looks at the files first if the last look was a while ago.
func (k *Keys) current() *state {
	s, _ := k.latest()
	return s
}

// latest is current, with the generation of the state.
func (k *Keys) latest() (*state, uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reloadFiles(k.now())
	return k.state, k.changes
}

// reloadFiles takes over changed files. The caller holds mu.
func (k *Keys) reloadFiles(now time.Time) {
	if k.files == (Files{}) || now.Sub(k.looked) < lookEvery && !now.Before(k.looked) {
		return
	}
	k.looked = now
	marks := k.marks()
	if marks == k.seen {
		return
	}
	s, err := k.read(now)
	if err == nil && s.identity != k.state.identity {
		err = fmt.Errorf("%s is now the certificate of %s, and this process is %s: restart it to change who it is", k.files.Certificate, s.identity, k.state.identity)
	}
	k.seen = marks // they are tried again when they change
	if err != nil {
		if text := err.Error(); text != k.problem {
			k.problem = text
			k.log.Error("certificates can't be read again: those that were read before stay in force", "error", err)
		}
		return
	}
	k.problem, k.state = "", s
	k.changes++
	k.log.Info("certificates were read again", "identity", s.identity.String(), "ends", s.ends())
}

// ends is when the process's own certificate expires, or the CA's if the process has none.
func (s *state) ends() time.Time {
	if len(s.chain) == 0 {
		return s.anchors[0].NotAfter
	}
	return s.chain[0].NotAfter
}

func (k *Keys) marks() (m [3]mark) {
	for i, path := range []string{k.files.CA, k.files.Certificate, k.files.Key} {
		if info, err := os.Stat(path); err == nil {
			m[i] = mark{size: info.Size(), changed: info.ModTime().UnixNano()}
			if system, ok := info.Sys().(*syscall.Stat_t); ok {
				m[i].number = system.Ino // a rename puts another file there, of the same size and time maybe
			}
		}
	}
	return m
}

// read makes a state of the files, and checks that it can be used now.
func (k *Keys) read(now time.Time) (*state, error) {
	f := k.files
	ca, err := readFile(f.CA, false)
	if err != nil {
		return nil, err
	}
	if f.Certificate == "" {
		return newTrust(f, ca)
	}
	cert, err := readFile(f.Certificate, false)
	if err != nil {
		return nil, err
	}
	keyText, err := readFile(f.Key, true)
	if err != nil {
		return nil, err
	}
	return newState(f, ca, cert, keyText, now)
}

// newTrust is the state of a process without a certificate.
func newTrust(f Files, ca []byte) (*state, error) {
	s := &state{files: f, roots: x509.NewCertPool(), caText: ca}
	var err error
	if s.anchors, err = parseCertificates(ca); err != nil {
		return nil, fmt.Errorf("the CA's certificate in %s: %w", f.CA, err)
	}
	for _, c := range s.anchors {
		if !c.IsCA {
			return nil, fmt.Errorf("%s holds a certificate that is no CA's (subject %.100q): name the ca.pem that \"hamadryad ca init\" made", f.CA, c.Subject)
		}
		s.roots.AddCert(c)
	}
	s.identity = auth.Identity{Cluster: s.anchors[0].Subject.CommonName, Kind: auth.User}
	return s, nil
}

func newState(f Files, ca, cert, keyText []byte, now time.Time) (*state, error) {
	s, err := newTrust(f, ca)
	if err != nil {
		return nil, err
	}
	if s.chain, err = parseCertificates(cert); err != nil {
		return nil, fmt.Errorf("the certificate in %s: %w", f.Certificate, err)
	}
	key, err := parseKey(f.Key, keyText)
	if err != nil {
		return nil, err
	}
	if !sameKey(s.chain[0], key) {
		return nil, fmt.Errorf("the key in %s is not that of the certificate in %s: one of them was replaced and the other not yet, or they are of different names", f.Key, f.Certificate)
	}
	s.own = tls.Certificate{PrivateKey: key, Leaf: s.chain[0]}
	for _, c := range s.chain {
		s.own.Certificate = append(s.own.Certificate, c.Raw)
	}
	if s.identity, err = identityOf(s.chain[0]); err != nil {
		return nil, fmt.Errorf("the certificate in %s: %w", f.Certificate, err)
	}
	if _, _, err := s.verify(s.chain, x509.ExtKeyUsageClientAuth, now); err != nil {
		return nil, fmt.Errorf("the certificate in %s: %w", f.Certificate, err)
	}
	return s, nil
}

func sameKey(c *x509.Certificate, key crypto.Signer) bool {
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(c.PublicKey)
}

// pins are the pins of the CA's certificates.
func (s *state) pins() string {
	var all []string
	for _, c := range s.anchors {
		all = append(all, pinOf(c))
	}
	return strings.Join(all, ", ")
}

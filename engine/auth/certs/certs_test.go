package certs_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/auth/certs/certstest"
)

// meet makes a client and a server shake hands over a real socket, and sends one byte each way. It
// returns the client's proven identity, and the error at each end.
func meet(t *testing.T, client, server *tls.Config) (proved auth.Identity, atClient, atServer error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			served <- err
			return
		}
		defer c.Close()
		s := tls.Server(c, server)
		if err = s.Handshake(); err == nil {
			proved, _ = certs.PeerIdentity(s.ConnectionState())
			_, err = io.CopyN(s, s, 1)
		}
		served <- err
	}()
	c, err := tls.Dial("tcp", l.Addr().String(), client)
	if err == nil {
		if _, err = c.Write([]byte{1}); err == nil {
			_, err = io.ReadFull(c, make([]byte, 1))
		}
		c.Close()
	}
	atServer = <-served // the identity is known then
	return proved, err, atServer
}

// open opens files with a test's clock.
func open(t *testing.T, f certs.Files, now func() time.Time, log io.Writer) *certs.Keys {
	t.Helper()
	k, err := certs.Open(f, certs.Options{Now: now, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func at(when time.Time) func() time.Time { return func() time.Time { return when } }

func TestBothEndsAreProved(t *testing.T) {
	ca := certstest.New(t)
	manager, ann, launcher := ca.Keys(auth.Manager, "m"), ca.Keys(auth.User, "ann"), ca.Keys(auth.Launcher, "l1")
	for _, c := range []*certs.Keys{ann, launcher} {
		who, atClient, atServer := meet(t, c.Client(auth.Manager, "m"), manager.Server(auth.User, auth.Launcher))
		if atClient != nil || atServer != nil || who != c.Identity() {
			t.Errorf("%v, %v: %s is taken for %s", atClient, atServer, c.Identity(), who)
		}
	}
	bundle, err := launcher.ForWorker()
	if err != nil {
		t.Fatal(err)
	}
	worker, err := certs.FromBundle(bundle)
	if err != nil {
		t.Fatal(err)
	}
	who, atClient, atServer := meet(t, worker.Client(auth.Launcher, "l1"), launcher.Server(auth.Worker))
	if atClient != nil || atServer != nil || who != (auth.Identity{Cluster: "test", Kind: auth.Worker, Name: "l1"}) {
		t.Errorf("%v, %v: a worker is taken for %s", atClient, atServer, who)
	}
}

// Clients built on OpenSSL, such as curl and Python's, send the CA's certificate behind their own.
// So may a worker, behind its launcher's. The CA's certificate proves no identity, and does not
// bypass a revocation.
func TestTheCAIsShownToo(t *testing.T) {
	ca := certstest.At(t, time.Now().Add(-24*time.Hour))
	manager, l1, ann := ca.Keys(auth.Manager, "m"), ca.Keys(auth.Launcher, "l1"), ca.Keys(auth.User, "ann")
	bundle, err := l1.ForWorker()
	if err != nil {
		t.Fatal(err)
	}
	worker, err := certs.FromBundle(bundle)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(ca.Files(auth.User, "bob").CA)
	if err != nil {
		t.Fatal(err)
	}
	own, _ := pem.Decode(text)
	for server, client := range map[*certs.Keys]*certs.Keys{manager: ann, l1: worker} {
		config := client.Client(server.Identity().Kind, "")
		shows := config.GetClientCertificate
		config.GetClientCertificate = func(q *tls.CertificateRequestInfo) (*tls.Certificate, error) {
			c, err := shows(q)
			both := *c
			both.Certificate = append(slices.Clone(c.Certificate), own.Bytes)
			return &both, err
		}
		who, atClient, atServer := meet(t, config, server.Server(auth.User, auth.Worker))
		if atClient != nil || atServer != nil || who != client.Identity() {
			t.Errorf("%v, %v: %s is taken for %s", atClient, atServer, client.Identity(), who)
		}
		server.Revoke(auth.Revoked{"user/ann": auth.Always, "launcher/l1": auth.Always})
		if _, _, atServer := meet(t, config, server.Server(auth.User, auth.Worker)); atServer == nil || !strings.Contains(atServer.Error(), "is revoked") {
			t.Errorf("%s is revoked, and the server says %v", client.Identity(), atServer)
		}
	}
}

// Each line is an attack: what the client shows, what the server requires, and the error of the end
// that refuses.
func TestWhoIsNotWhomHeSaysIsRefused(t *testing.T) {
	ca, foreign := certstest.At(t, time.Now().Add(-24*time.Hour)), certstest.New(t)
	manager := ca.Files(auth.Manager, "m")
	now := time.Now()
	expired := ca.FilesAt(auth.User, "late", now.Add(-3*time.Hour), time.Hour)
	early := ca.FilesAt(auth.User, "early", now.Add(time.Hour), time.Hour)
	for _, attack := range []struct {
		name  string
		files certs.Files
		now   time.Time // by the client's clock
		kinds []auth.Kind
		want  string
	}{
		{"a foreign CA", foreign.Files(auth.User, "ann"), now, []auth.Kind{auth.User}, "signed by another CA than this cluster's, whose certificate is in " + manager.CA},
		{"an expired certificate", expired, now.Add(-150 * time.Minute), []auth.Kind{auth.User}, "that of hamadryad://test/user/late ended at"},
		{"a clock an hour off", early, now.Add(time.Hour), []auth.Kind{auth.User}, "is yet to come by the clock of hamadryad://test/manager/m, which says"},
		{"a user's as a launcher's", ca.Files(auth.User, "l1"), now, []auth.Kind{auth.Launcher}, "it is that of hamadryad://test/user/l1, and here a launcher is wanted"},
		{"a launcher's as a user's", ca.Files(auth.Launcher, "ann"), now, []auth.Kind{auth.User, auth.Worker}, "and here a user or worker is wanted"},
	} {
		t.Run(attack.name, func(t *testing.T) {
			var log bytes.Buffer
			server := open(t, manager, at(now), &log)
			client := open(t, attack.files, at(attack.now), io.Discard).Client(auth.Manager, "")
			client.VerifyConnection = nil // an attacker need not verify the server
			_, atClient, atServer := meet(t, client, server.Server(attack.kinds...))
			if atClient == nil || !errors.Is(atServer, certs.ErrCertificate) || !strings.Contains(atServer.Error(), attack.want) {
				t.Errorf("the client says %v, the server %v, want %q", atClient, atServer, attack.want)
			}
			if !strings.Contains(log.String(), "a connection is refused") || !strings.Contains(log.String(), "from=127.0.0.1:") {
				t.Errorf("the log says %s", log.String())
			}
		})
	}
}

// Certificates issued before their revocation are refused at either end, and so are those of a
// revoked launcher's workers. Later certificates, and those of others, are accepted.
func TestRevoked(t *testing.T) {
	ca := certstest.At(t, time.Now().Add(-24*time.Hour))
	manager, l1, ann := ca.Keys(auth.Manager, "m"), ca.Keys(auth.Launcher, "l1"), ca.Keys(auth.User, "ann")
	moment := time.Now().Add(-time.Hour)
	old := open(t, ca.FilesAt(auth.Launcher, "l2", moment.Add(-time.Minute), 2*time.Hour), time.Now, io.Discard)
	fresh := open(t, ca.FilesAt(auth.Launcher, "l2", moment.Add(time.Minute), 2*time.Hour), time.Now, io.Discard)
	bundle, err := old.ForWorker()
	if err != nil {
		t.Fatal(err)
	}
	worker, err := certs.FromBundle(bundle)
	if err != nil {
		t.Fatal(err)
	}
	tried := func(server, client *certs.Keys) error {
		_, atClient, atServer := meet(t, client.Client(server.Identity().Kind, ""), server.Server(client.Identity().Kind))
		return errors.Join(atClient, atServer)
	}
	all := [][2]*certs.Keys{{manager, old}, {manager, fresh}, {manager, ann}, {l1, worker}, {old, l1}}
	for _, pair := range all {
		if err := tried(pair[0], pair[1]); err != nil {
			t.Errorf("before it is revoked, %s at %s: %v", pair[1].Identity(), pair[0].Identity(), err)
		}
	}
	for _, k := range []*certs.Keys{manager, l1} {
		k.Revoke(auth.Revoked{"launcher/l2": moment, "user/l1": auth.Always})
	}
	for i, pair := range all {
		err := tried(pair[0], pair[1])
		if gone := i == 0 || i >= 3; gone != (err != nil) || gone && !strings.Contains(err.Error(), "/l2 was issued at ") {
			t.Errorf("%s at %s, revoked %t: %v", pair[1].Identity(), pair[0].Identity(), gone, err)
		}
	}
	manager.Revoke(nil)
	if err := tried(manager, old); err != nil {
		t.Errorf("none are revoked any more: %v", err)
	}
}

// Clients check servers as strictly as servers check clients, also a client without a certificate.
func TestServersAreLookedAt(t *testing.T) {
	ca, foreign := certstest.New(t), certstest.New(t)
	ann := ca.Keys(auth.User, "ann")
	bare, err := certs.Trust(filepath.Join(ca.Folder, certs.FileCA), certs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, atClient, atServer := meet(t, bare.Client(auth.Manager, ""), ca.Keys(auth.Manager, "m").Door(auth.User)); atClient != nil || atServer != nil {
		t.Errorf("without a certificate: %v, %v", atClient, atServer)
	}
	for want, server := range map[string]*certs.Keys{
		"signed by another CA":                         foreign.Keys(auth.Manager, "m"),
		"it is that of hamadryad://test/launcher/l1":   ca.Keys(auth.Launcher, "l1"),
		"it is that of hamadryad://test/manager/other": ca.Keys(auth.Manager, "other"),
		"hamadryad://test/user/bob":                    ca.Keys(auth.User, "bob"),
	} {
		config := server.Server(auth.User)
		served := config.GetConfigForClient
		config.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			c, err := served(h)
			c.VerifyConnection = nil
			return c, err
		}
		for _, client := range []*certs.Keys{ann, bare} {
			_, atClient, _ := meet(t, client.Client(auth.Manager, "m"), config)
			if !errors.Is(atClient, certs.ErrCertificate) || !strings.Contains(atClient.Error(), want) {
				t.Errorf("%s: %v, want %q", client.Identity(), atClient, want)
			}
		}
	}
}

func TestNothingButTLS13AndACertificateGetsIn(t *testing.T) {
	ca := certstest.New(t)
	manager, ann := ca.Keys(auth.Manager, "m"), ca.Keys(auth.User, "ann")
	old := ann.Client(auth.Manager, "m")
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	bare := ann.Client(auth.Manager, "m")
	bare.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &tls.Certificate{}, nil }
	for name, client := range map[string]*tls.Config{"TLS 1.2": old, "no certificate": bare} {
		if _, atClient, atServer := meet(t, client, manager.Server(auth.User)); atClient == nil || atServer == nil {
			t.Errorf("%s: %v, %v", name, atClient, atServer)
		}
	}
	who, atClient, atServer := meet(t, bare, manager.Door(auth.User))
	if atClient != nil || atServer != nil || who != (auth.Identity{}) {
		t.Errorf("at a door, without a certificate: %v, %v, taken for %s", atClient, atServer, who)
	}
	foreign := certstest.New(t).Keys(auth.User, "ann").Client(auth.Manager, "m")
	foreign.VerifyConnection = nil
	if _, _, atServer := meet(t, foreign, manager.Door(auth.User)); !errors.Is(atServer, certs.ErrCertificate) {
		t.Errorf("at a door, with a foreign certificate: %v", atServer)
	}
}

// A launcher's certificate may sign its workers' certificates and no others.
func TestALauncherVouchesForItsWorkersAlone(t *testing.T) {
	ca := certstest.New(t)
	files := ca.Files(auth.Launcher, "l1")
	l1, manager := ca.Keys(auth.Launcher, "l1"), ca.Keys(auth.Manager, "m")
	own, err := tls.LoadX509KeyPair(files.Certificate, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	all := []auth.Kind{auth.User, auth.Manager, auth.Launcher, auth.Worker}
	for uri, good := range map[string]bool{
		"hamadryad://test/worker/l1": true, "hamadryad://test/worker/l2": false, "hamadryad://test/user/root": false,
		"hamadryad://test/manager/m": false, "hamadryad://test/launcher/l1": false, "hamadryad://other/worker/l1": false,
	} {
		forged := certstest.Below(t, own, uri)
		client := l1.Client(auth.Manager, "m")
		client.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &forged, nil }
		if _, _, atServer := meet(t, client, manager.Server(all...)); (atServer == nil) != good {
			t.Errorf("%s below a launcher: %v", uri, atServer)
		}
	}
	if _, err := manager.ForWorker(); err == nil {
		t.Error("a manager made a worker's certificate")
	}
	id := auth.Identity{Cluster: certstest.Cluster, Kind: auth.Worker, Name: "l1"}
	if _, _, err := ca.Write(ca.Folder, id, time.Now(), time.Hour); err == nil {
		t.Error("the CA signed a worker")
	}
}

func TestNewFilesCountWithoutARestart(t *testing.T) {
	ca := certstest.New(t)
	files, clock, log := ca.Files(auth.Manager, "m"), time.Now(), bytes.Buffer{}
	keys := open(t, files, func() time.Time { return clock }, &log)
	first := keys.Ends()
	next := func() time.Time { clock = clock.Add(2 * time.Second); return keys.Ends() }
	good := map[string][]byte{}
	ca.FilesAt(auth.Manager, "m", time.Now(), 2*time.Hour) // the files are in place now, and read at the next look
	for _, path := range []string{files.CA, files.Certificate, files.Key} {
		good[path], _ = os.ReadFile(path)
	}
	second := next()
	if !second.After(first) {
		t.Fatalf("after a renewal the certificate ends at %v, before at %v", second, first)
	}
	other := ca.Files(auth.Manager, "other")
	for _, wrong := range []struct {
		name, path string
		content    []byte
		mode       os.FileMode
	}{
		{"half a key", files.Key, good[files.Key][:100], 0o600},
		{"half a certificate", files.Certificate, good[files.Certificate][:len(good[files.Certificate])/2], 0o600},
		{"an empty CA", files.CA, nil, 0o600},
		{"a CA and a half", files.CA, append(bytes.Clone(good[files.CA]), good[files.CA][:100]...), 0o600},
		{"a key that others may read", files.Key, good[files.Key], 0o640},
		{"another's key", files.Key, mustRead(t, other.Key), 0o600},
		{"another's name", files.Certificate, mustRead(t, other.Certificate), 0o600},
		{"a foreign CA", files.CA, certstest.New(t).Text(), 0o600},
	} {
		log.Reset()
		write(t, wrong.path, wrong.content, wrong.mode)
		if got := next(); !got.Equal(second) || !strings.Contains(log.String(), wrong.path) {
			t.Errorf("%s: the certificate in force ends at %v, not %v; the log does not name the file: %s", wrong.name, got, second, log.String())
		}
		log.Reset()
		if next(); log.Len() > 0 {
			t.Errorf("%s: it is said again: %s", wrong.name, log.String())
		}
		write(t, wrong.path, good[wrong.path], 0o600)
		log.Reset()
		if next(); !strings.Contains(log.String(), "certificates were read again") {
			t.Errorf("%s was mended, and the log says %s", wrong.name, log.String())
		}
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// write puts a file in place as an editor or a tool does, by a rename.
func write(t *testing.T, path string, content []byte, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path+".new", content, mode), os.Chmod(path+".new", mode), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
}

// While the CA is replaced, its file holds the old CA and the new one.
func TestTwoCAsAreTrustedMeanwhile(t *testing.T) {
	before, after := certstest.New(t), certstest.New(t)
	files := before.Files(auth.Manager, "m")
	write(t, files.CA, append(bytes.Clone(before.Text()), after.Text()...), 0o600)
	manager := open(t, files, time.Now, io.Discard)
	for _, ca := range []*certstest.CA{before, after} {
		client := ca.Keys(auth.User, "ann").Client(auth.Manager, "m")
		client.VerifyConnection = nil
		if _, _, atServer := meet(t, client, manager.Server(auth.User)); atServer != nil {
			t.Error(atServer)
		}
	}
}

func TestOpenNamesFileAndCause(t *testing.T) {
	ca := certstest.New(t)
	good := ca.Files(auth.User, "ann")
	foreign := certstest.New(t).Files(auth.User, "ann")
	readable := ca.Files(auth.User, "careless")
	if err := os.Chmod(readable.Key, 0o644); err != nil {
		t.Fatal(err)
	}
	writable := ca.Files(auth.User, "open")
	if writable.CA = filepath.Join(t.TempDir(), "ca.pem"); os.WriteFile(writable.CA, ca.Text(), 0o600) != nil || os.Chmod(writable.CA, 0o666) != nil {
		t.Fatal("no CA that anybody may write")
	}
	now := time.Now()
	for _, c := range []struct {
		name  string
		files certs.Files
		o     certs.Options
		want  []string
	}{
		{"no file", certs.Files{Certificate: "/nowhere/ann.pem"}, certs.Options{}, []string{"/nowhere/ca.pem", "no such file"}},
		{"a foreign CA's", certs.Files{CA: good.CA, Certificate: foreign.Certificate, Key: foreign.Key}, certs.Options{}, []string{foreign.Certificate, good.CA, "signed by another CA"}},
		{"an expired one", good, certs.Options{Now: at(now.Add(2 * time.Hour))}, []string{good.Certificate, "ended at", "which is past by the clock"}},
		{"an expired CA", ca.FilesAt(auth.User, "old", now, certs.LifeMax), certs.Options{Now: at(now.Add(certs.LifeMax + time.Hour))}, []string{"ended at"}},
		{"one of tomorrow", good, certs.Options{Now: at(now.Add(-time.Hour))}, []string{good.Certificate, "begins at", "yet to come"}},
		{"a key for all", readable, certs.Options{}, []string{readable.Key, "mode 0644", "chmod 600"}},
		{"a CA of anybody's choice", writable, certs.Options{}, []string{writable.CA, "mode 0666", "chmod 644"}},
		{"of another cluster", good, certs.Options{Cluster: "other"}, []string{good.Certificate, "auth.cluster"}},
		{"of another kind", good, certs.Options{Kinds: []auth.Kind{auth.Launcher}}, []string{good.Certificate, "that of a launcher is wanted"}},
		{"without our name", ca.Named(), certs.Options{}, []string{"other.pem", "it has 0 names", "ca issue"}},
		{"with a strange name", ca.Named("spiffe://test/user/ann"), certs.Options{}, []string{"other.pem", "is no identity", "ca issue"}},
		{"with two names", ca.Named("hamadryad://test/user/ann", "hamadryad://test/user/bob"), certs.Options{}, []string{"other.pem", "it has 2 names"}},
	} {
		_, err := certs.Open(c.files, c.o)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", c.name, err, want)
			}
		}
	}
}

// A manager's certificate is valid, for browsers, for the hosts that it names, its own name and
// loopback. Certificates of users and launchers name no hosts. A renewal finds the hosts of the
// certificate that it replaces.
func TestHostsOfAManager(t *testing.T) {
	ca := certstest.New(t)
	at, err := ca.At([]string{"M1.Example.com.", "10.0.0.1", "[2001:db8::1]", "::ffff:192.0.2.7", "localhost"})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.Text())
	id := auth.Identity{Cluster: certstest.Cluster, Kind: auth.Manager, Name: "m1"}
	good := []string{"m1", "localhost", "127.0.0.1", "::1", "m1.example.com", "10.0.0.1", "2001:db8::1", "192.0.2.7"}
	look := func(a *certs.Authority, id auth.Identity, good, bad []string) (file string) {
		t.Helper()
		file, _, err := a.Write(t.TempDir(), id, time.Now(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(text)
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		for i, host := range append(slices.Clone(good), bad...) {
			_, err := c.Verify(x509.VerifyOptions{DNSName: host, Roots: roots})
			if (err == nil) != (i < len(good)) {
				t.Errorf("the certificate of %s at %s: %v", id, host, err)
			}
		}
		return file
	}
	file := look(at, id, good, []string{"m2.example.com", "10.0.0.2", "example.com"})
	again, err := ca.At(certs.HostsOf(file, id))
	if err != nil {
		t.Fatal(err)
	}
	look(again, id, good, []string{"10.0.0.2"})
	look(at, auth.Identity{Cluster: certstest.Cluster, Kind: auth.User, Name: "ann"}, nil, good[1:])
	look(at, auth.Identity{Cluster: certstest.Cluster, Kind: auth.Launcher, Name: "l1"}, []string{"l1"}, good[1:])
	other := id
	other.Name = "m2"
	if hosts := append(certs.HostsOf(file, other), certs.HostsOf("nowhere", id)...); len(hosts) > 0 {
		t.Errorf("of another, or nobody, there are %q", hosts)
	}
	for _, wrong := range []string{"", "10.0.0.1:7071", "0.0.0.0", "::", "fe80::1%eth0", "a b", "*.example.com", "m1..com", "-m1", "300.0.0.1", "http://m1", strings.Repeat("a.", 130) + "b", "m1/x"} {
		if _, err := ca.At([]string{wrong}); err == nil {
			t.Errorf("%q is a host", wrong)
		}
	}
}

func TestAuthority(t *testing.T) {
	ca := certstest.New(t)
	cert, key := filepath.Join(ca.Folder, certs.FileCA), filepath.Join(ca.Folder, certs.FileCAKey)
	again, err := certs.OpenAuthority(cert, key)
	if err != nil || again.Pin() != ca.Pin() || again.Cluster() != certstest.Cluster {
		t.Fatal(again, err)
	}
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the CA's key: %v %v", info.Mode(), err)
	}
	if _, err := certs.Init(ca.Folder, "other", time.Now()); err == nil || !strings.Contains(err.Error(), "there already") {
		t.Errorf("a CA was replaced: %v", err)
	}
	if _, err := certs.Init(t.TempDir(), "a b", time.Now()); err == nil {
		t.Error("a cluster was named with a space")
	}
	foreign := certstest.New(t)
	if _, err := certs.OpenAuthority(cert, filepath.Join(foreign.Folder, certs.FileCAKey)); err == nil || !strings.Contains(err.Error(), "none of the CA's certificates") {
		t.Error(err)
	}
	id := auth.Identity{Cluster: certstest.Cluster, Kind: auth.User, Name: "ann"}
	for want, f := range map[string]func() error{
		"another cluster": func() error {
			_, _, err := ca.Write(ca.Folder, auth.Identity{Cluster: "other", Kind: auth.User, Name: "ann"}, time.Now(), time.Hour)
			return err
		},
		"at most": func() error { _, _, err := ca.Write(ca.Folder, id, time.Now(), 2*certs.LifeMax); return err },
		"CA's certificate ended": func() error {
			_, _, err := ca.Write(ca.Folder, id, time.Now().Add(20*365*24*time.Hour), time.Hour)
			return err
		},
		"the CA's own files": func() error {
			_, _, err := ca.Write(ca.Folder, auth.Identity{Cluster: certstest.Cluster, Kind: auth.User, Name: "ca"}, time.Now(), time.Hour)
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if again, err := certs.OpenAuthority(cert, key); err != nil || again.Pin() != ca.Pin() {
		t.Errorf("the CA is another: %v", err)
	}
}

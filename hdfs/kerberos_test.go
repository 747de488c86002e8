package hdfs

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/spnego"

	"github.com/hamadryad/hamadryad/internal/hdfstest"
)

// realm is a Kerberos server and the service of an HDFS that wants Kerberos.
type realm struct {
	t       *testing.T
	address string // of the KDC and the NameNodes
	kdc     *hdfstest.KDC
	service string // principal of NameNodes and DataNodes
	web     string // principal of their web servers
	keys    string // keytab of both
}

// newRealm starts a KDC and makes it the test's own.
func newRealm(t *testing.T, address string) *realm {
	t.Helper()
	r := &realm{t: t, address: address, kdc: hdfstest.StartKDC(t, address), service: "hdfs/hdfs.test@" + hdfstest.Realm, web: "HTTP/" + address + "@" + hdfstest.Realm}
	r.keys = r.kdc.Keytab(t, "service", r.service, r.web)
	t.Setenv("KRB5_CONFIG", r.kdc.Conf)
	return r
}

// loopback is an address that no other test uses, most likely.
func loopback() string {
	return fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
}

// options are the options of an HDFS with two DataNodes.
func (r *realm) options() hdfstest.Options {
	r.t.Helper()
	conf, err := config.Load(r.kdc.Conf)
	if err != nil {
		r.t.Fatal(err)
	}
	who, err := fromKeytab(conf, r.keys, r.service)
	if err != nil {
		r.t.Fatal(err)
	}
	return hdfstest.Options{
		DataNodes: 2, BlockSize: 1 << 20, Address: r.address,
		Java: []string{"-Djava.security.krb5.conf=" + r.kdc.Conf},
		Ask: func(request *http.Request) (*http.Response, error) {
			return spnego.NewClient(who, nil, "HTTP/"+request.URL.Hostname()).Do(request)
		},
		Properties: map[string]string{
			"hadoop.security.authentication":  "kerberos",
			"dfs.block.access.token.enable":   "true",
			"dfs.namenode.kerberos.principal": r.service, "dfs.namenode.keytab.file": r.keys,
			"dfs.datanode.kerberos.principal": r.service, "dfs.datanode.keytab.file": r.keys,
			"dfs.web.authentication.kerberos.principal": r.web, "dfs.web.authentication.kerberos.keytab": r.keys,
			"hadoop.http.authentication.type": "kerberos", "hadoop.http.authentication.kerberos.principal": r.web, "hadoop.http.authentication.kerberos.keytab": r.keys,
			"dfs.data.transfer.protection":    "authentication",
			"ignore.secure.ports.for.testing": "true",
		},
	}
}

// With two NameNodes that require Kerberos and encrypt calls, places are found before and after a
// failover, and past a standby, without any web server.
func TestKerberosFailOver(t *testing.T) {
	r := newRealm(t, loopback())
	t.Setenv("KRB5CCNAME", r.kdc.Tickets(t, r.keys, r.service)) // of Hadoop's own tools
	o := r.options()
	o.Pair = true
	o.Properties["hadoop.rpc.protection"] = "privacy"
	c := hdfstest.Start(t, o)
	login := withoutWeb(Options{Keytab: r.keys, Principal: r.service})
	s := store(t, c, login)
	root := mkdir(t, s, "hdfs:///kerberos")
	write(t, s, root+"/a", noise(2<<20+5))
	located(t, "at first", s, root+"/a", 3)
	if err := c.KillNameNode(); err != nil {
		t.Fatal(err)
	}
	if err := c.FailOver(t.Context()); err != nil {
		t.Fatal(err)
	}
	located(t, "after the fail-over", s, root+"/a", 3)
	if err := c.StartStandby(t.Context()); err != nil {
		t.Fatal(err)
	}
	located(t, "past a NameNode that stands by", store(t, c, login), root+"/a", 3)
}

// An HDFS that wants Kerberos is used with a keytab and with a ticket cache; without
// either the error says what is missing. A job uses it with the ticket that it carries, which
// the manager renews.
func TestKerberos(t *testing.T) {
	programs := build(t)
	address := loopback()
	r := newRealm(t, address)
	kdc, keys, service := r.kdc, r.keys, r.service
	alice := "alice@" + hdfstest.Realm
	aliceKeys := kdc.Keytab(t, "alice", alice)
	t.Setenv("KRB5CCNAME", t.TempDir()+"/none")
	c := hdfstest.Start(t, r.options())
	admin := store(t, c, Options{Keytab: keys, Principal: service})
	root := mkdir(t, admin, "hdfs:///kerberos")
	content := noise(2<<20 + 1234)
	write(t, admin, root+"/a", content)

	job := programs().carry(c.ConfDir(), root+"/a", kdc.Tickets(t, aliceKeys, alice, "-l", "12s", "-r", "10m"))
	_, err := read(store(t, c, Options{}), root+"/a", 0, -1)
	says(t, "no ticket", err, nil, "Kerberos", "ticket cache", "/none", "kinit", "HAMADRYAD_HDFS_KEYTAB")
	_, err = read(store(t, c, Options{Keytab: aliceKeys, Principal: "bob@" + hdfstest.Realm}), root+"/a", 0, -1)
	says(t, "another one's keytab", err, nil, "Kerberos", "bob@", aliceKeys)

	t.Setenv("KRB5CCNAME", kdc.Tickets(t, aliceKeys, alice))
	for what, s := range map[string]*Store{"keytab": store(t, c, Options{Keytab: aliceKeys, Principal: alice}), "tickets": store(t, c, Options{})} {
		holds(t, what, s, root+"/a", content)
		located(t, what, s, root+"/a", 3)
		_, err := s.Create(t.Context(), root+"/b")
		says(t, what, err, fs.ErrPermission, "the Kerberos principal", "log in")
	}
	job.goOn()
	job.cache = kdc.Tickets(t, aliceKeys, alice)
	job.refused()
}

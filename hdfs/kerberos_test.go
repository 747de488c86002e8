package hdfs

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/spnego"

	"github.com/hamadryad/hamadryad/hdfs/hdfstest"
)

// An HDFS that wants Kerberos is used with a keytab and with a ticket cache; without
// either the error says what is missing. A job uses it with the ticket that it carries, which
// the manager renews.
func TestKerberos(t *testing.T) {
	programs := build(t)
	address := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	kdc := hdfstest.StartKDC(t, address)
	service, web := "hdfs/hdfs.test@"+hdfstest.Realm, "HTTP/"+address+"@"+hdfstest.Realm
	alice := "alice@" + hdfstest.Realm
	keys := kdc.Keytab(t, "service", service, web)
	aliceKeys := kdc.Keytab(t, "alice", alice)
	t.Setenv("KRB5_CONFIG", kdc.Conf)
	t.Setenv("KRB5CCNAME", t.TempDir()+"/none")
	conf, err := config.Load(kdc.Conf)
	if err != nil {
		t.Fatal(err)
	}
	who, err := fromKeytab(conf, keys, service)
	if err != nil {
		t.Fatal(err)
	}
	c := hdfstest.Start(t, hdfstest.Options{
		DataNodes: 2, BlockSize: 1 << 20, Address: address,
		Java: []string{"-Djava.security.krb5.conf=" + kdc.Conf},
		Ask: func(r *http.Request) (*http.Response, error) {
			return spnego.NewClient(who, nil, "HTTP/"+r.URL.Hostname()).Do(r)
		},
		Properties: map[string]string{
			"hadoop.security.authentication":  "kerberos",
			"dfs.block.access.token.enable":   "true",
			"dfs.namenode.kerberos.principal": service, "dfs.namenode.keytab.file": keys,
			"dfs.datanode.kerberos.principal": service, "dfs.datanode.keytab.file": keys,
			"dfs.web.authentication.kerberos.principal": web, "dfs.web.authentication.kerberos.keytab": keys,
			"hadoop.http.authentication.type": "kerberos", "hadoop.http.authentication.kerberos.principal": web, "hadoop.http.authentication.kerberos.keytab": keys,
			"dfs.data.transfer.protection":    "authentication",
			"ignore.secure.ports.for.testing": "true",
		},
	})
	admin := store(t, c, Options{Keytab: keys, Principal: service})
	root := mkdir(t, admin, "hdfs:///kerberos")
	content := noise(2<<20 + 1234)
	write(t, admin, root+"/a", content)

	job := programs().carry(c.ConfDir(), root+"/a", kdc.Tickets(t, aliceKeys, alice, "-l", "12s", "-r", "10m"))
	_, err = read(store(t, c, Options{}), root+"/a", 0, -1)
	says(t, "no ticket", err, nil, "Kerberos", "ticket cache", "/none", "kinit", "HAMADRYAD_HDFS_KEYTAB")
	_, err = read(store(t, c, Options{Keytab: aliceKeys, Principal: "bob@" + hdfstest.Realm}), root+"/a", 0, -1)
	says(t, "another one's keytab", err, nil, "Kerberos", "bob@", aliceKeys)

	t.Setenv("KRB5CCNAME", kdc.Tickets(t, aliceKeys, alice))
	for what, s := range map[string]*Store{"keytab": store(t, c, Options{Keytab: aliceKeys, Principal: alice}), "tickets": store(t, c, Options{})} {
		holds(t, what, s, root+"/a", content)
		if blocks, err := s.Locations(t.Context(), root+"/a", 0, -1); err != nil || len(blocks) != 3 {
			t.Errorf("%s: %+v, %v", what, blocks, err)
		}
		_, err := s.Create(t.Context(), root+"/b")
		says(t, what, err, fs.ErrPermission, "the Kerberos principal", "log in")
	}
	job.goOn()
	job.cache = kdc.Tickets(t, aliceKeys, alice)
	job.refused()
}

package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/internal/hdfstest"
)

// Users with a ticket of a real KDC, and no certificate, at a real manager by the real command
// line: they are whom the KDC says, in one realm, at this manager, while their tickets last.
func TestUsersWithTickets(t *testing.T) {
	kdc := hdfstest.StartKDC(t, fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254)))
	t.Setenv("KRB5_CONFIG", kdc.Conf)
	const service = "hamadryad/m1.test"
	users := kdc.Keytab(t, "users", "ann@"+hdfstest.Realm, "ann/admin@"+hdfstest.Realm)
	keytab := kdc.Keytab(t, "manager", service+"@"+hdfstest.Realm)
	kdc.Keytab(t, "others", "hamadryad/m2.test@"+hdfstest.Realm)
	s := &secured{t: t, dir: t.TempDir()}
	s.must("", "hamadryad", "ca", "init", "--cluster", "production")
	s.must("", "hamadryad", "ca", "issue", "manager/m1")
	writeFile(t, filepath.Join(s.dir, "manager.yaml"), "auth:\n  kerberos: {keytab: '"+keytab+"', realms: ["+hdfstest.Realm+"]}\n  roles:\n    administrator: {users: [ann]}\n")
	log := s.begin("serve", "manager", "--config", "manager.yaml", "--auth", "tls", "--certificate", "hamadryad-ca/manager/m1.pem", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data", "manager")
	eventually(t, "the manager serves", func() bool { return serves.MatchString(log.String()) })
	s.manager = serves.FindStringSubmatch(log.String())[1]
	t.Setenv("HAMADRYAD_AUTH_CA", filepath.Join(s.dir, "hamadryad-ca", "ca.pem"))
	tickets := func(principal string, args ...string) string {
		return "FILE:" + kdc.Tickets(t, users, principal, args...)
	}
	ann := tickets("ann@" + hdfstest.Realm)
	for _, c := range []struct {
		cache, service, want string
		args                 []string
	}{
		{ann, service, "administrator", []string{"access"}},
		{ann, service, "kerberos", []string{"access", "-o", "json"}},
		{ann, "hamadryad/m2.test", service, []string{"jobs"}},
		{tickets("ann/admin@" + hdfstest.Realm), service, "single part", []string{"jobs"}},
		{"FILE:none", service, "kinit", []string{"jobs"}},
		{ann, "", "$HAMADRYAD_AUTH_SERVICE", []string{"jobs"}},
		{ann, service, "takes one proof of a user", []string{"--certificate", "hamadryad-ca/manager/m1.pem", "jobs"}},
	} {
		t.Setenv("KRB5CCNAME", c.cache)
		out, err := s.run("", "hamadryad", append([]string{"--service", c.service}, c.args...)...)
		if !strings.Contains(out, c.want) || (err == nil) != (c.args[0] == "access") {
			t.Errorf("%v at %s: %v\n%s\nit is to say %q", c.args, c.service, err, out, c.want)
		}
	}
	audit := folder(t, filepath.Join(s.dir, "manager", "audit"))
	if !strings.Contains(audit, `"proof":"unproven"`) {
		t.Errorf("the audit has no refusal:\n%s", audit)
	}
}

package kerberos_test

import (
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/auth/kerberos"
)

func TestPrincipalsThatAreUsers(t *testing.T) {
	realms := kerberos.Realms{"A.TEST", "B.TEST"}
	for principal, want := range map[string]string{
		"ann@A.TEST": "ann", "bob-2@B.TEST": "bob-2",
		"ann@C.TEST": "", "ann@a.test": "", "ann@": "", "ann/admin@A.TEST": "", "@A.TEST": "", "an n@A.TEST": "", "ann\n@A.TEST": "", "-ann@A.TEST": "", "hdfs/host.test@A.TEST": "",
	} {
		name, realm, _ := strings.Cut(principal, "@")
		got, err := kerberos.User(realms, realm, strings.Split(name, "/"))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v", principal, got, err)
		}
	}
	for _, parts := range [][]string{nil, {"ann@B.TEST"}, {"ann", ""}} {
		if got, err := kerberos.User(realms, "A.TEST", parts); err == nil {
			t.Errorf("%q is %q", parts, got)
		}
	}
	if got, err := kerberos.User(nil, "A.TEST", []string{"ann"}); err == nil {
		t.Errorf("with no realm, ann is %q", got)
	}
}

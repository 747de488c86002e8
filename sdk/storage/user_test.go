package storage

import (
	"os/user"
	"testing"
)

func TestUser(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		variable  string
		otherwise []string
		want      string
	}{
		{"alice", []string{"bob"}, "alice"},
		{"", []string{"", "bob", "carol"}, "bob"},
		{"", nil, me.Username},
		{"", []string{""}, me.Username},
	} {
		t.Setenv(UserVariable, test.variable)
		if got, err := User(test.otherwise...); got != test.want || err != nil {
			t.Errorf("%q, otherwise %q: %q, %v", test.variable, test.otherwise, got, err)
		}
	}
}

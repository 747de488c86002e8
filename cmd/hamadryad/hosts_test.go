package main

import (
	"fmt"
	"testing"
)

// Launchers take the hosts in turn; the number of hosts is that of launchers when
// nothing else is said.
func TestPlacesOfLaunchers(t *testing.T) {
	for _, c := range []struct {
		o    localOptions
		want string
	}{
		{localOptions{}, "[{ }]"},
		{localOptions{launchers: 2}, "[{ } { }]"},
		{localOptions{hosts: []string{"a", "b=/r"}}, "[{a } {b /r}]"},
		{localOptions{hosts: []string{"a", "b=/r"}, launchers: 3}, "[{a } {b /r} {a }]"},
		{localOptions{hdfs: true}, "[{node0.test /rack0} {node1.test /rack0} {node2.test /rack1} {node3.test /rack1}]"},
		{localOptions{hdfs: true, hosts: []string{"x"}}, "[{x }]"},
		{localOptions{hosts: []string{"=/r"}}, `--hosts "=/r": write HOST or HOST=RACK, such as node0.test=/rack0`},
		{localOptions{launchers: -1}, "--launchers -1: use 1 to 256"},
		{localOptions{launchers: 257}, "--launchers 257: use 1 to 256"},
	} {
		got := ""
		if err := c.o.placeLaunchers(); err != nil {
			got = err.Error()
		} else {
			var places []place
			for i := range c.o.launchers {
				places = append(places, c.o.placeOf(i))
			}
			got = fmt.Sprint(places)
		}
		if got != c.want {
			t.Errorf("%+v: %s, want %s", c.o, got, c.want)
		}
	}
}

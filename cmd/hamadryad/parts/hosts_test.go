package parts

import (
	"fmt"
	"testing"
)

// Launchers take the hosts in turn; the number of hosts is that of launchers when
// nothing else is said.
func TestPlacesOfLaunchers(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, "[{ }]"},
		{Options{Launchers: 2}, "[{ } { }]"},
		{Options{Hosts: []string{"a", "b=/r"}}, "[{a } {b /r}]"},
		{Options{Hosts: []string{"a", "b=/r"}, Launchers: 3}, "[{a } {b /r} {a }]"},
		{Options{HDFS: true}, "[{node0.test /rack0} {node1.test /rack0} {node2.test /rack1} {node3.test /rack1}]"},
		{Options{HDFS: true, Hosts: []string{"x"}}, "[{x }]"},
		{Options{Hosts: []string{"=/r"}}, `--hosts "=/r": write HOST or HOST=RACK, such as node0.test=/rack0`},
		{Options{Launchers: -1}, "--launchers -1: use 1 to 256"},
		{Options{Launchers: 257}, "--launchers 257: use 1 to 256"},
	} {
		got := ""
		if err := c.o.PlaceLaunchers(); err != nil {
			got = err.Error()
		} else {
			var places []place
			for i := range c.o.Launchers {
				places = append(places, c.o.placeOf(i))
			}
			got = fmt.Sprint(places)
		}
		if got != c.want {
			t.Errorf("%+v: %s, want %s", c.o, got, c.want)
		}
	}
}

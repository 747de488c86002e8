package site

import (
	"net/netip"

	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/internal/connlimit"
)

// Connections are the bounds of connections of a configuration.
func Connections(c *config.Config) connlimit.Limits {
	l := connlimit.Limits{Address: c.Limits.Address, Network: c.Limits.Network, Principal: c.Limits.Principal}
	for _, text := range c.Limits.Networks {
		if n, err := netip.ParsePrefix(text); err == nil { // it was validated
			l.Networks = append(l.Networks, n.Masked())
		}
	}
	return l
}

package config

import (
	"fmt"
	"net"
	"path/filepath"
)

// checkAuth refuses addresses that strangers can reach while callers need no proof of identity.
func (c *Config) checkAuth() Errors {
	if c.Auth.Mode != AuthOff {
		if (c.Auth.Token != "" || c.Auth.CAKey != "") && c.Auth.Join == "" {
			return Errors{fmt.Sprintf("%s: auth.join is empty, and launchers are to join: give it the address at which the manager answers them, such as 10.0.0.1:7072", c.places.of("auth.mode"))}
		}
		if c.Auth.Certificate == "" && c.Auth.Token != "" {
			c.Auth.Certificate = JoinedCertificate(c.Launcher.Data)
		}
		if c.Auth.Certificate == "" {
			return Errors{fmt.Sprintf("%s: auth.mode is %s, and auth.certificate is empty: name the file that \"hamadryad ca issue\" made for this process", c.places.of("auth.mode"), c.Auth.Mode)}
		}
		return nil
	}
	var wrong Errors
	for _, door := range []struct{ key, address, host string }{
		{"manager.listen", c.Manager.Listen, hostOf(c.Manager.Listen)},
		{"manager.http", c.Manager.HTTP, hostOf(c.Manager.HTTP)},
		{"launcher.bind", c.Launcher.Bind, c.Launcher.Bind},
	} {
		if !loopback(door.host) {
			wrong = append(wrong, fmt.Sprintf("%s: %s is %q, which others reach, and auth.mode is off (%s): whoever comes could submit, kill and join under any name. Set auth.mode: tls with auth.certificate (\"hamadryad ca --help\" shows how), or a loopback address",
				c.places.of(door.key), door.key, door.address, c.places.of("auth.mode")))
		}
	}
	return wrong
}

// JoinedCertificate is where a launcher with a data folder keeps the certificate from its join,
// unless auth.certificate names another file.
func JoinedCertificate(data string) string {
	return filepath.Join(data, "certificates", "launcher.pem")
}

func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address) // it was validated
	return host
}

// loopback reports whether only this machine reaches an address. Of names only localhost counts:
// other names are not resolved.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

package certs

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/auth"
)

const (
	// hostsMax bounds the hosts in a certificate.
	hostsMax = 64
	// hostBytesMax, labelBytesMax and isLabel say what a DNS name may be (RFC 1035, section 2.3.4,
	// and RFC 1123, section 2.1). They also allow the underscore, which many private networks use.
	hostBytesMax  = 253
	labelBytesMax = 63
)

// isLabel reports whether a text may stand between the dots of a DNS name. A regular expression
// with such a bound would be compiled in each process's start.
func isLabel(text string) bool {
	const characters = "abcdefghijklmnopqrstuvwxyz0123456789_-"
	return text != "" && len(text) <= labelBytesMax && strings.Trim(text, characters) == "" &&
		!strings.HasPrefix(text, "-") && !strings.HasSuffix(text, "-")
}

// At returns a CA whose managers are reached at hosts: names and addresses, without ports. The
// hosts go into managers' certificates, for browsers and other tools that know host names alone
// (RFC 9525). Our own programs ignore them. The error names a host that is invalid.
func (a *Authority) At(hosts []string) (*Authority, error) {
	if len(hosts) > hostsMax {
		return nil, fmt.Errorf("a certificate names at most %d hosts", hostsMax)
	}
	with := *a
	with.hosts = nil
	for _, h := range hosts {
		h, err := CheckHost(h)
		if err != nil {
			return nil, err
		}
		with.hosts = append(with.hosts, h)
	}
	return &with, nil
}

// CheckHost returns a host as it stands in a certificate: a DNS name in small letters, or an
// address.
func CheckHost(host string) (string, error) {
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		if ip.IsUnspecified() || ip.Zone() != "" {
			return "", fmt.Errorf("nobody reaches a manager at %s: name the address that others use", host)
		}
		return ip.Unmap().String(), nil
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	labels := strings.Split(name, ".")
	if len(name) > hostBytesMax || slices.ContainsFunc(labels, func(l string) bool { return !isLabel(l) }) || !strings.ContainsAny(labels[len(labels)-1], "abcdefghijklmnopqrstuvwxyz") {
		return "", fmt.Errorf("%.300q is no host: give a name such as m1.example.com or an address such as 10.0.0.1, without a port", host)
	}
	return name, nil
}

// name puts the manager's addresses into its certificate. Its pages are on loopback, unless the
// site configures otherwise, or reached through a tunnel.
func (a *Authority) name(t *x509.Certificate) {
	add := func(host string) {
		if ip := net.ParseIP(host); ip != nil {
			if !slices.ContainsFunc(t.IPAddresses, ip.Equal) {
				t.IPAddresses = append(t.IPAddresses, ip)
			}
		} else if !slices.Contains(t.DNSNames, host) {
			t.DNSNames = append(t.DNSNames, host)
		}
	}
	for _, host := range append([]string{"localhost", "127.0.0.1", "::1"}, a.hosts...) {
		add(host)
	}
}

// HostsOf are the hosts in a manager's certificate file, for the certificate that replaces it.
// There are none if there is no such file, or if it is another identity's.
func HostsOf(file string, id auth.Identity) (hosts []string) {
	text, err := readFile(file, false)
	if err != nil {
		return nil
	}
	all, err := parseCertificates(text)
	if err != nil {
		return nil
	}
	if has, err := identityOf(all[0]); err != nil || has != id {
		return nil
	}
	for _, host := range namesOf(all[0]) {
		if h, err := CheckHost(host); err == nil && host != id.Name { // its own name is there anyway
			hosts = append(hosts, h)
		}
	}
	return hosts[:min(len(hosts), hostsMax)]
}

// Hosts are the names and addresses in the process's own certificate.
func (k *Keys) Hosts() []string {
	if s := k.current(); len(s.chain) > 0 {
		return namesOf(s.chain[0])
	}
	return nil
}

func namesOf(c *x509.Certificate) []string {
	hosts := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	return hosts
}

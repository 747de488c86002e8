package authz

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
)

// PageOptions configure which requests are accepted.
type PageOptions struct {
	// Hosts are the host names of the pages, without ports. Addresses and localhost need not be
	// named: no foreign name makes a browser send them.
	Hosts []string
	// Actions allows changes. Without it, each request for a change is refused.
	Actions bool
	// Unproven says that callers are not authenticated: then only this machine may change anything.
	Unproven bool
	// Proved are names in the manager's certificate, beside Hosts; nil: there is none.
	Proved func() []string
	// Own finds the machine's full name, beside Hosts; nil: it is not looked up.
	Own *HostNames
	// WriteError answers a refused request; nil: in plain text.
	WriteError func(w http.ResponseWriter, r *http.Request, code int, why string)
	// Open are the paths that programs request under any name, and that change nothing.
	Open []string
}

// GuardPages calls next for requests that may come from their origin.
func GuardPages(next http.Handler, o PageOptions) http.Handler {
	origins := http.NewCrossOriginProtection()
	writeError := o.WriteError
	if writeError == nil {
		writeError = func(w http.ResponseWriter, _ *http.Request, code int, why string) { http.Error(w, why, code) }
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !utf8.ValidString(r.URL.Path) { // the log has the name, and takes valid text alone
			writeError(w, r, http.StatusBadRequest, "the request's path is not UTF-8")
			return
		}
		if err := o.check(origins, r); err != nil {
			_ = audit.Of(r.Context()).EndAs(audit.Refused, err.Error()) // the log says what can't be written
			writeError(w, r, http.StatusForbidden, err.Error())
			return
		}
		next.ServeHTTP(w, r)
	})
}

// check returns why a request is refused.
func (o *PageOptions) check(origins *http.CrossOriginProtection, r *http.Request) error {
	if !slices.Contains(o.Open, r.URL.Path) && !o.known(r.Host) {
		return fmt.Errorf("nobody said that this manager is called %.256q: if it is, name it in manager.web.hosts; if not, a foreign name was made to lead here", r.Host)
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return nil
	}
	return o.changes(origins, r)
}

// Change returns why a request may not change something, whatever its method is; nil: it may. Guard
// calls it for requests whose method changes something.
func (o *PageOptions) Change(r *http.Request) error {
	r = r.WithContext(r.Context()) // a copy
	r.Method = http.MethodPost
	return o.changes(http.NewCrossOriginProtection(), r)
}

// changes returns why a request may not change something, for a method that changes.
func (o *PageOptions) changes(origins *http.CrossOriginProtection, r *http.Request) error {
	if err := origins.Check(r); err != nil {
		return fmt.Errorf("a page of another site asks for a change (%w): ask from the manager's own pages, or from the command line", err)
	}
	if !o.Actions {
		return fmt.Errorf("manager.web.actions is off, so nothing is changed over HTTP: use the command line")
	}
	if o.Unproven && !local(r.RemoteAddr) {
		return fmt.Errorf("nothing proves who asks (auth.mode is off), so only this machine changes anything over HTTP, and %.256q is another", r.RemoteAddr)
	}
	return nil
}

// known reports whether a Host is one of this manager.
func (o *PageOptions) known(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	same := func(h string) bool { return strings.EqualFold(h, host) }
	return host == "localhost" || o.Own.is(host) || slices.ContainsFunc(o.Hosts, same) || o.Proved != nil && slices.ContainsFunc(o.Proved(), same)
}

// local reports whether an address is of this machine.
func local(address string) bool {
	a, err := netip.ParseAddrPort(address)
	return err == nil && a.Addr().Unmap().IsLoopback()
}

// Package pprofhttp serves profiles of a running process to users of its machine.
//
//	mux.Handle("GET /debug/pprof/", pprofhttp.Handler())
//	go tool pprof http://localhost:7071/debug/pprof/profile?seconds=10
//
// # Invariants
//
// It answers requests that come over loopback, name loopback as their host, carry no header of a
// proxy, and are not from another site's page. So neither a proxy on the machine nor a browser with
// a foreign host name gets through. The page's owner refuses others. The command line is not shown,
// because it may contain a token.
//
// Where users have roles, the manager's profiles are for administrators. A launcher knows no roles,
// so a launcher with certificates shows its profiles only to the manager's certificate.
package pprofhttp

import (
	"fmt"
	"net"
	"net/http"
	"net/http/pprof" // which joins the default mux, too: nobody serves that
	"net/netip"
	"strconv"
	"strings"
)

// root is where the pages lie.
const root = "/debug/pprof/"

// secondsMax bounds the duration of a profile: only one runs at a time.
const secondsMax = 300

// Handler serves the pages below /debug/pprof/.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if why := foreign(r); why != "" {
			http.Error(w, "profiles are for who is on this machine: "+why, http.StatusForbidden)
			return
		}
		if text := r.FormValue("seconds"); text != "" {
			if s, err := strconv.ParseUint(text, 10, 32); err != nil || s > secondsMax {
				http.Error(w, fmt.Sprintf("seconds=%.20q is no whole number up to %d", text, secondsMax), http.StatusBadRequest)
				return
			}
		}
		switch strings.TrimPrefix(r.URL.Path, root) {
		case "cmdline":
			http.Error(w, "the command line is not shown: a token may stand in it", http.StatusNotFound)
		case "profile":
			pprof.Profile(w, r)
		case "symbol":
			pprof.Symbol(w, r)
		case "trace":
			pprof.Trace(w, r)
		default:
			pprof.Index(w, r)
		}
	})
}

// foreign returns why a request is not from a user of this machine; "": it is.
func foreign(r *http.Request) string {
	if from, err := netip.ParseAddrPort(r.RemoteAddr); err != nil || !from.Addr().Unmap().IsLoopback() {
		return "the request came from " + r.RemoteAddr
	}
	if !isLoopback(r.Host) {
		return fmt.Sprintf("the request names the host %.100q; ask for localhost", r.Host)
	}
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "Via"} {
		if r.Header.Get(header) != "" {
			return "the request came through a proxy, as " + header + " says"
		}
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "", "none", "same-origin":
		return ""
	default:
		return "another site's page asked for it"
	}
}

// isLoopback reports whether a Host header names this machine's loopback.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && a.Unmap().IsLoopback()
}

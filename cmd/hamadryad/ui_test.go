package main

import (
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// The pages' address can be reached from the manager's machine, and the text says what else is
// needed.
func TestWhereThePagesAre(t *testing.T) {
	for _, x := range []struct {
		manager, listens string
		tls              bool
		at, advice       string
	}{
		{"127.0.0.1:7070", "127.0.0.1:7071", false, "http://127.0.0.1:7071/", ""},
		{"localhost:7070", "[::]:7071", false, "http://127.0.0.1:7071/", ""},
		{"unix:///run/h.sock", "0.0.0.0:7071", false, "http://127.0.0.1:7071/", ""},
		{"m1.example.org:7070", "[::]:7071", true, "https://m1.example.org:7071/", "ask the browser for a certificate"},
		{"[2001:db8::1]:7070", "0.0.0.0:7071", true, "https://[2001:db8::1]:7071/", "ask the browser for a certificate"},
		{"m1:7070", "10.0.0.7:80", false, "http://10.0.0.7:80/", ""},
		{"m1:7070", "127.0.0.1:7071", false, "http://127.0.0.1:7071/", "ssh -N -L 7071:127.0.0.1:7071 m1"},
		{"m1:7070", "", false, "", "set manager.http"},
	} {
		at, advice := pagesAt(x.manager, &wire.PagesReply{Address: x.listens, Tls: x.tls})
		if at != x.at || (x.advice == "") != (advice == "") || !strings.Contains(advice, x.advice) {
			t.Errorf("%s from %s: %q, %q", x.listens, x.manager, at, advice)
		}
	}
}

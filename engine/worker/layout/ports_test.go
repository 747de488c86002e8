package layout

import (
	"net"
	"strconv"
	"strings"
	"testing"
)

func TestParsePorts(t *testing.T) {
	for text, want := range map[string]Ports{"": {}, "20000-20999": {20000, 20999}, "7-7": {7, 7}} {
		if p, err := ParsePorts(text); p != want || err != nil {
			t.Errorf("%q: %v, %v", text, p, err)
		}
	}
	for _, text := range []string{"20000", "20000-", "0-5", "9-8", "1-65536", "a-b", "1-2-3"} {
		if p, err := ParsePorts(text); err == nil || !strings.Contains(err.Error(), "such as 20000-20999") {
			t.Errorf("%q: %v, %v", text, p, err)
		}
	}
}

// Groups listen only on the ports that the site configures. If all are taken, the error names the
// key.
func TestListenWithinPorts(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	if _, err := (Ports{port, port}).Listen("127.0.0.1"); err == nil || !strings.Contains(err.Error(), "launcher.channelPorts ("+strconv.Itoa(port)) {
		t.Errorf("all are in use: %v", err)
	}
	p := Ports{max(port-20, 1), min(port+20, portMax)}
	l, err := p.Listen("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := l.Addr().(*net.TCPAddr).Port; got < p.First || got > p.Last || got == port {
		t.Errorf("of %v it listens on %d", p, got)
	}
}

package connlimit

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/internal/proctest"
)

// patience bounds the wait for what is to happen at once.
const patience = 30 * time.Second

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// accepting is a listener of a table whose connections are handed on.
func accepting(t *testing.T, table *Table) (address string, accepted chan net.Conn) {
	t.Helper()
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := table.Listen(raw)
	accepted = make(chan net.Conn, 1000)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	t.Cleanup(func() { l.Close() })
	return raw.Addr().String(), accepted
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheOldestSilentConnectionGoes(t *testing.T) {
	table := New(Limits{Network: 4}, quiet)
	address, accepted := accepting(t, table)
	proved := dial(t, address)
	first := <-accepted
	if err := table.Prove(first, "user ann"); err != nil {
		t.Fatal(err)
	}
	var silent []net.Conn
	for range 20 {
		silent = append(silent, dial(t, address))
		<-accepted
	}
	for _, c := range silent[:16] {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Fatal("a silent connection got an answer")
		}
	}
	if n := table.Counts(); n.Waiting != 4 || n.Open != 1 || n.Closed != 16 {
		t.Errorf("%+v", n)
	}
	if _, err := first.Write([]byte("x")); err != nil {
		t.Errorf("the proved connection: %v", err)
	}
	if _, err := proved.Read(make([]byte, 1)); err != nil {
		t.Errorf("the proved connection: %v", err)
	}
	first.Close()
	first.Close()
	if n := table.Counts(); n.Open != 0 {
		t.Errorf("%+v after it was closed", n)
	}
}

func TestPrincipalsAreBounded(t *testing.T) {
	table := New(Limits{Principal: 2, Open: 100}, quiet)
	address, accepted := accepting(t, table)
	for i, want := range []bool{true, true, false} {
		dial(t, address)
		if err := table.Prove(<-accepted, "user ann"); (err == nil) != want {
			t.Errorf("connection %d of ann: %v", i+1, err)
		}
	}
	dial(t, address)
	if err := table.Prove(<-accepted, "user bob"); err != nil {
		t.Error(err)
	}
}

func TestAddressesAreCountedApart(t *testing.T) {
	table := New(Limits{Address: 1, Network: 9, Networks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("2001:db8:1::/48")}}, quiet)
	for text, c := range map[string]struct {
		counted string
		bound   int
	}{
		"10.1.2.3":         {"10.1.2.3", 9},
		"10.2.2.3":         {"10.2.2.3", 1},
		"127.5.5.5":        {"127.0.0.1", 9},
		"::1":              {"127.0.0.1", 9},
		"::ffff:10.2.2.3":  {"10.2.2.3", 1},
		"2001:db8:2::5":    {"2001:db8:2::", 1},
		"2001:db8:1:7::55": {"2001:db8:1:7::", 9},
	} {
		from := addressOf(net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(text), 1)))
		if from.String() != c.counted || table.bound(from) != c.bound {
			t.Errorf("%s counts as %s with a bound of %d", text, from, table.bound(from))
		}
	}
}

// An address may begin so many conversations at once, and then so many per second. Further ones
// wait, and those that would wait too long are closed. Other addresses and silent connections are
// not affected.
func TestHandshakesHaveARate(t *testing.T) {
	table := New(Limits{Handshakes: 10}, quiet)
	now := time.Unix(1000, 0)
	one, two := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	const atOnce = int(10*handshakeBurst/time.Second) + 1
	for i := range atOnce {
		if wait := table.turn(one, now); wait > 0 {
			t.Fatalf("handshake %d waits for %v", i+1, wait)
		}
	}
	if wait := table.turn(one, now); wait != 100*time.Millisecond {
		t.Errorf("the next waits for %v", wait)
	}
	if wait := table.turn(two, now); wait > 0 {
		t.Errorf("another address waits for %v", wait)
	}
	for range networkRate * (atOnce - 1) {
		if wait := table.turn(loopback, now); wait > 0 {
			t.Fatalf("loopback waits for %v", wait)
		}
	}
	for range 10_000 {
		table.turn(one, now)
	}
	if wait := table.turn(one, now); wait < turnMax || wait > turnMax+time.Second {
		t.Errorf("those that are closed have others wait: %v", wait)
	}
	if wait := table.turn(one, now.Add(turnMax+2*handshakeBurst)); wait > 0 {
		t.Errorf("after a while it waits for %v", wait)
	}
}

// A waiting connection gets its turn, and one closed meanwhile is released.
func TestATurnIsWaitedFor(t *testing.T) {
	table := New(Limits{Handshakes: 1}, quiet) // of loopback four, and eight at once
	address, accepted := accepting(t, table)
	var last net.Conn
	for range 11 {
		c := dial(t, address)
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		last = <-accepted
		if n, err := last.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if due := table.turns[loopback]; time.Until(due) < handshakeBurst-time.Second {
		t.Errorf("eleven had their turns, and all are due at %v", due)
	}
	for range 40 { // a wait of some ten seconds
		table.turn(loopback, time.Now())
	}
	c := dial(t, address)
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	last = <-accepted
	ended := make(chan error, 1)
	go func() { _, err := last.Read(make([]byte, 1)); ended <- err }()
	proctest.Until(t, patience, "it spoke", func() bool { return last.(*Conn).heard.Load() })
	last.Close()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a connection that was closed is read")
		}
	case <-time.After(patience):
		t.Error("a connection that was closed waits for its turn")
	}
}

// A caller that holds all requests, and as many connections as possible, does not block requests
// for health.
func TestHealthHasAPoolOfItsOwn(t *testing.T) {
	table := New(Limits{Open: 8, Network: 6, Waiting: 6}, quiet)
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	held := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/hold", func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-held
	})
	mux.HandleFunc("/livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "lives") })
	s := &http.Server{Handler: table.Requests(mux, Asker{
		Principal: func(r *http.Request) string { return r.URL.Query().Get("user") },
		Health:    func(r *http.Request) bool { return r.URL.Path == "/livez" },
	}), ReadHeaderTimeout: patience}
	table.Attach(s)
	go s.Serve(table.Listen(raw))
	defer s.Close()
	defer close(held)
	ask := func(path string) (status int, body io.Reader) {
		c := dial(t, raw.Addr().String())
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { answer.Body.Close() }) // the held ones end with the server
		return answer.StatusCode, answer.Body
	}
	codes := map[int]int{}
	for i := range 12 {
		status, _ := ask(fmt.Sprintf("/hold?user=u%d", i%3))
		codes[status]++
	}
	if codes[http.StatusOK] != 8 || codes[http.StatusServiceUnavailable] != 4 {
		t.Errorf("%v", codes)
	}
	const silent = 20
	var ended atomic.Int32
	for range silent { // they begin a request, and never end it; the oldest are closed, some before they were dialled
		c, err := net.Dial("tcp", raw.Addr().String())
		if err != nil {
			ended.Add(1)
			continue
		}
		defer c.Close()
		fmt.Fprint(c, "GET /livez HTTP/1.1\r\n")
		go func() {
			_, _ = io.Copy(io.Discard, c)
			ended.Add(1)
		}()
	}
	proctest.Until(t, patience, "silent connections wait", func() bool { return table.Counts().Waiting == 6 && ended.Load() == silent-6 })
	status, body := ask("/livez")
	if text, _ := io.ReadAll(body); string(text) != "lives" {
		t.Errorf("health: got %d %s, want lives", status, text)
	}
}

package manager

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
	"github.com/hamadryad/hamadryad/internal/connlimit"
)

// knockAgain is the pause of a silent connection that was closed before it is opened anew.
const knockAgain = 500 * time.Millisecond

// silence opens connections that say nothing, and opens those anew that are closed, until the test
// ends. It returns when all were opened once.
func silence(t *testing.T, address string, connections int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all, opened sync.WaitGroup
	opened.Add(connections)
	for range connections {
		all.Go(func() {
			first := sync.OnceFunc(opened.Done)
			for ctx.Err() == nil {
				c, err := (&net.Dialer{Timeout: waitMax, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 66, 0, 1)}}).DialContext(ctx, "tcp", address)
				first()
				if err == nil {
					stop := context.AfterFunc(ctx, func() { c.Close() })
					_, _ = c.Read(make([]byte, 1))
					stop()
					c.Close()
				}
				select {
				case <-ctx.Done():
				case <-time.After(knockAgain):
				}
			}
		})
	}
	t.Cleanup(func() { cancel(); all.Wait() })
	opened.Wait()
}

// Thousands of connections of one address say nothing. Fifty launchers behind the same address join
// all the same, /livez answers, and the log does not grow with the attack.
func TestSilentConnectionsKeepNobodyOut(t *testing.T) {
	b, ca := newClosedWith(t, func(c *Config) { c.Limits = connlimit.Limits{Address: 16, Network: 64, Principal: 16} })
	silence(t, b.http, 2200)
	silence(t, b.cfg.Listen, 1000)
	for i := range 50 {
		name := fmt.Sprintf("l%d", i)
		conn, err := grpc.NewClient("passthrough:///"+b.cfg.Listen, grpc.WithTransportCredentials(credentials.NewTLS(ca.Keys(auth.Launcher, name).Client(auth.Manager, "m"))))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		mine := *b
		mine.conn, mine.api = conn, rpc.NewManagerClient(conn)
		eventually(t, name+" joins", func() bool { _, err = mine.tryLauncher(name, 1, false); return err == nil })
	}
	ann := ca.Keys(auth.User, "ann")
	for _, path := range []string{"/livez", "/readyz", "/metrics"} {
		eventually(t, path+" answers", func() bool { return answers(ann, "https://"+b.http+path) })
	}
	if n := strings.Count(b.log.String(), "waited longest"); n == 0 || n > 100 {
		t.Errorf("the log has %d lines of the attack", n)
	}
}

func answers(keys *certs.Keys, url string) bool {
	web := &http.Client{Timeout: waitMax, Transport: &http.Transport{TLSClientConfig: keys.Client(auth.Manager, "m"), DisableKeepAlives: true}}
	answer, err := web.Get(url)
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// A user's connections are bounded, and what he closes he may open again; others have their own.
func TestConnectionsOfAUserAreBounded(t *testing.T) {
	b, ca := newClosedWith(t, func(c *Config) { c.Limits = connlimit.Limits{Principal: 16} })
	open := func(user string) error {
		config := ca.Keys(auth.User, user).Client(auth.Manager, "m")
		config.NextProtos = []string{"h2"}
		c, err := (&tls.Dialer{Config: config}).DialContext(b.ctx(), "tcp", b.cfg.Listen)
		if err != nil {
			return err
		}
		t.Cleanup(func() { c.Close() })
		if err := c.SetReadDeadline(time.Now().Add(waitMax)); err != nil {
			return err
		}
		_, err = c.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
		if err == nil {
			_, err = c.Read(make([]byte, 1)) // its settings
		}
		return err
	}
	for i := range 16 {
		if err := open("bob"); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
	}
	if err := open("bob"); err == nil {
		t.Error("bob has one more than he may")
	}
	if err := open("eve"); err != nil {
		t.Errorf("eve: %v", err)
	}
}

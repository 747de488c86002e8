package connlimit

import (
	"context"
	"net"
	"net/http"
)

type connKey struct{}

// Attach makes the table follow the connections of an HTTP server. The server must serve a listener
// of the table (Listen) and have Requests around its handler.
func (t *Table) Attach(s *http.Server) {
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, Of(c)) }
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if of := Of(c); of != nil && (state == http.StateActive || state == http.StateIdle) {
			t.change(of, func() {
				of.active = state == http.StateActive
				of.worked = of.worked && of.active
			})
		}
	}
}

// change changes a connection's state, and lets it wait or not by that state. A request that has
// not arrived wholly is not active: a client that sends a byte now and then waits.
func (t *Table) change(c *Conn, do func()) {
	t.mu.Lock()
	do()
	var evicted *Conn
	switch busy := c.requests > 0 || c.active && c.worked; {
	case c.closed:
	case busy:
		t.leave(c)
	case c.place == nil:
		evicted = t.wait(c)
	}
	t.mu.Unlock()
	t.cut(evicted)
}

// Asker returns a request's principal and purpose.
type Asker struct {
	Principal func(*http.Request) string                               // "": no principal; the request counts for its address
	Health    func(*http.Request) bool                                 // reports a health request; nil: none is
	Refuse    func(w http.ResponseWriter, r *http.Request, why string) // answers refused requests with 503; nil: in plain text
}

// Requests bounds the active requests by principal or address. Health requests have their own
// bound, so they are answered under any load.
func (t *Table) Requests(next http.Handler, ask Asker) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := r.Context().Value(connKey{}).(*Conn)
		if c == nil { // a test serves without a listener of the table
			next.ServeHTTP(w, r)
			return
		}
		done, err := t.beginRequest(c, ask.Principal(r), ask.Health != nil && ask.Health(r))
		defer done()
		switch {
		case err == nil:
			next.ServeHTTP(w, r)
		case ask.Refuse == nil:
			refusal(w)
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		default:
			refusal(w)
			ask.Refuse(w, r, err.Error())
		}
	})
}

// refusal asks the client to retry later, on another connection.
func refusal(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "5")
	w.Header().Set("Connection", "close")
}

// beginRequest counts a request until done is called. The caller calls done after an error too.
func (t *Table) beginRequest(c *Conn, principal string, health bool) (done func(), err error) {
	holder := ""
	t.change(c, func() {
		c.requests++
		c.worked = true
		if health && t.health < healthMax {
			t.health++
			return
		}
		health = false
		holder, err = t.acquireSlot(principal, c.from)
	})
	if err != nil {
		t.log.Warn("a request is refused", "from", c.RemoteAddr(), "error", err)
	}
	return func() {
		t.change(c, func() {
			c.requests--
			if health {
				t.health--
			}
			if holder != "" {
				t.give(holder)
			}
		})
	}, err
}

package connlimit

import (
	"context"
	"net"
	"net/http"
)

type connKey struct{}

// Attach has the table follow the connections of an HTTP server, which is to serve a listener of
// the table (Listen) and to have Requests around its handler.
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

// change changes what a connection does, and has it wait or not as that says. A request that has not
// arrived wholly is not under way: whoever sends a byte now and then waits.
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

// Asker says of requests who makes them, and what they are for.
type Asker struct {
	Principal func(*http.Request) string                               // "": nobody proved; the request is its address's
	Health    func(*http.Request) bool                                 // whether it asks for health alone; nil: none does
	Refuse    func(w http.ResponseWriter, r *http.Request, why string) // answers what is refused with 503; nil: in plain text
}

// Requests bounds the requests under way by principal or address. Those for health are bounded by
// themselves, so that they are answered whatever else goes on.
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

// refusal has whoever asked come back later, on another connection.
func refusal(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "5")
	w.Header().Set("Connection", "close")
}

// beginRequest counts a request until done is called, which is to be called after an error as well.
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

package rest

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// A stream sends topics and revisions, at most one event of each a second, and continues for a
// reconnecting client. A stream beyond the bound is refused, with when to retry, and other requests
// are answered; the end of one makes room.
func TestStreamsAreBounded(t *testing.T) {
	w := newWorld(t)
	w.job(1, "ann", 1)
	w.service.printed = "a line\n"
	for _, c := range []struct {
		path       string
		room, code int
	}{
		{"/events", 0, 503},
		{"/jobs/job-1/attempts/attempt-1/log?follow=true", 0, 503},
		{"/jobs/job-1/attempts/attempt-1/log", 0, 200},
		{"/cluster", 0, 200},
		{"/jobs/job-1/attempts/attempt-1/log?follow=true", 1, 200},
		{"/events", 1, 200},
	} {
		before := int64(streamsMax - c.room)
		w.server.open.Store(before)
		ctx, cancel := context.WithCancel(t.Context())
		if c.room > 0 {
			cancel() // so that the stream ends as soon as it is open
		}
		answer := httptest.NewRecorder()
		w.mux.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, "GET", Root+c.path, nil))
		cancel()
		if refused := answer.Code == 503; answer.Code != c.code || refused != (answer.Header().Get("Retry-After") != "") || refused != (answer.Header().Get("Connection") == "close") || w.server.open.Load() != before {
			t.Errorf("%s with room for %d: %d %v %s, and %d are open", c.path, c.room, answer.Code, answer.Header(), answer.Body, w.server.open.Load())
		}
	}
}

func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.job(1, "ann", 3)
		stream := func(last string, during func(), most time.Duration) string {
			ctx, cancel := context.WithTimeout(t.Context(), most)
			defer cancel()
			r := httptest.NewRequestWithContext(ctx, "GET", Root+"/events?job=job-1", nil)
			if last != "" {
				r.Header.Set("Last-Event-ID", last)
			}
			answer := httptest.NewRecorder()
			go during()
			w.mux.ServeHTTP(answer, r)
			if got := answer.Header().Get("Content-Type"); got != "text/event-stream" {
				t.Errorf("it is %s", got)
			}
			return answer.Body.String()
		}
		text := stream("", func() {
			for range 50 { // in a second
				time.Sleep(20 * time.Millisecond)
				w.job(1, "ann", 3)
			}
		}, 10*time.Second)
		if n := strings.Count(text, "event: job\n"); n < 2 || n > 3 {
			t.Errorf("%d events of a second's changes:\n%s", n, text)
		}
		lines := strings.Split(strings.TrimSpace(text), "\n")
		last := ""
		for _, l := range lines {
			if id, ok := strings.CutPrefix(l, "id: "); ok {
				last = id
			}
		}
		if text := stream(last, func() {}, 10*time.Second); strings.Contains(text, "event:") {
			t.Errorf("who knows all is told\n%s", text)
		}
		s := scheduler.Status{Queue: []scheduler.Queued{{Job: 1}}}
		for _, x := range []struct{ topic, change string }{{"queue", "the order"}, {"pools", "a pool"}, {"policy", "a fact"}} {
			switch x.topic {
			case "pools":
				s.Pools = []scheduler.PoolStatus{{Name: "a"}}
			case "policy":
				s.Facts = []scheduler.Property{{Name: "b"}}
			}
			text := stream(last, func() {
				time.Sleep(time.Second)
				for range 5 { // the same is sent repeatedly
					w.cache.UpdateStatus("", 0, time.Now(), s)
					time.Sleep(time.Second)
				}
			}, 10*time.Second)
			if strings.Count(text, "event: ") != 1 || !strings.Contains(text, "event: "+x.topic+"\n") {
				t.Errorf("of %s is told\n%s", x.change, text)
			}
			last, _, _ = strings.Cut(strings.TrimPrefix(text, "id: "), "\n")
		}
		w.server.needs.Policy = overview{1} // it failed again, and the earlier problem is gone
		text = stream(last, func() {}, time.Second/2)
		if strings.Count(text, "event: ") != 1 || !strings.Contains(text, "event: policy\n") {
			t.Errorf("of another problem is told\n%s", text)
		}
		last, _, _ = strings.Cut(strings.TrimPrefix(text, "id: "), "\n")
		if text := stream("of another life", func() {}, time.Second); !strings.Contains(text, "id: "+last) {
			t.Errorf("who knows nothing of this life is told\n%s", text)
		}
		w.server.streams.Store(5*60 - 1) // so that each stream has an event a minute
		text = stream("", func() {
			for range 100 {
				time.Sleep(time.Second)
				w.job(1, "ann", 3)
			}
		}, time.Minute+eventIdle/2)
		if events, still := strings.Count(text, "event: job\n"), strings.Count(text, ": nothing new\n"); events != 2 || still < 3 {
			t.Errorf("while many look, one is told %d events, and %d times that the stream goes on:\n%s", events, still, text)
		}
		w.server.streams.Store(0)
		began := time.Now()
		stream("", func() {}, time.Hour) // so that the receiver authenticates again
		if took := time.Since(began); took < eventsMax || took > eventsMax+eventIdle {
			t.Errorf("a stream goes on for %v, want %v", took, eventsMax)
		}
	})
}

// One user's streams leave room for others'.
func TestStreamsOfAUserAreBounded(t *testing.T) {
	w := newWorld(t)
	w.server.needs.UserStreams = 1
	ask := func(user string) int {
		ctx, cancel := context.WithCancel(auth.With(t.Context(), auth.Principal{Kind: auth.User, Name: user, Proof: auth.Certificate}))
		cancel()
		answer := httptest.NewRecorder()
		w.mux.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, "GET", Root+"/events", nil))
		return answer.Code
	}
	if !w.server.byUser.acquireStream("ann", 1) {
		t.Fatal("ann has no stream")
	}
	if code := ask("ann"); code != 503 {
		t.Errorf("a second stream of ann: %d", code)
	}
	if code := ask("bob"); code != 200 {
		t.Errorf("a stream of bob: %d", code)
	}
	w.server.byUser.give("ann")
	if code := ask("ann"); code != 200 {
		t.Errorf("ann's stream after the other ended: %d", code)
	}
}

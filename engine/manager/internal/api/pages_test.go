package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// deadlined is an answer that notes until when the request may come.
type deadlined struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (d *deadlined) SetReadDeadline(t time.Time) error {
	d.until = t
	return nil
}

// The time for a request to arrive is bounded. A complete request is not taken for gone while it
// waits for the policy: the server ends a request whose connection can't be read any more.
func TestARequestThatHasComeMayWait(t *testing.T) {
	for _, body := range []string{"", "price"} {
		w := &deadlined{ResponseRecorder: httptest.NewRecorder()}
		before := time.Now()
		q, code, err := asked(w, httptest.NewRequest(http.MethodPost, "/scheduler?x", strings.NewReader(body)))
		if err != nil || string(q.Body) != body || q.Path != "/" || w.until.Before(before.Add(pageAnswerMax)) {
			t.Errorf("%q: %d, %v, until %v", q.Body, code, err, w.until.Sub(before))
		}
	}
	w := &deadlined{ResponseRecorder: httptest.NewRecorder()}
	after := time.Now().Add(pageReadMax)
	_, code, err := asked(w, httptest.NewRequest(http.MethodPost, "/scheduler?x", strings.NewReader(strings.Repeat("x", 1<<20))))
	if err == nil || code != http.StatusRequestEntityTooLarge || w.until.Before(after) || w.until.After(time.Now().Add(pageReadMax)) {
		t.Errorf("one that is too large: %d, %v, until %v", code, err, w.until)
	}
}

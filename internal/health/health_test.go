package health

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestPage(t *testing.T) {
	well := Check{Name: "core", Wrong: func(context.Context) error { return nil }}
	full := Check{Name: "log", Wrong: func(context.Context) error { return errors.New("the disk\nis full") }}
	noted := Check{Name: "policy", Wrong: well.Wrong, Note: func(context.Context) string { return "another\ndecides" }}
	silent := Check{Name: "policy", Wrong: well.Wrong, Note: func(context.Context) string { return "" }}
	for _, c := range []struct {
		query  string
		checks []Check
		want   string
	}{
		{"", nil, "200 ok\n"},
		{"?verbose", nil, "200 readyz check passed\n"},
		{"", []Check{well}, "200 ok\n"},
		{"?verbose", []Check{well}, "200 [+]core ok\nreadyz check passed\n"},
		{"?verbose", []Check{well, noted}, "200 [+]core ok\n[+]policy ok: another decides\nreadyz check passed\n"},
		{"?verbose", []Check{silent}, "200 [+]policy ok\nreadyz check passed\n"},
		{"", []Check{noted}, "200 ok\n"},
		{"", []Check{well, full}, "503 the disk is full\n"},
		{"?verbose=1", []Check{well, full}, "503 [+]core ok\n[-]log failed: the disk is full\nreadyz check failed\n"},
	} {
		w := httptest.NewRecorder()
		Page("readyz", c.checks...).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz"+c.query, nil))
		if got := fmt.Sprintf("%d %s", w.Code, w.Body); got != c.want {
			t.Errorf("%q of %d checks: %q, want %q", c.query, len(c.checks), got, c.want)
		}
	}
}

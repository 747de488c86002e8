package rest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What an attempt printed is read whole, in ranges as RFC 9110 has them, and as it grows as RFC 8673 does.
func TestRangesOfLogs(t *testing.T) {
	w := newWorld(t)
	var all strings.Builder
	for i := range 10 {
		fmt.Fprintf(&all, "line %d\n", i)
	}
	text := all.String() // 70 bytes
	for _, c := range []struct {
		span, query  string
		goesOn       bool
		code         int
		contentRange string
		want         string
	}{
		{"", "", false, 200, "", text},
		{"bytes=0-6", "", false, 206, "bytes 0-6/70", text[:7]},
		{"bytes=7-", "", false, 206, "bytes 7-69/70", text[7:]},
		{"BYTES = 7-7", "", false, 206, "bytes 7-7/70", text[7:8]},
		{"bytes=63-1000", "", false, 206, "bytes 63-69/70", text[63:]},
		{"bytes=-7", "", false, 206, "bytes 63-69/70", text[63:]},
		{"bytes=-1000", "", false, 206, "bytes 0-69/70", text},
		{"bytes=-7", "", true, 206, "bytes 63-69/*", text[63:]},
		{"bytes=70-", "", false, 416, "bytes */70", ""},
		{"bytes=70-", "?follow=true", false, 416, "bytes */70", ""},
		{"bytes=99999999999999999999-", "", false, 416, "bytes */70", ""},
		{"bytes=-0", "", false, 416, "bytes */70", ""},
		{"bytes=7-6", "", false, 200, "", text},
		{"bytes=1-2,5-6", "", false, 200, "", text},
		{"lines=1-2", "", false, 200, "", text},
		{"bytes=a-b", "", false, 200, "", text},
		{"", "?follow=true", true, 200, "", text + "and more\n"},
		{"bytes=63-", "?follow=true", true, 206, "bytes 63-9007199254740991/*", text[63:] + "and more\n"},
		{"bytes=70-", "?follow=true", true, 206, "bytes 70-9007199254740991/*", "and more\n"},
		{"bytes=63-9007199254740991", "?follow=true", true, 206, "bytes 63-9007199254740991/*", text[63:] + "and more\n"},
		{"bytes=63-999", "?follow=true", true, 206, "bytes 63-999/*", text[63:] + "and more\n"},
		{"bytes=63-999", "?follow=true", false, 206, "bytes 63-69/70", text[63:]},
		{"bytes=63-9007199254740991", "", false, 206, "bytes 63-69/70", text[63:]},
	} {
		w.service.printed, w.service.goesOn = text, c.goesOn
		w.job(1, "ann", 1)
		r := httptest.NewRequest("GET", "/api/v1/jobs/job-1/attempts/attempt-1/log"+c.query, nil)
		if c.span != "" {
			r.Header.Set("Range", c.span)
		}
		a := w.do(r, nil)
		if a.StatusCode != c.code || a.Header.Get("Content-Range") != c.contentRange || c.code != 416 && a.Text != c.want {
			t.Errorf("%q%s: %d %q %q", c.span, c.query, a.StatusCode, a.Header.Get("Content-Range"), a.Text)
		}
		if h := a.Header; h.Get("X-Content-Type-Options") != "nosniff" || c.code != 416 && h.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%q: %v", c.span, h)
		}
	}
	r := httptest.NewRequest("GET", "/api/v1/jobs/job-1/attempts/attempt-1/log", nil)
	r.Header.Set("Range", "bytes=1-2")
	r.Header.Set("If-Range", `"x"`)
	if a := w.do(r, nil); a.StatusCode != http.StatusOK || !strings.HasPrefix(a.Text, text) {
		t.Errorf("with If-Range: %d %q", a.StatusCode, a.Text)
	}
	r = httptest.NewRequest("HEAD", "/api/v1/jobs/job-1/attempts/attempt-1/log", nil)
	r.Header.Set("Range", "bytes=1-2")
	if a := w.do(r, nil); a.StatusCode != http.StatusOK || a.Header.Get("Content-Range") != "" {
		t.Errorf("the head of a range: %d %v", a.StatusCode, a.Header)
	}
	if a := w.ask("GET", "/api/v1/jobs/job-1/attempts/attempt-2/log", "", nil); a.StatusCode != http.StatusNotFound {
		t.Errorf("of an attempt that is not there: %d", a.StatusCode)
	}
}

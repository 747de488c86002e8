package rest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// site is a configuration that records requested changes. A text with "mistake" in it is invalid.
type site struct{ asked []string }

var hash = strings.Repeat("0123456789abcdef", 4)

func (s *site) Settings(context.Context, *wire.Empty) (*wire.SettingsReply, error) {
	return &wire.SettingsReply{File: "site.yaml", Text: []byte{}, Tag: hash, Version: 3, ReadOnly: "it is read-only", Settings: []*wire.Setting{{Key: "a", From: "default"}, {Key: "b", Value: "1", From: "X", Next: "", NextFrom: "site.yaml:2", Restart: true, Fixed: true}}}, nil
}

func (s *site) DiffSettings(_ context.Context, q *wire.SettingsText) (*wire.SettingsDiff, error) {
	d := &wire.SettingsDiff{Tag: hash}
	if strings.Contains(string(q.Text), "mistake") {
		d.Problems = []*wire.SettingsProblem{{File: "site.yaml", Line: 7, Text: "a mistake: mend it"}}
	} else if !q.Check {
		d.Lines = []*wire.DiffLine{{Kind: "same", Old: 1, New: 1}, {Kind: "removed", Old: 2, Text: "x"}, {Kind: "added", New: 2, Text: "y", Unended: true}}
		d.Keys, d.Truncated = []*wire.DiffKey{{Key: "b", Before: "1", From: "site.yaml:2", Restart: true}}, true
	}
	return d, nil
}

func (s *site) ApplySettings(_ context.Context, q *wire.ApplyRequest) (*wire.SettingsVersion, error) {
	s.asked = append(s.asked, fmt.Sprintf("%q %d %.4s %s", q.Text, q.Version, q.Tag, q.Comment))
	switch {
	case q.Tag != hash:
		return nil, status.Error(codes.Aborted, "the file has changed")
	case q.Version == 9:
		return nil, status.Error(codes.NotFound, "there is no such version")
	}
	return &wire.SettingsVersion{Number: 4, At: int64(base), Who: "ann", By: "gw", Comment: q.Comment, Origin: "applied", Before: hash, Tag: strings.Repeat("f", 64)}, nil
}

func (s *site) SettingsVersions(_ context.Context, q *wire.VersionsRequest) (*wire.VersionsReply, error) {
	if q.Version == 9 {
		return nil, status.Error(codes.NotFound, "there is no such version")
	}
	v := &wire.SettingsVersion{Number: max(q.Version, 1), At: int64(base), Origin: "found at a start", Tag: hash}
	if q.Version != 0 {
		v.Text = []byte("text\n")
	}
	return &wire.VersionsReply{Versions: []*wire.SettingsVersion{v}}, nil
}

// Each route of the configuration answers as the document says, and forwards its request, with the
// ETag of the text that was seen.
func TestSettings(t *testing.T) {
	w, s := newWorld(t), &site{}
	w.server.needs.Settings = s
	var now restapi.Settings
	if r := w.ask("GET", "/api/v1/settings", "", &now); r.Header.Get("ETag") != `"`+hash+`"` || *now.Text != "" || now.Version != 3 || *now.ReadOnly != "it is read-only" || now.Settings[0].Next != nil || *now.Settings[1].Next != "" || !now.Settings[1].Fixed {
		t.Errorf("%+v %s", now, r.Text)
	}
	var verdict restapi.SettingsVerdict
	if w.ask("POST", "/api/v1/settings/check", `{"text":"fine"}`, &verdict); len(verdict.Problems) != 0 {
		t.Errorf("%+v", verdict)
	}
	if w.ask("POST", "/api/v1/settings/check", `{"text":"mistake"}`, &verdict); verdict.Problems[0] != (restapi.SettingsProblem{File: "site.yaml", Line: 7, Text: "a mistake: mend it"}) {
		t.Errorf("%+v", verdict)
	}
	var d restapi.SettingsDiff
	if w.ask("POST", "/api/v1/settings/diff", `{"text":"fine"}`, &d); len(d.Lines) != 3 || *d.Lines[1].Old != 2 || d.Lines[1].New != nil || !*d.Lines[2].Unended || !d.Truncated || !d.Keys[0].Restart {
		t.Errorf("%+v", d)
	}
	if w.ask("POST", "/api/v1/settings/diff", `{"text":"mistake"}`, &d); len(d.Problems) != 1 || len(d.Lines) != 0 {
		t.Errorf("%+v", d)
	}
	large := strings.Repeat(`\n`, 1<<20)
	for _, x := range []struct {
		method, path, body, tag string
		want                    int
	}{
		{"PUT", "", `{"text":"a\n","comment":"why"}`, hash, 200},
		{"PUT", "", `{"text":"` + large + `"}`, hash, 200},
		{"PUT", "", `{"text":"x` + large + `"}`, hash, 400},
		{"PUT", "", `{"text":"` + strings.Repeat("x", TextBodyMax) + `"}`, hash, 413},
		{"PUT", "", `{"text":"a","coment":"why"}`, hash, 400},
		{"PUT", "", `{}`, hash, 400},
		{"PUT", "", `{"text":"a"}`, strings.Repeat("0", 64), 412},
		{"PUT", "", `{"text":"a"}`, "", 400},
		{"PUT", "", `{"text":"a"}`, "x", 400},
		{"POST", "/versions/2/rollback", `{"comment":"why"}`, hash, 200},
		{"POST", "/versions/2/rollback", "", hash, 200},
		{"POST", "/versions/2/rollback", "", "", 400},
		{"POST", "/versions/9/rollback", "", hash, 404},
		{"POST", "/versions/0/rollback", "", hash, 400},
		{"GET", "/versions/2", "", "", 200},
		{"GET", "/versions/9", "", "", 404},
		{"GET", "/versions/x", "", "", 400},
		{"GET", "/versions", "", "", 200},
	} {
		s.asked = nil
		r := httptest.NewRequest(x.method, "/api/v1/settings"+x.path, strings.NewReader(x.body))
		r.Header.Set("Content-Type", "application/json")
		if x.tag != "" {
			r.Header.Set("If-Match", `"`+x.tag+`"`)
		}
		a := w.do(r, nil)
		if a.StatusCode != x.want || (x.method != "GET") != (len(s.asked) == 1) && x.want < 400 {
			t.Errorf("%s %s %.40s: %d %s, asked %.80q", x.method, x.path, x.body, a.StatusCode, a.Text, s.asked)
		}
		if strings.Contains(x.body, "why") && x.want == 200 && (a.Header.Get("ETag") != `"`+strings.Repeat("f", 64)+`"` || !strings.HasSuffix(s.asked[0], " 0123 why")) {
			t.Errorf("%s: %v, asked %q", x.body, a.Header, s.asked)
		}
	}
}

// The audit's pages have each matching line once; an invalid cursor is refused.
func TestAudit(t *testing.T) {
	w := newWorld(t)
	log, err := audit.Open(audit.Options{Folder: filepath.Join(t.TempDir(), "audit"), FileBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() }) // it is read alone
	w.server.needs.Audit = log
	start := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	var all []string
	for i := range 30 {
		what := fmt.Sprintf("job-%d", i)
		if err := log.Write(audit.Line{Time: start.Add(time.Duration(i) * time.Minute).Format(time.RFC3339Nano), Who: "ann", Groups: []string{"g"}, Proof: "certificate", Method: "Kill", What: what, Result: audit.Done}); err != nil {
			t.Fatal(err)
		}
		all = append(all, what)
	}
	slices.Reverse(all)
	for query, want := range map[string][]string{"": all, "&who=ann&what=Kill&result=ok": all, "&who=bob": nil, "&since=2026-03-01T10:20:00Z&until=2026-03-01T10:25:00Z": all[5:10], "&text=job-29": all[:1]} {
		var got []string
		cursor := ""
		for {
			var l restapi.AuditList
			w.ask("GET", "/api/v1/audit?limit=7"+query+cursor, "", &l)
			for _, x := range l.Lines {
				got = append(got, *x.What)
			}
			if l.Truncated != (l.Next != nil) {
				t.Errorf("%+v", l)
			}
			if l.Next == nil {
				break
			}
			cursor = "&cursor=" + *l.Next
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", query, got)
		}
	}
	for _, wrong := range []string{"cursor=x", "cursor=1", "cursor=1-2-3", "cursor=0-1", "cursor=1--1", "cursor=-1-1", "result=odd", "since=now", "since=2026-03-02T00:00:00Z&until=2026-03-01T00:00:00Z", "since=2026-03-01T00:00:00Z&until=2026-03-01T00:00:00Z", "limit=0", "whom=ann"} {
		if r := w.ask("GET", "/api/v1/audit?"+wrong, "", nil); r.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d %s", wrong, r.StatusCode, r.Text)
		}
	}
}

package pages

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/internal/browsertest"
)

// written is the text of a stub's file, and tagOf its ETag.
func (s *stub) written() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == "" {
		s.file = "\nname: '" + s.name + "'\n"
	}
	return s.file
}

func tagOf(text string) string { return "tag of " + url.QueryEscape(text) }

func (s *stub) GetSettings(context.Context, restapi.GetSettingsRequestObject) (restapi.GetSettingsResponseObject, error) {
	file := s.written()
	tag := tagOf(file)
	return restapi.GetSettings200JSONResponse{Headers: restapi.GetSettings200ResponseHeaders{ETag: &tag}, Body: restapi.Settings{
		File: s.name, Version: 2, Text: &file, Problem: &s.name, ReadOnly: s.readOnly,
		Settings: []restapi.Setting{
			{Key: s.name, Value: s.name, From: "HAMADRYAD_X", Fixed: true, Restart: true}, {Key: "b", Value: "2", From: s.name + ":3", Next: &s.name, NextFrom: &s.name}, {Key: "c", Value: "3", From: "default"},
		},
	}}, nil
}

func (s *stub) versionOf(n int64) restapi.SettingsVersion {
	return restapi.SettingsVersion{Version: n, Time: base, Who: &s.name, By: &s.name, Comment: &s.name, Origin: "applied", Sha256: strings.Repeat("0123456789abcdef", 4)}
}

func (s *stub) ListSettingsVersions(context.Context, restapi.ListSettingsVersionsRequestObject) (restapi.ListSettingsVersionsResponseObject, error) {
	return restapi.ListSettingsVersions200JSONResponse{Versions: []restapi.SettingsVersion{s.versionOf(2), {Version: 1, Time: base, Origin: "found at a start"}}, Total: 2}, nil
}

func (s *stub) GetSettingsVersion(_ context.Context, q restapi.GetSettingsVersionRequestObject) (restapi.GetSettingsVersionResponseObject, error) {
	v := s.versionOf(q.Version)
	v.Text = &s.name
	return restapi.GetSettingsVersion200JSONResponse(v), nil
}

func (s *stub) DiffSettings(_ context.Context, q restapi.DiffSettingsRequestObject) (restapi.DiffSettingsResponseObject, error) {
	if strings.Contains(q.Body.Text, "mistake") {
		return restapi.DiffSettings200JSONResponse{Body: restapi.SettingsDiff{Problems: []restapi.SettingsProblem{{File: s.name, Line: 3, Text: "a mistake: " + s.name}}}}, nil
	}
	one := 1
	return restapi.DiffSettings200JSONResponse{Body: restapi.SettingsDiff{
		Lines: []restapi.SettingsLine{{Kind: "removed", Old: &one, Text: s.name}, {Kind: "added", New: &one, Text: s.name}, {Kind: "same", Old: &one, New: &one, Text: "x"}},
		Keys:  []restapi.SettingsKey{{Key: s.name, Before: s.name, After: s.name, BeforeFrom: s.name, From: s.name}},
	}}, nil
}

func (s *stub) CheckSettings(context.Context, restapi.CheckSettingsRequestObject) (restapi.CheckSettingsResponseObject, error) {
	return restapi.CheckSettings200JSONResponse{Problems: []restapi.SettingsProblem{}}, nil
}

func (s *stub) ApplySettings(_ context.Context, q restapi.ApplySettingsRequestObject) (restapi.ApplySettingsResponseObject, error) {
	if q.Params.IfMatch != tagOf(s.written()) {
		return nil, status.Error(codes.Aborted, "the file has changed: "+s.name)
	}
	s.change("apply " + q.Body.Text + " because " + *q.Body.Comment)
	s.mu.Lock()
	s.file = q.Body.Text
	s.mu.Unlock()
	return restapi.ApplySettings200JSONResponse{}, nil
}

func (s *stub) RollBackSettings(_ context.Context, q restapi.RollBackSettingsRequestObject) (restapi.RollBackSettingsResponseObject, error) {
	if q.Params.IfMatch != tagOf(s.written()) {
		return nil, status.Error(codes.Aborted, "the file has changed")
	}
	s.change("roll back because " + *q.Body.Comment)
	return restapi.RollBackSettings200JSONResponse{}, nil
}

func (s *stub) ListAudit(_ context.Context, q restapi.ListAuditRequestObject) (restapi.ListAuditResponseObject, error) {
	next := "2-17"
	l := restapi.AuditList{
		Lines: []restapi.AuditLine{{Time: base, Who: s.name, Proof: "certificate", By: &s.name, Method: "Kill", What: &s.name, Before: &s.name, After: &s.name, Result: "refused", Why: &s.name, Address: &s.name}},
		Next:  &next, Truncated: true, Skipped: 1, Damaged: []restapi.AuditDamage{{File: "audit-1.jsonl", Offset: 7}},
	}
	if q.Params.Cursor != nil {
		l = restapi.AuditList{}
	}
	return restapi.ListAudit200JSONResponse(l), nil
}

// posted sends a form, and returns the response without following a redirect.
func posted(t *testing.T, target string, form url.Values) (int, string) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := client.PostForm(target, form)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	return r.StatusCode, readAll(t, r)
}

// A body that is not a form is refused in words and has no effect; neither has a form for an
// unknown job.
func TestWhatIsNoForm(t *testing.T) {
	s := &stub{name: "x"}
	server := serve(t, s, true)
	for _, x := range []struct {
		path, kind, body, says string
		code                   int
	}{
		{"/jobs/job-7/kill", "application/json", `{"reason":"x"}`, "this is for the pages&#39; forms: programs ask below /api/v1", 415},
		{"/settings/check", "text/yaml", "text: x", "programs ask below /api/v1", 415},
		{"/jobs/job-7/kill", formType, "reason=a;b", "%3B for a semicolon", 400},
		{"/jobs/job-7/kill", formType, "reason=%zz", "%25 for a %", 400},
		{"/jobs/job-7/kill", formType, "reason=%ff", "UTF-8", 400},
		{"/jobs/job-7/kill", formType, "reason=" + strings.Repeat("x", formMax), "too large: it may have 16384 bytes", 413},
		{"/jobs/seven/kill", formType, "reason=x", "&#34;seven&#34; is no job", 404},
		{"/jobs/job-0/update", formType, "pool=x", "&#34;job-0&#34; is no job", 404},
	} {
		r, err := http.Post(server+x.path, x.kind, strings.NewReader(x.body))
		if err != nil {
			t.Fatal(err)
		}
		page := readAll(t, r)
		r.Body.Close()
		if r.StatusCode != x.code || !strings.Contains(page, x.says) {
			t.Errorf("%s with %.40s: %d %s", x.path, x.body, r.StatusCode, page)
		}
	}
	if len(s.changes) > 0 {
		t.Errorf("it did %q", s.changes)
	}
}

// A text from the editor's form is checked, compared and applied unchanged, except for line ends,
// which browsers change. A refused text stays in the editor, and a user who sees the newer file may
// apply the text over that.
func TestEditorsForms(t *testing.T) {
	s := &stub{name: evil}
	server := serve(t, s, true)
	old := s.written()
	for what, text := range map[string]string{"a mistake: ": "mistake: <b>", "What it would change": "fine: <b>"} {
		code, page := posted(t, server+"/settings/check", url.Values{"text": {text}, "tag": {tagOf(old)}})
		page = givenBack.ReplaceAllString(page, "")
		if code != http.StatusOK || !strings.Contains(page, what) || strings.Contains(page, "<b>") || strings.Contains(page, "<img") || strings.Contains(page, "\x1b") || strings.Contains(page, "<textarea") {
			t.Errorf("%s: %d\n%s", text, code, page)
		}
	}
	code, page := posted(t, server+"/settings/apply", url.Values{"text": {"mine: 1\r\n"}, "tag": {tagOf("older")}, "comment": {"why"}})
	if code != http.StatusPreconditionFailed || !strings.Contains(page, "Nothing was applied: the file has changed") || !strings.Contains(page, "\nmine: 1\n</textarea>") || !strings.Contains(page, "What it would change") {
		t.Errorf("%d\n%s", code, page)
	}
	for _, form := range []url.Values{{"text": {"\xff"}}, {"text": {"x"}, "comment": {strings.Repeat("x", textMax+1)}}} {
		if code, _ := posted(t, server+"/settings/apply", form); code != http.StatusBadRequest {
			t.Errorf("%.20v: %d", form, code)
		}
	}
	if code, _ := posted(t, server+"/settings/apply", url.Values{"text": {strings.Repeat("x", textFormMax)}}); code != http.StatusRequestEntityTooLarge {
		t.Errorf("a large text: %d", code)
	}
	if code, _ := posted(t, server+"/settings/apply", url.Values{"text": {"mine: 1\r\n"}, "tag": {tagOf(old)}, "comment": {"why"}}); code != http.StatusSeeOther {
		t.Error(code)
	}
	s.file = "a: 1\r\n"
	if code, _ := posted(t, server+"/settings/apply", url.Values{"text": {"a: 2\r\n"}, "tag": {tagOf(s.file)}}); code != http.StatusSeeOther {
		t.Error(code)
	}
	if want := []string{"apply mine: 1\n because why", "apply a: 2\r\n because "}; !slices.Equal(s.changes, want) {
		t.Errorf("changed was %q", s.changes)
	}
	why := "it is mounted read-only"
	for _, s := range []*stub{{name: "fine", readOnly: &why}, {name: "fine"}} {
		if _, _, page := get(t, serve(t, s, s.readOnly != nil)+"/settings"); strings.Contains(page, "<textarea") || s.readOnly != nil && !strings.Contains(page, why) {
			t.Errorf("it can be edited, or does not say why not:\n%s", page)
		}
	}
}

// In a browser a text is edited, checked and applied, and an older one is gone back to. The first
// line of a text stays when it is empty.
func TestSettingsInTheBrowser(t *testing.T) {
	s := &stub{name: "fine"}
	server := serve(t, s, true)
	b := browsertest.Open(t)
	b.Do(chromedp.Navigate(server+"/settings"), chromedp.SendKeys("#text", "more: 1"), chromedp.SendKeys(`input[name="comment"]`, "a try"))
	b.Do(chromedp.Click(`.editor button:not(.danger)`), chromedp.WaitVisible(".diff"), chromedp.Click(`.editor .danger`), chromedp.WaitNotPresent(".diff"), chromedp.WaitVisible(`a[href$="settings/versions/1"]`))
	b.Do(chromedp.Click(`a[href$="settings/versions/1"]`), chromedp.WaitVisible(`form.change`), chromedp.SendKeys(`input[name="comment"]`, "it was worse"), chromedp.Click(`form.change .danger`), chromedp.WaitVisible("#text"))
	if want := []string{"apply more: 1\nname: 'fine'\n because a try", "roll back because it was worse"}; !slices.Equal(s.changes, want) {
		t.Errorf("changed was %q", s.changes)
	}
}

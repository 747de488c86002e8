package pages

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/internal/rest"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

// textFormMax bounds a form with a text of the configuration, bytes: each of the text's may take
// three.
const textFormMax = 4 << 20

// settingsPage is the configuration, and the editor of its file.
type settingsPage struct {
	restapi.Settings
	Tag      string // ETag of the file's text
	All      bool   // default values are shown, too
	Written  string // the editor's text
	Comment  string
	Edits    bool   // the caller may change it here
	Failed   string // why it was not applied
	Checked  bool
	Problems []restapi.SettingsProblem
	Diff     *restapi.SettingsDiff
	Versions []restapi.SettingsVersion
}

func (s *Server) settings(r *http.Request) (string, any, error) {
	p, err := s.findSettings(r)
	return "Settings", p, err
}

func (s *Server) findSettings(r *http.Request) (*settingsPage, error) {
	a, err := s.needs.Shown.GetSettings(r.Context(), restapi.GetSettingsRequestObject{})
	if err != nil {
		return nil, err
	}
	now := a.(restapi.GetSettings200JSONResponse)
	p := &settingsPage{Settings: now.Body, All: r.URL.Query().Get("all") != "", Edits: s.needs.Actions && now.Body.Text != nil && now.Body.ReadOnly == nil}
	if now.Headers.ETag != nil {
		p.Tag = *now.Headers.ETag
	}
	if now.Body.Text != nil {
		p.Written = *now.Body.Text
	}
	v, err := s.needs.Shown.ListSettingsVersions(r.Context(), restapi.ListSettingsVersionsRequestObject{})
	if err != nil {
		return nil, err
	}
	p.Versions = v.(restapi.ListSettingsVersions200JSONResponse).Versions
	return p, nil
}

// edited reads the editor's form: the current page with the editor's text.
func (s *Server) edited(w http.ResponseWriter, r *http.Request) (*settingsPage, error) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(2 * rest.ApplyMax)) // a server in a test may have none
	if err := form(w, r, textFormMax); err != nil {
		return nil, err
	}
	comment, err := text(r, "comment")
	if err != nil {
		return nil, err
	}
	written := strings.ReplaceAll(r.PostFormValue("text"), "\r\n", "\n") // browsers end lines so
	if !utf8.ValidString(written) {
		return nil, status.Error(codes.InvalidArgument, "text: it is not UTF-8")
	}
	p, err := s.findSettings(r)
	if err != nil {
		return nil, err
	}
	if p.Text != nil && strings.Contains(*p.Text, "\r\n") {
		written = strings.ReplaceAll(written, "\n", "\r\n")
	}
	p.Written, p.Comment = written, comment
	return p, nil
}

// compare adds the mistakes of the editor's text, or the changes that it would make.
func (s *Server) compare(r *http.Request, p *settingsPage) error {
	body := restapi.SettingsText{Text: p.Written}
	a, err := s.needs.Shown.DiffSettings(r.Context(), restapi.DiffSettingsRequestObject{Body: &body})
	if err != nil {
		return err
	}
	d := a.(restapi.DiffSettings200JSONResponse).Body
	if p.Diff = &d; len(d.Problems) > 0 {
		p.Problems, p.Diff = d.Problems, nil
	}
	return nil
}

// checkSettings shows the mistakes of the editor's text, and the changes that it would make.
func (s *Server) checkSettings(w http.ResponseWriter, r *http.Request) {
	p, err := s.edited(w, r)
	if err == nil {
		err = s.compare(r, p)
	}
	if err == nil && len(p.Problems) == 0 {
		body := restapi.SettingsText{Text: p.Written}
		var a restapi.CheckSettingsResponseObject
		if a, err = s.needs.Shown.CheckSettings(r.Context(), restapi.CheckSettingsRequestObject{Body: &body}); err == nil {
			p.Problems = a.(restapi.CheckSettings200JSONResponse).Problems
		}
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	p.Checked = true
	s.write(w, r, http.StatusOK, "settings", "Settings", p)
}

// applySettings applies the editor's text. After a refusal the text stays in the editor, with the
// changes that it would make now.
func (s *Server) applySettings(w http.ResponseWriter, r *http.Request) {
	p, err := s.edited(w, r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	body := restapi.SettingsChange{Text: p.Written, Comment: &p.Comment}
	_, err = s.needs.Shown.ApplySettings(r.Context(), restapi.ApplySettingsRequestObject{Params: restapi.ApplySettingsParams{IfMatch: r.PostFormValue("tag")}, Body: &body})
	if err == nil {
		head(w)
		w.Header().Set("Location", "../settings")
		w.WriteHeader(http.StatusSeeOther)
		return
	}
	s.needs.Failed(r.Context(), err)
	p.Failed = status.Convert(err).Message()
	if wrong := s.compare(r, p); wrong != nil {
		p.Failed += "\n" + status.Convert(wrong).Message()
	}
	s.write(w, r, rest.CodeOf(err), "settings", "Settings", p)
}

// versionPage is a version of the configuration, and what going back to it would change.
type versionPage struct {
	restapi.SettingsVersion
	Tag      string // ETag of the file's text now
	Edits    bool
	Problems []restapi.SettingsProblem
	Diff     *restapi.SettingsDiff
}

// errNoVersion is the error for a path without a version's number.
var errNoVersion = errors.New("a version is a number, such as 3")

func (s *Server) version(r *http.Request) (string, any, error) {
	n, err := strconv.ParseInt(r.PathValue("version"), 10, 64)
	if err != nil || n < 1 {
		return "", nil, status.Error(codes.NotFound, errNoVersion.Error())
	}
	a, err := s.needs.Shown.GetSettingsVersion(r.Context(), restapi.GetSettingsVersionRequestObject{Version: n})
	if err != nil {
		return "", nil, err
	}
	p := versionPage{SettingsVersion: restapi.SettingsVersion(a.(restapi.GetSettingsVersion200JSONResponse))}
	now, err := s.findSettings(r)
	if err != nil {
		return "", nil, err
	}
	if p.Text != nil {
		now.Written = *p.Text
		if err := s.compare(r, now); err != nil {
			return "", nil, err
		}
	}
	p.Tag, p.Edits, p.Problems, p.Diff = now.Tag, now.Edits, now.Problems, now.Diff
	return "Settings, version " + strconv.FormatInt(n, 10), p, nil
}

// rollBack applies a version again.
func (s *Server) rollBack(r *http.Request) error {
	n, err := strconv.ParseInt(r.PathValue("version"), 10, 64)
	if err != nil || n < 1 {
		return status.Error(codes.NotFound, errNoVersion.Error())
	}
	comment, err := text(r, "comment")
	if err != nil {
		return err
	}
	body := restapi.SettingsRollBack{Comment: &comment}
	_, err = s.needs.Shown.RollBackSettings(r.Context(), restapi.RollBackSettingsRequestObject{Version: n, Params: restapi.RollBackSettingsParams{IfMatch: r.PostFormValue("tag")}, Body: &body})
	return err
}

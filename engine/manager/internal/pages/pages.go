// Package pages is the manager's web pages: the REST interface's data as HTML that is readable
// without JavaScript, with forms for changes.
//
//	for pattern, handler := range pages.New(needs).Routes() {
//		mux.Handle(pattern, guard(pattern, handler))
//	}
//
// # Invariants
//
// A page shows its viewer what the REST interface would, and no more. Its URL is its whole state.
// Links are relative, so a proxy may put the pages below any path. GET changes nothing. A browser
// runs only scripts and styles from assets.
package pages

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/internal/pages/charts"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest"
	"github.com/hamadryad/hamadryad/engine/manager/internal/rest/request"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

//go:embed templates/*.html
var texts embed.FS

//go:embed assets/*.css assets/*.js
var files embed.FS

// Shown is the REST interface (rest.Server).
type Shown interface {
	restapi.StrictServerInterface
	// GetWhole returns all data of a job's page at once.
	GetWhole(ctx context.Context, q rest.WholeQuery) (rest.Whole, error)
}

// Needs are the dependencies of the pages.
type Needs struct {
	Shown   Shown
	Actions bool // changes over HTTP are allowed: forms are shown
	// Generation splits a policy's generation, as the command line writes it: the manager's term,
	// and the number of the policy's start in that.
	Generation func(uint64) (term, start uint64)
	// Failed is called for each failed request, before its answer leaves.
	Failed func(ctx context.Context, err error)
}

// Server serves them. Safe for concurrent use.
type Server struct {
	needs Needs
	// templates are parsed when their page is first shown: a manager starts without.
	templates map[string]func() *template.Template
}

// New returns a server.
func New(of Needs) *Server {
	s := &Server{needs: of, templates: map[string]func() *template.Template{}}
	for _, name := range []string{"now", "jobs", "job", "launchers", "launcher", "log", "queue", "pools", "policy", "users", "schedules", "schedule", "settings", "version", "audit", "problem"} {
		s.templates[name] = sync.OnceValue(func() *template.Template {
			return template.Must(template.New("layout.html").Funcs(words).ParseFS(texts, "templates/layout.html", "templates/parts.html", "templates/reasons.html", "templates/"+name+".html"))
		})
	}
	return s
}

// Routes are its handlers, by their patterns.
func (s *Server) Routes() map[string]http.Handler {
	return map[string]http.Handler{
		"GET /{$}":                                s.shown("now", s.now),
		"GET /jobs":                               s.shown("jobs", s.jobs),
		"GET /jobs/{job}":                         s.shown("job", s.job),
		"GET /launchers":                          s.shown("launchers", s.launchers),
		"GET /launchers/{launcher}":               s.shown("launcher", s.launcher),
		"GET /jobs/{job}/attempts/{attempt}/log":  s.shown("log", s.log),
		"GET /queue":                              s.shown("queue", s.queue),
		"GET /pools":                              s.shown("pools", s.pools),
		"GET /policy":                             s.shown("policy", s.policy),
		"GET /users":                              s.shown("users", s.users),
		"GET /schedules":                          s.shown("schedules", s.schedules),
		"GET /schedules/{owner}/{schedule}":       s.shown("schedule", s.schedule),
		"GET /settings":                           s.shown("settings", s.settings),
		"POST /settings/check":                    http.HandlerFunc(s.checkSettings),
		"POST /settings/apply":                    http.HandlerFunc(s.applySettings),
		"GET /settings/versions/{version}":        s.shown("version", s.version),
		"POST /settings/versions/{version}/apply": s.changed(s.rollBack, "../../../settings"),
		"GET /audit":                              s.shown("audit", s.audit),
		"GET /assets/{file}":                      http.HandlerFunc(asset),
		"POST /jobs/{job}/kill":                   s.changed(s.kill, "../{job}"),
		"POST /jobs/{job}/retry":                  s.changed(s.retry, "../{job}"),
		"POST /jobs/{job}/update":                 s.changed(s.update, "../{job}"),
		"POST /launchers/{launcher}/drain":        s.changed(s.drain, "../../launchers"),

		"POST /schedules/{owner}/{schedule}/change": s.changed(s.changeSchedule, "../{schedule}"),
	}
}

// still are the pages that are not refreshed: the user may be writing, and they may have come from
// a form.
var still = []string{"settings", "version"}

// topics are the data of pages, as /api/v1/events calls them: a page is refreshed when one of its
// topics changed. The other pages show data without events, and are refreshed with any.
var topics = map[string]string{
	"now": "jobs launchers policy", "jobs": "jobs", "job": "jobs", "log": "jobs", "launchers": "launchers", "launcher": "launchers jobs",
	"queue": "queue jobs launchers", "pools": "pools jobs", "policy": "policy", "users": "jobs", "schedules": "jobs", "schedule": "jobs", "audit": "jobs launchers policy",
}

// parts map a page to the common link that leads to it, where their names differ.
var parts = map[string]string{"job": "jobs", "log": "jobs", "launcher": "launchers", "schedule": "schedules", "version": "settings"}

// frame is the common layout of all pages.
type frame struct {
	Title   string
	Root    string // the way up to the first page
	Part    string // the link of all pages that leads here, or above
	Actions bool
	Still   bool // it is not refreshed
	Topics  string
	Again   float64 // after how many seconds some of its data can be newer; 0: it is current
	Body    any
}

// shown makes a page of the result of find.
func (s *Server) shown(name string, find func(*http.Request) (title string, body any, err error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := request.Query(r)
		var title string
		var body any
		if err == nil {
			title, body, err = find(r)
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.write(w, r, http.StatusOK, name, title, body)
	})
}

// write sends a page.
func (s *Server) write(w http.ResponseWriter, r *http.Request, code int, name, title string, body any) {
	var text strings.Builder
	f := frame{Title: title, Root: root(r.URL.Path), Part: cmp.Or(parts[name], name), Actions: s.needs.Actions, Topics: topics[name], Still: slices.Contains(still, name), Body: body}
	if later, ok := body.(interface{ refreshAfter() time.Duration }); ok {
		f.Again = later.refreshAfter().Seconds()
	}
	if err := s.templates[name]().Execute(&text, f); err != nil {
		s.needs.Failed(r.Context(), err)
		http.Error(w, "the page can't be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	head(w)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text.String()))
}

// policyOfContent has a browser load and run only this server's own scripts and styles, and no
// script that stands in a page.
const policyOfContent = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// head sets what each answer has.
func head(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Security-Policy", policyOfContent)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-cache")
}

// fail shows why a request failed.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	s.needs.Failed(r.Context(), err)
	code := rest.CodeOf(err)
	s.write(w, r, code, "problem", http.StatusText(code), status.Convert(err).Message())
}

// WriteError shows a page that says why a request failed.
func (s *Server) WriteError(w http.ResponseWriter, r *http.Request, code int, why string) {
	s.write(w, r, code, "problem", http.StatusText(code), why)
}

// root is the relative path from a page to the first one.
func root(of string) string {
	return "./" + strings.Repeat("../", max(0, strings.Count(of, "/")-1))
}

// asset serves a style or script.
func asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	data, err := files.ReadFile(path.Join("assets", path.Base(name)))
	if name == "draw.css" {
		data, err = []byte(charts.Style), nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		http.NotFound(w, r)
		return
	}
	head(w)
	switch path.Ext(name) {
	case ".css":
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
	default:
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	}
	_, _ = w.Write(data)
}

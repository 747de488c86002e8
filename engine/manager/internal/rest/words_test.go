package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/hamadryad/hamadryad/engine/manager/internal/rest/request"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
)

// dateTime is the format of moments, and places are those of parameters in words.
const dateTime = "date-time"

var places = map[string]string{openapi3.ParameterInQuery: "parameter", openapi3.ParameterInPath: "part of the path", openapi3.ParameterInHeader: "header"}

// ofDevelopers are words that mean nothing to users.
var ofDevelopers = []string{
	"schema", "regular expression", "regexp", "nullable", "integer", "invalid", "parse", "strconv", "property", "unsupported", "doesn't match",
	"value is", "value must", "EOF", "marshal", "string", "boolean", "RFC", "error at", "has an error", "pointer", "kin-", "pattern", "minProperties", "%!", "<nil>", "map[", "000000000000001",
}

// refusedInWords asks, and fails unless it is refused in words that name what is wrong.
func (w *world) refusedInWords(r *http.Request, code int, names string) {
	w.Helper()
	told := ""
	w.server.needs.Failed = func(_ context.Context, err error) { told = err.Error() }
	var p restapi.Problem
	w.do(r, &p)
	if p.Status != code || !strings.Contains(p.Detail, names) || told != p.Detail {
		w.Errorf("%s %s %v: %d %q, of which the audit has %q; want %d and %q", r.Method, r.URL, r.Header, p.Status, p.Detail, told, code, names)
	}
	for _, word := range ofDevelopers {
		if strings.Contains(strings.ToLower(strings.ReplaceAll(p.Detail, names, "")), strings.ToLower(word)) {
			w.Errorf("%s %s says %q: %q", r.Method, r.URL, word, p.Detail)
		}
	}
}

// badFor are texts that a parameter or field of a schema does not take, and values of JSON.
func badFor(s *openapi3.Schema) (texts []string, values []any) {
	values = []any{nil, []any{}, map[string]any{"a": 1}}
	if len(s.Enum) > 0 || s.Pattern != "" || s.Format == dateTime {
		texts = []string{"%", "\u202e" + strings.Repeat("no", 100), "2026-02-30T00:00:00Z"}
	}
	switch {
	case s.Type.Is(openapi3.TypeArray):
		texts, _ = badFor(s.Items.Value)
	case s.Type.Is(openapi3.TypeInteger):
		texts = []string{"many", "1.5", "0x10", "-1", "99999999999999999999999", ""}
	case s.Type.Is(openapi3.TypeBoolean):
		texts = []string{"maybe", "2"}
	case s.MaxLength != nil:
		texts = []string{strings.Repeat("ü", int(*s.MaxLength)+1)}
	}
	if s.Type.Is(openapi3.TypeString) {
		values = append(values, 7, 1.5, true)
		for _, t := range texts {
			values = append(values, t)
		}
	}
	switch {
	case s.Type.Is(openapi3.TypeArray):
		values = append(values, 7, "text", map[string]any{}, []any{})
	case s.Type.Is(openapi3.TypeBoolean):
		values = append(values, 1, "true")
	case s.Type.Is(openapi3.TypeNumber):
		values = append(values, *s.Min-1, *s.Max*2, true, "1")
	}
	return texts, values
}

// goodFor is a text that a schema takes.
func goodFor(s *openapi3.Schema) string {
	switch {
	case len(s.Enum) > 0:
		return fmt.Sprint(s.Enum[0])
	case strings.Contains(s.Pattern, "job"):
		return "job-1"
	case strings.Contains(s.Pattern, "attempt"):
		return "attempt-1"
	case strings.Contains(s.Description, "VERY_LOW"):
		return "HIGH"
	case s.Pattern != "":
		return `"` + strings.Repeat("0", 64) + `"`
	case s.Type.Is(openapi3.TypeInteger):
		return "1"
	}
	return "map"
}

// requestOf returns a valid request of an operation, apart from what change does.
func requestOf(item *openapi3.PathItem, method, path string, o *openapi3.Operation, body any, change func(in, name string, required bool) (value string, there bool)) *http.Request {
	query, header := url.Values{}, http.Header{}
	for _, p := range slices.Concat(item.Parameters, o.Parameters) {
		value, there := change(p.Value.In, p.Value.Name, p.Value.Required)
		if !there && p.Value.Required {
			value, there = goodFor(p.Value.Schema.Value), value == ""
		}
		switch {
		case p.Value.In == openapi3.ParameterInPath:
			path = strings.ReplaceAll(path, "{"+p.Value.Name+"}", url.PathEscape(value))
		case !there:
		case p.Value.In == openapi3.ParameterInQuery:
			query.Set(p.Value.Name, value)
		default:
			header.Set(p.Value.Name, value)
		}
	}
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body)
		header.Set("Content-Type", request.JSON)
	}
	r := httptest.NewRequest(method, Root+path+"?"+query.Encode(), strings.NewReader(string(text)))
	r.Header = header
	return r
}

// For any mistake in a parameter of any operation, the refusal names the parameter and the allowed
// values in plain words, and is in the audit.
func TestEveryParameterIsRefusedInWords(t *testing.T) {
	w := newWorld(t)
	asked := 0
	for path, item := range byLibrary().Paths.Map() {
		for method, o := range item.Operations() {
			for _, p := range slices.Concat(item.Parameters, o.Parameters) {
				schema, place := p.Value.Schema.Value, p.Value.In
				if schema.Pattern != "" && schema.Description == "" {
					t.Errorf("%s %s: %s has a pattern, and no description that says what it takes", method, path, p.Value.Name)
				}
				texts, _ := badFor(schema)
				for _, text := range texts {
					if place != openapi3.ParameterInQuery && (text == "" || strings.ContainsAny(text, "%")) {
						continue
					}
					asked++
					w.refusedInWords(requestOf(item, method, path, o, bodyFor(o), func(_, name string, _ bool) (string, bool) {
						if name == p.Value.Name {
							return text, true
						}
						return "", false
					}), http.StatusBadRequest, p.Value.Name+": this "+places[place])
				}
				if place == openapi3.ParameterInPath || !p.Value.Required {
					continue
				}
				w.refusedInWords(requestOf(item, method, path, o, bodyFor(o), func(_, name string, _ bool) (string, bool) {
					if name == p.Value.Name {
						return "left out", false
					}
					return "", false
				}), http.StatusBadRequest, p.Value.Name+": this "+places[place]+" is missing")
			}
		}
	}
	if asked < 100 {
		t.Errorf("only %d were asked", asked)
	}
}

// bodyFor is a body that an operation takes; nil: it takes none.
func bodyFor(o *openapi3.Operation) any {
	if o.RequestBody == nil {
		return nil
	}
	m := map[string]any{}
	for name, p := range o.RequestBody.Value.Content.Get(request.JSON).Schema.Value.Properties {
		m[name] = goodFor(p.Value)
		switch {
		case p.Value.Type.Is(openapi3.TypeArray):
			m[name] = []any{"map"}
		case p.Value.Type.Is(openapi3.TypeBoolean):
			m[name] = true
		case p.Value.Type.Is(openapi3.TypeNumber):
			m[name] = 1.5
		}
	}
	return m
}

// For any mistake in a field of any body, the refusal names the field and the allowed values in
// plain words.
func TestEveryFieldIsRefusedInWords(t *testing.T) {
	w := newWorld(t)
	right := func(string, string, bool) (string, bool) { return "", false }
	for path, item := range byLibrary().Paths.Map() {
		for method, o := range item.Operations() {
			if o.RequestBody == nil {
				w.refusedInWords(requestOf(item, method, path, o, map[string]any{}, right), http.StatusBadRequest, "this request takes no body")
				continue
			}
			schema := o.RequestBody.Value.Content.Get(request.JSON).Schema.Value
			for _, body := range []any{[]any{}, "text", 7, map[string]any{"no such": 1}} {
				w.refusedInWords(requestOf(item, method, path, o, body, right), http.StatusBadRequest, slices.Min(slices.Collect(maps.Keys(schema.Properties))))
			}
			if o.RequestBody.Value.Required {
				w.refusedInWords(requestOf(item, method, path, o, nil, right), http.StatusBadRequest, "it is missing")
			}
			for name, p := range schema.Properties {
				if !slices.ContainsFunc([]string{openapi3.TypeString, openapi3.TypeBoolean, openapi3.TypeNumber, openapi3.TypeArray}, p.Value.Type.Is) {
					t.Errorf("%s %s: the test knows no bad values for %s", method, path, name)
				}
				_, values := badFor(p.Value)
				for _, v := range values {
					body := bodyFor(o).(map[string]any)
					body[name] = v
					w.refusedInWords(requestOf(item, method, path, o, body, right), http.StatusBadRequest, name+": this field takes")
				}
				if slices.Contains(schema.Required, name) {
					body := bodyFor(o).(map[string]any)
					delete(body, name)
					w.refusedInWords(requestOf(item, method, path, o, body, right), http.StatusBadRequest, name+": this field is missing")
				}
			}
		}
	}
}

// Invalid text is refused, and not corrected silently: in bodies, in queries and in their names.
func TestWhatIsNoTextIsRefused(t *testing.T) {
	w := newWorld(t)
	w.job(1, "ann", 1)
	for _, x := range []struct {
		body string
		code int
		want string
	}{
		{`{"reason":"\ud800"}`, 400, `: \ud800 is half of a character`},
		{`{"reason":"a\udc00b"}`, 400, "half of a character"},
		{`{"reason":"\ud83d\u0041"}`, 400, "half of a character"},
		{`{"reason":"\ud83d\\udca9"}`, 400, "half of a character"},
		{`{"\ud83d":"x"}`, 400, "half of a character"},
		{`{"reason":"\ud83d\udca9 \\ud800 \" \u00e4"}`, 204, ""},
		{`{"reason":"a\` + "\xff" + `"}`, 400, "it is no text in UTF-8: see byte 14"},
		{"{\"reason\":\"\xed\xa0\x80\"}", 400, "it is no text in UTF-8: see byte 12"},
		{`{"reason":"a","reason":"b"}`, 400, "reason: this field stands there twice"},
		{`{"reason":"a"} {}`, 400, "it is no JSON: what stands at byte 16"},
		{`{"reason":`, 400, `it breaks off behind "{\"reason\":"`},
		{`{'reason':1}`, 400, `what stands at byte 2, behind "{"`},
		{strings.Repeat("[", 20_000), 400, "it is no JSON"},
	} {
		r := httptest.NewRequest("POST", Root+"/jobs/job-1/kill", strings.NewReader(x.body))
		r.Header.Set("Content-Type", request.JSON)
		if x.code == http.StatusNoContent {
			if got := w.do(r, nil); got.StatusCode != x.code {
				t.Errorf("%q: %d %s", x.body, got.StatusCode, got.Text)
			}
			continue
		}
		w.refusedInWords(r, x.code, x.want)
	}
	if len(w.service.asked) != 1 {
		t.Errorf("it was asked for %q", w.service.asked)
	}
	for query, want := range map[string]string{
		"name=%ff": `"name": this parameter is no text in UTF-8`, "%ff=1": "is no text in UTF-8", "name=%zz": `has "%zz" behind its question mark`, "name=%": "write %25 where a % is meant",
		"state=failed;user=ann": "write %3B where a semicolon is meant", "limit=1&limit=2": "limit: this parameter stands there 2 times", "stat=x": `there is no parameter "stat" here`,
		"state=" + strings.Repeat("asked&state=", 7) + "asked": "state: this parameter may stand 7 times",
	} {
		w.refusedInWords(httptest.NewRequest("GET", Root+"/jobs?"+query, nil), 400, want)
	}
}

// A request body whose declared type is not JSON is refused with the required type.
func TestBodiesOfOtherKinds(t *testing.T) {
	w := newWorld(t)
	w.job(1, "ann", 1)
	for _, x := range []struct{ kind, packed, want string }{
		{"", "", `its Content-Type is "": send JSON, with "Content-Type: application/json"`},
		{"text/plain", "", `its Content-Type is "text/plain"`},
		{"application/x-www-form-urlencoded", "", "send JSON"},
		{"application/json; charset", "", "send JSON"},
		{request.JSON, "gzip", `it came as "gzip"`},
	} {
		r := httptest.NewRequest("POST", Root+"/jobs/job-1/kill", strings.NewReader(`{}`))
		r.Header.Set("Content-Type", x.kind)
		r.Header.Set("Content-Encoding", x.packed)
		w.refusedInWords(r, http.StatusUnsupportedMediaType, x.want)
	}
	r := httptest.NewRequest("POST", Root+"/jobs/job-1/kill", strings.NewReader(`{}`))
	r.Header.Set("Content-Type", "Application/JSON; charset=utf-8")
	if got := w.do(r, nil); got.StatusCode != http.StatusNoContent {
		t.Errorf("%d %s", got.StatusCode, got.Text)
	}
}

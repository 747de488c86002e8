package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/hamadryad/hamadryad/engine/manager/internal/rest/request"
)

// byLibrary is the document as a library for OpenAPI reads it.
var byLibrary = sync.OnceValue(func() *openapi3.T {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err == nil {
		err = doc.Validate(context.Background())
	}
	if err != nil {
		panic("rest: openapi.yaml: " + err.Error())
	}
	return doc
})

// drawnTexts are values of parameters, and drawnValues fields of bodies, besides the right ones.
var (
	drawnTexts = []string{
		"", "1", "0", "-1", "1000", "1001", "01", "+1", "1.5", "1e3", "0x10", "99999999999999999999", "9223372036854775807", "NaN", "Inf", "true", "false", "True", "maybe",
		"job-1", "job-0", "JOB-1", "job-1[2]", "job-1[2-5:3]", "attempt-1", "2026-03-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-03-01", "2026-03-01T00:00:00+01:00", "HIGH", "running", "launcher", "10m", "ü", "a b",
		strings.Repeat("x", 256), strings.Repeat("ü", 257), strings.Repeat("x", 5000), `"` + strings.Repeat("0", 64) + `"`,
	}
	drawnValues = []any{nil, true, false, 0, 1, -1, 1.5, 1e300, 3153600001, "", "x", []any{}, []any{"x"}, []any{"x", 7}, []any{nil}, map[string]any{}, strings.Repeat("ü", 300)}
)

// Each request is refused if and only if a library for OpenAPI refuses it by the same document.
func TestRequestsAsALibraryChecksThem(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	taken, refused := 0, 0
	for _, path := range byLibrary().Paths.InMatchingOrder() {
		item := byLibrary().Paths.Find(path)
		operations := item.Operations()
		for _, method := range slices.Sorted(maps.Keys(operations)) {
			o := operations[method]
			check := request.New(parsed(), method, path, TextBodyMax)
			for range 1000 {
				q, inPath := drawnRequest(r, item, method, path, o)
				library := libraryRefuses(q, inPath, item, method, path, o)
				for name, value := range inPath {
					q.SetPathValue(name, value)
				}
				ours := check.Of(httptest.NewRecorder(), q)
				if (ours == nil) != (library == nil) {
					t.Errorf("%s %s %v: %v, and the library: %v", method, q.URL, q.Header, ours, library)
				}
				if ours == nil {
					taken++
				} else {
					refused++
				}
			}
		}
	}
	if taken < 1000 || refused < 1000 {
		t.Errorf("%d were taken, %d refused: too few of a kind say nothing", taken, refused)
	}
}

// drawnRequest is a request whose parameters and fields are mostly right.
func drawnRequest(r *rand.Rand, item *openapi3.PathItem, method, path string, o *openapi3.Operation) (q *http.Request, inPath map[string]string) {
	query, header := url.Values{}, http.Header{}
	inPath = map[string]string{}
	for _, p := range slices.Concat(item.Parameters, o.Parameters) {
		value := goodFor(p.Value.Schema.Value)
		if r.IntN(4) == 0 {
			value = drawnTexts[r.IntN(len(drawnTexts))]
		}
		switch {
		case p.Value.In == openapi3.ParameterInPath:
			inPath[p.Value.Name] = value
			path = strings.ReplaceAll(path, "{"+p.Value.Name+"}", url.PathEscape(value))
		case r.IntN(3) == 0:
		case p.Value.In == openapi3.ParameterInQuery:
			query.Set(p.Value.Name, value)
		default:
			header.Set(p.Value.Name, value)
		}
	}
	var text []byte
	if body := bodyFor(o); body != nil && r.IntN(8) > 0 {
		fields := body.(map[string]any)
		for name := range fields {
			switch r.IntN(10) {
			case 0:
				delete(fields, name)
			case 1:
				fields[name] = drawnValues[r.IntN(len(drawnValues))]
			case 2:
				fields[name] = drawnTexts[r.IntN(len(drawnTexts))]
			}
		}
		if r.IntN(20) == 0 {
			fields["unknown"] = 1
		}
		text, _ = json.Marshal(fields)
		header.Set("Content-Type", request.JSON)
	}
	q = httptest.NewRequest(method, Root+path+"?"+query.Encode(), strings.NewReader(string(text)))
	q.Header = header
	return q, inPath
}

// libraryRefuses checks a request by the library, and puts its body back.
func libraryRefuses(q *http.Request, inPath map[string]string, item *openapi3.PathItem, method, path string, o *openapi3.Operation) error {
	moment := openapi3.NewCallbackValidator(func(text string) error {
		_, err := time.Parse(time.RFC3339, text)
		return err
	})
	return openapi3filter.ValidateRequest(context.Background(), &openapi3filter.RequestValidationInput{
		Request: q, PathParams: inPath, QueryParams: q.URL.Query(),
		Route: &routers.Route{Spec: byLibrary(), Path: path, PathItem: item, Method: method, Operation: o},
		Options: &openapi3filter.Options{
			RejectWhenRequestBodyNotSpecified: true, SkipSettingDefaults: true,
			SchemaValidationOptions: []openapi3.SchemaValidationOption{openapi3.WithStringFormatValidator("date-time", moment)},
		},
	})
}

// A document with something that the check would not check is refused.
func TestDocumentsThatAreNotChecked(t *testing.T) {
	of := func(parameter string) string {
		return fmt.Sprintf("paths:\n  /jobs:\n    get:\n      operationId: listJobs\n      parameters:\n        - {name: a, in: query, schema: %s}\n", parameter)
	}
	for text, want := range map[string]string{
		of("{type: string, contentEncoding: base64}"):                       `the keyword "contentEncoding" is not checked`,
		of("{type: string, format: email}"):                                 `the format "email" is not checked`,
		of("{type: integer, minimum: 0}"):                                   "a number has no bounds",
		of("{type: array}"):                                                 "an array has no items",
		of("{type: object}"):                                                "an object takes unknown fields",
		of(`{type: string, pattern: "("}`):                                  "missing closing",
		of(`{$ref: "#/components/schemas/Gone"}`):                           "is not there",
		of("{type: array, items: {type: number}}"):                          "a number has no bounds",
		strings.Replace(of("{type: string}"), "in: query", "in: cookie", 1): "no known place",
		"paths: [": "yaml",
	} {
		if _, err := request.ParseDocument([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v; want %q", text, err, want)
		}
	}
	if _, err := request.ParseDocument([]byte(of("{type: string}"))); err != nil {
		t.Error(err)
	}
}

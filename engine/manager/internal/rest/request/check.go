// Package request reads requests and checks them against the document of the REST interface. Its
// refusals say in plain words what is wrong: the parameter or field, the allowed values, and the
// value received.
//
//	c := request.New(document, "GET", "/jobs", 64<<10)
//	if err := c.Of(w, r); err != nil { … }
//
// # Invariants
//
// Parameters and fields that the document does not name are refused, and so are repeated
// parameters: a misspelt filter must not show everything. Text that is not UTF-8 is refused, never
// replaced.
package request

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// JSON is the media type of request bodies.
const JSON = "application/json"

// dateTime is the format of moments.
const dateTime = "date-time"

// Check checks requests of one operation against the document. Safe for concurrent use.
type Check struct {
	route         *routers.Route
	options       *openapi3filter.Options
	inQuery       []*openapi3.Parameter
	headers       []string // names of the relevant ones
	inPath, names []string // names of the parameters in the path, and of those in the query in order
	most          int64    // bound of a body, bytes
}

// New makes the check of the operation that a document has for a method and a path. A body may have
// so many bytes.
func New(doc *openapi3.T, method, path string, bodyMax int64) *Check {
	item := doc.Paths.Find(path)
	c := &Check{
		route:   &routers.Route{Spec: doc, Path: path, PathItem: item, Method: method, Operation: item.GetOperation(method)},
		options: &openapi3filter.Options{RejectWhenRequestBodyNotSpecified: true, SkipSettingDefaults: true, SchemaValidationOptions: []openapi3.SchemaValidationOption{openapi3.WithStringFormatValidator(dateTime, openapi3.NewCallbackValidator(isMoment))}},
		most:    bodyMax,
	}
	for _, p := range slices.Concat(item.Parameters, c.route.Operation.Parameters) {
		switch p.Value.In {
		case openapi3.ParameterInQuery:
			c.inQuery, c.names = append(c.inQuery, p.Value), append(c.names, p.Value.Name)
		case openapi3.ParameterInPath:
			c.inPath = append(c.inPath, p.Value.Name)
		case openapi3.ParameterInHeader:
			c.headers = append(c.headers, p.Value.Name)
		}
	}
	slices.Sort(c.names)
	return c
}

// isMoment refuses times that no calendar has.
func isMoment(text string) error {
	_, err := time.Parse(time.RFC3339, text)
	return err
}

// Of returns a request's mistake, as a Refusal. It reads the body, and puts it back.
func (c *Check) Of(w http.ResponseWriter, r *http.Request) error {
	query, err := Query(r)
	if err != nil {
		return err
	}
	if err := c.named(query); err != nil {
		return err
	}
	if err := c.once(r.Header); err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, c.most)
	if err := c.body(r); err != nil {
		return err
	}
	values := map[string]string{}
	for _, name := range c.inPath {
		values[name] = r.PathValue(name)
	}
	return inWords(openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{Request: r, PathParams: values, QueryParams: query, Route: c.route, Options: c.options}))
}

// named refuses unknown parameters of a query, and repeated ones.
func (c *Check) named(query url.Values) error {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(c.names, name) {
			return badly("there is no parameter %.64q here; there are: %s", name, cmp.Or(strings.Join(c.names, ", "), "none"))
		}
	}
	for _, p := range c.inQuery {
		if n := len(query[p.Name]); n > 1 && !p.Schema.Value.Type.Is(openapi3.TypeArray) {
			return badly("%s: this parameter stands there %d times: give it once", p.Name, n)
		}
	}
	return nil
}

// ofTags is the header with a list, which may take several lines.
const ofTags = "If-None-Match"

// once refuses repeated headers.
func (c *Check) once(h http.Header) error {
	for _, name := range c.headers {
		lines := h.Values(name)
		switch {
		case len(lines) < 2:
		case name == ofTags:
			h.Set(name, strings.Join(lines, ", "))
		default:
			return badly("%s: this header stands there %d times: give it once", name, len(lines))
		}
	}
	return nil
}

// body reads a body, and returns why it is not JSON. For an operation without a body, the
// document's check refuses it.
func (c *Check) body(r *http.Request) error {
	text, err := io.ReadAll(r.Body)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &Refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("%sit is too large: it may have %d bytes", ofBody, large.Limit)}
	case err != nil:
		return badly("%sit did not come as a whole: %v", ofBody, err)
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	if c.route.Operation.RequestBody == nil || len(text) == 0 {
		return nil
	}
	if packed := r.Header.Get("Content-Encoding"); packed != "" && !strings.EqualFold(packed, "identity") {
		return &Refusal{http.StatusUnsupportedMediaType, fmt.Sprintf("%sit came as %.64q: send it as it is, without Content-Encoding", ofBody, packed)}
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != JSON {
		return &Refusal{http.StatusUnsupportedMediaType, fmt.Sprintf("%sits Content-Type is %.64q: send JSON, with \"Content-Type: %s\"", ofBody, r.Header.Get("Content-Type"), JSON)}
	}
	return isText(text)
}

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
)

// JSON is the media type of request bodies.
const JSON = "application/json"

// Check checks requests of one operation against the document. Safe for concurrent use.
type Check struct {
	operation *operation
	names     []string // names of the parameters in the query, in order
	most      int64    // bound of a body, bytes
}

// New makes the check of the operation that a document has for a method and a path. A body may have
// so many bytes.
func New(doc *Document, method, path string, bodyMax int64) *Check {
	c := &Check{operation: doc.operations[method+" "+path], most: bodyMax}
	for _, p := range c.operation.Parameters {
		if p.In == inQuery {
			c.names = append(c.names, p.Name)
		}
	}
	slices.Sort(c.names)
	return c
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
	for i := range c.operation.Parameters {
		p := &c.operation.Parameters[i]
		if err := p.refusal(p.valuesOf(r, query)); err != nil {
			return err
		}
	}
	return nil
}

// valuesOf are the values of a parameter in a request.
func (p *parameter) valuesOf(r *http.Request, query url.Values) []string {
	switch p.In {
	case inQuery:
		return query[p.Name]
	case inPath:
		return []string{r.PathValue(p.Name)}
	}
	return r.Header.Values(p.Name)
}

// named refuses unknown parameters of a query, and repeated ones.
func (c *Check) named(query url.Values) error {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(c.names, name) {
			return badly("there is no parameter %.64q here; there are: %s", name, cmp.Or(strings.Join(c.names, ", "), "none"))
		}
	}
	for _, p := range c.operation.Parameters {
		if n := len(query[p.Name]); p.In == inQuery && n > 1 && p.Schema.Type != typeArray {
			return badly("%s: this parameter stands there %d times: give it once", p.Name, n)
		}
	}
	return nil
}

// ofTags is the header with a list, which may take several lines.
const ofTags = "If-None-Match"

// once refuses repeated headers.
func (c *Check) once(h http.Header) error {
	for _, p := range c.operation.Parameters {
		name, lines := p.Name, h.Values(p.Name)
		switch {
		case p.In != inHeader || len(lines) < 2:
		case name == ofTags:
			h.Set(name, strings.Join(lines, ", "))
		default:
			return badly("%s: this header stands there %d times: give it once", name, len(lines))
		}
	}
	return nil
}

// body reads a body, puts it back, and returns why the operation does not take it.
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
	takes := c.operation.bodySchema()
	switch {
	case takes == nil && len(text) > 0:
		return badly("this request takes no body: send none")
	case takes == nil || len(text) == 0 && !c.operation.RequestBody.Required:
		return nil
	case len(text) == 0:
		return badly("%sit is missing; send JSON: %s", ofBody, takes.allowed())
	}
	if packed := r.Header.Get("Content-Encoding"); packed != "" && !strings.EqualFold(packed, "identity") {
		return &Refusal{http.StatusUnsupportedMediaType, fmt.Sprintf("%sit came as %.64q: send it as it is, without Content-Encoding", ofBody, packed)}
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != JSON {
		return &Refusal{http.StatusUnsupportedMediaType, fmt.Sprintf("%sits Content-Type is %.64q: send JSON, with \"Content-Type: %s\"", ofBody, r.Header.Get("Content-Type"), JSON)}
	}
	if err := isText(text); err != nil {
		return err
	}
	return takes.bodyRefusal(takes.jsonMistake(text))
}

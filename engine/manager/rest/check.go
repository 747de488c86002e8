package rest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// bodyMax bounds the body of a request, bytes: the largest is a reason. TextBodyMax does so where a
// text of the configuration is brought, in JSON.
const (
	bodyMax     = 64 << 10
	TextBodyMax = 8 << 20
)

// withText are the operations that bring such a text.
var withText = []string{"applySettings", "checkSettings", "diffSettings"}

// checked holds a request against the document before a handler has it. What the document does
// not name is refused, too: who writes a filter wrong is not to be shown everything.
func (s *Server) checked(pattern string, handler http.Handler) http.Handler {
	method, path, _ := strings.Cut(pattern, " ")
	path = strings.TrimPrefix(path, Root)
	item := s.doc.Paths.Find(path)
	operation := item.GetOperation(method)
	route := &routers.Route{Spec: s.doc, Path: path, PathItem: item, Method: method, Operation: operation}
	names, inPath := parameters(item, operation)
	options := &openapi3filter.Options{RejectWhenRequestBodyNotSpecified: true, SkipSettingDefaults: true}
	most := int64(bodyMax)
	if slices.Contains(withText, operation.OperationID) {
		most = TextBodyMax
	}
	options.WithCustomSchemaErrorFunc(func(err *openapi3.SchemaError) string { return err.Reason })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "private, no-cache")
		query := r.URL.Query()
		for name := range query {
			if !slices.Contains(names, name) {
				invalid(w, r, fmt.Errorf("there is no parameter %.64q here; there are: %s", name, cmp.Or(strings.Join(names, ", "), "none")))
				return
			}
		}
		r.Body = http.MaxBytesReader(w, r.Body, most)
		values := map[string]string{}
		for _, name := range inPath {
			values[name] = r.PathValue(name)
		}
		if err := openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{Request: r, PathParams: values, QueryParams: query, Route: route, Options: options}); err != nil {
			invalid(w, r, inWords(err))
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// parameters are the names that may stand in a query, in order, and in the path.
func parameters(item *openapi3.PathItem, operation *openapi3.Operation) (inQuery, inPath []string) {
	for _, p := range slices.Concat(item.Parameters, operation.Parameters) {
		switch p.Value.In {
		case openapi3.ParameterInQuery:
			inQuery = append(inQuery, p.Value.Name)
		case openapi3.ParameterInPath:
			inPath = append(inPath, p.Value.Name)
		}
	}
	slices.Sort(inQuery)
	return inQuery, inPath
}

// inWords says what is wrong with a request.
func inWords(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) || errors.Is(err, context.Canceled) {
		return err
	}
	var wrong *openapi3filter.RequestError
	if !errors.As(err, &wrong) {
		return err
	}
	why := wrong.Reason
	if wrong.Err != nil {
		why = wrong.Err.Error()
	}
	if wrong.Parameter != nil {
		return fmt.Errorf("%s: %s", wrong.Parameter.Name, why)
	}
	return fmt.Errorf("the request's body: %s", why)
}

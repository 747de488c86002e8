package request

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Refusal is why a request breaks the document.
type Refusal struct {
	Code int // of HTTP
	Text string
}

// Error is the mistake, and how to correct it.
func (r *Refusal) Error() string { return r.Text }

// GRPCStatus implements the interface of package grpc/status.
func (r *Refusal) GRPCStatus() *status.Status { return status.New(codes.InvalidArgument, r.Text) }

func badly(format string, values ...any) error {
	return &Refusal{http.StatusBadRequest, fmt.Sprintf(format, values...)}
}

// inWords describes a request's mistake in place of the validator's text: the parameter or field,
// the allowed values, and the value received.
func inWords(err error) error {
	var wrong *openapi3filter.RequestError
	switch {
	case !errors.As(err, &wrong):
		return err
	case wrong.Parameter != nil:
		return parameterInWords(wrong.Parameter, wrong.Err)
	case wrong.RequestBody != nil:
		return bodyInWords(wrong.RequestBody, wrong.Err)
	}
	return badly("this request takes no body: send none")
}

// places are the common words for places of parameters.
var places = map[string]string{openapi3.ParameterInQuery: "parameter", openapi3.ParameterInPath: "part of the path", openapi3.ParameterInHeader: "header"}

func parameterInWords(p *openapi3.Parameter, err error) error {
	place, takes := places[p.In], allowed(p.Schema.Value)
	var unreadable *openapi3filter.ParseError
	var wrong *openapi3.SchemaError
	switch {
	case errors.Is(err, openapi3filter.ErrInvalidRequired):
		return badly("%s: this %s is missing; it takes %s", p.Name, place, takes)
	case errors.Is(err, openapi3filter.ErrInvalidEmptyValue):
		return badly("%s: this %s is empty, and takes %s: leave it out, or say what you mean", p.Name, place, takes)
	case errors.As(err, &unreadable):
		return badly("%s: this %s takes %s, and not %s", p.Name, place, takes, came(innermost(unreadable)))
	case errors.As(err, &wrong) && wrong.SchemaField == "maxItems":
		return badly("%s: this %s may stand %d times at most", p.Name, place, *wrong.Schema.MaxItems)
	case errors.As(err, &wrong):
		return badly("%s: this %s takes %s, and not %s", p.Name, place, takes, came(wrong.Value))
	}
	return badly("%s: this %s takes %s", p.Name, place, takes)
}

// innermost is the unreadable value.
func innermost(err *openapi3filter.ParseError) any {
	for {
		var inner *openapi3filter.ParseError
		if !errors.As(err.Cause, &inner) {
			return err.Value
		}
		err = inner
	}
}

// ofBody begins messages about a request's body.
const ofBody = "the request's body: "

func bodyInWords(body *openapi3.RequestBody, err error) error {
	whole := body.Content.Get(JSON).Schema.Value
	var wrong *openapi3.SchemaError
	if errors.Is(err, openapi3filter.ErrInvalidRequired) {
		return badly("%sit is missing; send JSON: %s", ofBody, allowed(whole))
	}
	if !errors.As(err, &wrong) {
		return badly("%sit takes JSON: %s", ofBody, allowed(whole))
	}
	field := strings.Join(wrong.JSONPointer(), ".")
	switch {
	case wrong.SchemaField == "required":
		return badly("%s%s: this field is missing; it takes %s", ofBody, field, allowedInBody(propertyOf(whole, field)))
	case wrong.SchemaField == "minProperties":
		return badly("%snothing is in it: give at least one of %s", ofBody, strings.Join(fields(whole), ", "))
	case field == "" && wrong.SchemaField == "properties":
		return badly("%sthere is no field %s here; there are: %s", ofBody, unknownOf(whole, wrong.Value), strings.Join(fields(whole), ", "))
	case field == "":
		return badly("%sit takes %s, and not %s", ofBody, allowed(whole), came(wrong.Value))
	}
	return badly("%s%s: this field takes %s, and not %s", ofBody, field, allowedInBody(wrong.Schema), came(wrong.Value))
}

func propertyOf(object *openapi3.Schema, name string) *openapi3.Schema {
	if p := object.Properties[name]; p != nil {
		return p.Value
	}
	return &openapi3.Schema{}
}

// fields are the allowed names in an object, in order.
func fields(object *openapi3.Schema) []string {
	var names []string
	for name := range object.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// unknownOf is the first unknown name in an object.
func unknownOf(object *openapi3.Schema, value any) string {
	var unknown []string
	m, _ := value.(map[string]any)
	for name := range m {
		if object.Properties[name] == nil {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return "of that name"
	}
	return fmt.Sprintf("%.64q", slices.Min(unknown))
}

// allowedInBody is allowed for a field of a body, where an array is a list of JSON.
func allowedInBody(s *openapi3.Schema) string {
	if s.Type.Is(openapi3.TypeArray) {
		return fmt.Sprintf("a list of at least %d elements, each %s", s.MinItems, allowed(s))
	}
	return allowed(s)
}

// allowed describes the values that a schema takes. A schema with a pattern has its own
// description.
func allowed(s *openapi3.Schema) string {
	switch {
	case len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, x := range s.Enum {
			words[i] = fmt.Sprint(x)
		}
		return "one of " + strings.Join(words, ", ")
	case s.Pattern != "":
		return s.Description
	case s.Type.Is(openapi3.TypeArray):
		return allowed(s.Items.Value)
	case s.Type.Is(openapi3.TypeInteger):
		return "a whole number" + span(s)
	case s.Type.Is(openapi3.TypeNumber):
		return "a number" + span(s)
	case s.Type.Is(openapi3.TypeBoolean):
		return "true or false"
	case s.Format == dateTime:
		return "a moment such as 2026-03-01T00:00:00Z (in an address, %2B stands for +)"
	case s.Type.Is(openapi3.TypeObject):
		return "an object with " + strings.Join(fields(s), ", ")
	case s.MaxLength != nil:
		return fmt.Sprintf("text of at most %d characters", *s.MaxLength)
	}
	return "text"
}

// span is the range of a number.
func span(s *openapi3.Schema) string {
	least, most := s.Min, s.Max
	if most == nil && s.Format == "int64" {
		return fmt.Sprintf(" from %v to %d", *least, math.MaxInt64)
	}
	return fmt.Sprintf(" from %s to %s", strconv.FormatFloat(*least, 'f', -1, 64), strconv.FormatFloat(*most, 'f', -1, 64))
}

// cameMax is how many characters of a received value are repeated.
const cameMax = 64

// came is a value as received.
func came(value any) string {
	switch v := value.(type) {
	case nil:
		return "null: leave it out to say nothing"
	case string:
		if r := []rune(v); len(r) > cameMax {
			return fmt.Sprintf("%q and %d characters more", string(r[:cameMax]), len(r)-cameMax)
		}
		return strconv.Quote(v)
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return fmt.Sprintf("%.64s", fmt.Sprint(value))
}

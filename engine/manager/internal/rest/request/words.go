package request

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

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

// places are the common words for places of parameters.
var places = map[string]string{inQuery: "parameter", inPath: "part of the path", inHeader: "header"}

// refusal is why the values of a parameter are wrong; nil: they are right.
func (p *parameter) refusal(values []string) error {
	place, takes := places[p.In], p.Schema.allowed()
	switch {
	case p.Required && len(values) == 0, p.In == inPath && values[0] == "":
		return badly("%s: this %s is missing; it takes %s", p.Name, place, takes)
	case slices.Contains(values, "") && p.Schema.Type != typeString:
		return badly("%s: this %s is empty, and takes %s: leave it out, or say what you mean", p.Name, place, takes)
	}
	s := p.Schema
	if s.Type == typeArray {
		if s.MaxItems != nil && len(values) > *s.MaxItems {
			return badly("%s: this %s may stand %d times at most", p.Name, place, *s.MaxItems)
		}
		s = s.Items
	}
	for _, text := range values {
		if m := s.textMistake(text); m != nil {
			return badly("%s: this %s takes %s, and not %s", p.Name, place, takes, came(m.value))
		}
	}
	return nil
}

// ofBody begins messages about a request's body.
const ofBody = "the request's body: "

// bodyRefusal says what is wrong in a body of this schema; nil: nothing is.
func (s *schema) bodyRefusal(m *mistake) error {
	switch {
	case m == nil:
		return nil
	case m.keyword == "required":
		return badly("%s%s: this field is missing; it takes %s", ofBody, m.field, m.schema.allowedInBody())
	case m.keyword == "minProperties":
		return badly("%snothing is in it: give at least one of %s", ofBody, strings.Join(m.schema.fields(), ", "))
	case m.keyword == "additionalProperties":
		return badly("%sthere is no field %.64q here; there are: %s", ofBody, m.value, strings.Join(m.schema.fields(), ", "))
	case m.field == "":
		return badly("%sit takes %s, and not %s", ofBody, s.allowed(), came(m.value))
	}
	return badly("%s%s: this field takes %s, and not %s", ofBody, m.field, m.schema.allowedInBody(), came(m.value))
}

// fields are the allowed names in an object, in order.
func (s *schema) fields() []string { return slices.Sorted(maps.Keys(s.Properties)) }

// allowedInBody is allowed for a field of a body, where an array is a list of JSON.
func (s *schema) allowedInBody() string {
	if s.Type == typeArray {
		return fmt.Sprintf("a list of at least %d elements, each %s", s.MinItems, s.allowed())
	}
	return s.allowed()
}

// allowed describes the values that a schema takes. A schema with a pattern has its own
// description.
func (s *schema) allowed() string {
	switch {
	case len(s.Enum) > 0:
		return "one of " + strings.Join(s.Enum, ", ")
	case s.Pattern != "":
		return s.Description
	case s.Type == typeArray:
		return s.Items.allowed()
	case s.Type == typeInteger:
		return "a whole number" + s.span()
	case s.Type == typeNumber:
		return "a number" + s.span()
	case s.Type == typeBoolean:
		return "true or false"
	case s.Format == formatDateTime:
		return "a moment such as 2026-03-01T00:00:00Z (in an address, %2B stands for +)"
	case s.Type == typeObject:
		return "an object with " + strings.Join(s.fields(), ", ")
	case s.MaxLength != nil:
		return fmt.Sprintf("text of at most %d characters", *s.MaxLength)
	}
	return "text"
}

// span is the range of a number.
func (s *schema) span() string {
	least, most := s.Minimum, s.Maximum
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

package request

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// formatDateTime is the format of moments.
const formatDateTime = "date-time"

// mistake is why a value breaks its schema.
type mistake struct {
	schema  *schema
	keyword string // of the schema, such as "maxLength"
	field   string // with its parents, such as "command.0"; "": the whole value
	value   any
}

// below is the mistake as one of the value that has it in a field or place.
func (m *mistake) below(name string) *mistake {
	if m.field != "" {
		name += "." + m.field
	}
	m.field = name
	return m
}

// textMistake checks the text of one parameter; nil: it is right.
func (s *schema) textMistake(text string) *mistake {
	var value any = text
	switch s.Type {
	case typeInteger, typeNumber:
		value = json.Number(text)
	case typeBoolean:
		b, err := strconv.ParseBool(text) // also 0 and 1, as the generated code takes them
		if value = b; err != nil {
			return &mistake{schema: s, keyword: "type", value: text}
		}
	}
	m := s.mistake(value)
	if m != nil {
		m.value = text
	}
	return m
}

// jsonMistake checks a text of JSON, which is one value; nil: it is right.
func (s *schema) jsonMistake(text []byte) *mistake {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return &mistake{schema: s, keyword: "type"}
	}
	return s.mistake(value)
}

// mistake checks a value of JSON, whose numbers are texts.
func (s *schema) mistake(value any) *mistake {
	wrong := func(keyword string) *mistake { return &mistake{schema: s, keyword: keyword, value: value} }
	is := "type"
	switch v := value.(type) {
	case string:
		if s.Type == typeString {
			is = s.brokenByText(v)
		}
	case json.Number:
		if s.Type == typeInteger || s.Type == typeNumber {
			is = s.brokenByNumber(v.String())
		}
	case bool:
		if s.Type == typeBoolean {
			is = ""
		}
	case []any:
		if s.Type == typeArray {
			return s.listMistake(v)
		}
	case map[string]any:
		if s.Type == typeObject {
			return s.objectMistake(v)
		}
	}
	if is == "" {
		return nil
	}
	return wrong(is)
}

// brokenByText is the keyword that a text breaks; "": none.
func (s *schema) brokenByText(text string) string {
	n := utf8.RuneCountInString(text)
	switch {
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, text):
		return "enum"
	case n < s.MinLength:
		return "minLength"
	case s.MaxLength != nil && n > *s.MaxLength:
		return "maxLength"
	case s.expression != nil && !s.expression.MatchString(text):
		return "pattern"
	case s.Format == formatDateTime && !isMoment(text):
		return "format"
	}
	return ""
}

// isMoment refuses times that no calendar has.
func isMoment(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

// brokenByNumber is the keyword that a number breaks; "": none. A whole number is written with
// digits alone.
func (s *schema) brokenByNumber(text string) string {
	n, err := strconv.ParseFloat(text, 64)
	if s.Type == typeInteger {
		var whole int64
		whole, err = strconv.ParseInt(text, 10, 64)
		n = float64(whole)
	}
	switch {
	case err != nil || math.IsNaN(n) || math.IsInf(n, 0):
		return "type"
	case s.Minimum != nil && n < *s.Minimum:
		return "minimum"
	case s.Maximum != nil && n > *s.Maximum:
		return "maximum"
	}
	return ""
}

func (s *schema) listMistake(list []any) *mistake {
	switch {
	case len(list) < s.MinItems:
		return &mistake{schema: s, keyword: "minItems", value: list}
	case s.MaxItems != nil && len(list) > *s.MaxItems:
		return &mistake{schema: s, keyword: "maxItems", value: list}
	}
	for i, v := range list {
		if m := s.Items.mistake(v); m != nil {
			return m.below(strconv.Itoa(i))
		}
	}
	return nil
}

func (s *schema) objectMistake(object map[string]any) *mistake {
	if len(object) < s.MinProperties {
		return &mistake{schema: s, keyword: "minProperties", value: object}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		p := s.Properties[name]
		if p == nil {
			return &mistake{schema: s, keyword: "additionalProperties", value: name}
		}
		if m := p.mistake(object[name]); m != nil {
			return m.below(name)
		}
	}
	for _, name := range s.Required {
		if _, there := object[name]; !there {
			return &mistake{schema: s.Properties[name], keyword: "required", field: name}
		}
	}
	return nil
}

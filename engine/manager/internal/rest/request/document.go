package request

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Document is the part of an OpenAPI 3 document that requests are checked against. Safe for
// concurrent use.
type Document struct {
	operations map[string]*operation // by method and path, such as "GET /jobs"
}

// operation is one method of one path.
type operation struct {
	ID          string      `yaml:"operationId"`
	Parameters  []parameter `yaml:"parameters"`
	RequestBody *struct {
		Required bool               `yaml:"required"`
		Content  map[string]content `yaml:"content"`
	} `yaml:"requestBody"`
}

type content struct {
	Schema *schema `yaml:"schema"`
}

// bodySchema is the schema of a JSON body; nil: the operation takes no body.
func (o *operation) bodySchema() *schema {
	if o.RequestBody == nil {
		return nil
	}
	return o.RequestBody.Content[JSON].Schema
}

// Places of parameters.
const (
	inQuery  = "query"
	inPath   = "path"
	inHeader = "header"
)

type parameter struct {
	Ref      string  `yaml:"$ref"`
	Name     string  `yaml:"name"`
	In       string  `yaml:"in"`
	Required bool    `yaml:"required"`
	Schema   *schema `yaml:"schema"`
}

// Types of schemas.
const (
	typeString  = "string"
	typeInteger = "integer"
	typeNumber  = "number"
	typeBoolean = "boolean"
	typeArray   = "array"
	typeObject  = "object"
)

// schema has the keywords that this package checks. A document with another one is refused.
type schema struct {
	Ref           string             `yaml:"$ref"`
	Type          string             `yaml:"type"`
	Format        string             `yaml:"format"`
	Description   string             `yaml:"description"`
	Default       any                `yaml:"default"`
	Enum          []string           `yaml:"enum"`
	Pattern       string             `yaml:"pattern"`
	Minimum       *float64           `yaml:"minimum"`
	Maximum       *float64           `yaml:"maximum"`
	MinLength     int                `yaml:"minLength"`
	MaxLength     *int               `yaml:"maxLength"`
	Items         *schema            `yaml:"items"`
	MinItems      int                `yaml:"minItems"`
	MaxItems      *int               `yaml:"maxItems"`
	Properties    map[string]*schema `yaml:"properties"`
	Required      []string           `yaml:"required"`
	MinProperties int                `yaml:"minProperties"`
	// OtherFields is additionalProperties, which is false: an unknown field is a mistake.
	OtherFields any            `yaml:"additionalProperties"`
	Unknown     map[string]any `yaml:",inline"`

	expression *regexp.Regexp // of Pattern
}

// document is an OpenAPI 3 document as it is written.
type document struct {
	Paths      map[string]map[string]yaml.Node `yaml:"paths"`
	Components components                      `yaml:"components"`
}

type components struct {
	Parameters map[string]parameter `yaml:"parameters"`
	Schemas    map[string]yaml.Node `yaml:"schemas"`
}

// methods are the keys of a path that are operations.
var methods = []string{"get", "head", "post", "put", "patch", "delete"}

// ParseDocument reads an OpenAPI 3 document. Its error names what this package does not check.
func ParseDocument(text []byte) (*Document, error) {
	var of document
	if err := yaml.Unmarshal(text, &of); err != nil {
		return nil, err
	}
	doc := &Document{operations: map[string]*operation{}}
	for _, path := range slices.Sorted(maps.Keys(of.Paths)) {
		item := of.Paths[path]
		shared, err := of.Components.shared(item)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, method := range methods {
			node, there := item[method]
			if !there {
				continue
			}
			name := strings.ToUpper(method) + " " + path
			if doc.operations[name], err = of.Components.operation(node, shared); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return doc, nil
}

// OperationID names the operation of a method and a path; "": there is none.
func (d *Document) OperationID(method, path string) string {
	if o := d.operations[method+" "+path]; o != nil {
		return o.ID
	}
	return ""
}

// shared are the parameters of all operations of a path.
func (c *components) shared(item map[string]yaml.Node) (list []parameter, err error) {
	node, there := item["parameters"]
	if there {
		err = node.Decode(&list)
	}
	return list, err
}

// operation decodes an operation, with everything that it refers to.
func (c *components) operation(node yaml.Node, shared []parameter) (*operation, error) {
	o := &operation{}
	if err := node.Decode(o); err != nil {
		return nil, err
	}
	o.Parameters = slices.Concat(shared, o.Parameters)
	for i := range o.Parameters {
		p := &o.Parameters[i]
		if name, is := strings.CutPrefix(p.Ref, "#/components/parameters/"); is {
			*p = c.Parameters[name]
		}
		if p.Schema == nil || !slices.Contains([]string{inQuery, inPath, inHeader}, p.In) {
			return nil, fmt.Errorf("parameter %q %q has no schema or no known place", p.Name, p.Ref)
		}
		var err error
		if p.Schema, err = c.schema(p.Schema); err != nil {
			return nil, fmt.Errorf("parameter %q: %w", p.Name, err)
		}
	}
	if o.RequestBody == nil {
		return o, nil
	}
	if o.bodySchema() == nil || len(o.RequestBody.Content) != 1 {
		return nil, errors.New("the body is not JSON alone")
	}
	s, err := c.schema(o.bodySchema())
	if err != nil {
		return nil, fmt.Errorf("the body: %w", err)
	}
	o.RequestBody.Content = map[string]content{JSON: {Schema: s}}
	return o, nil
}

// schema resolves a reference, and completes a schema and those below it.
func (c *components) schema(s *schema) (*schema, error) {
	if s.Ref != "" {
		node, there := c.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
		if !there {
			return nil, fmt.Errorf("%s is not there", s.Ref)
		}
		s = &schema{}
		if err := node.Decode(s); err != nil {
			return nil, err
		}
	}
	err := s.complete()
	if err == nil && s.Items != nil {
		s.Items, err = c.schema(s.Items)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if err == nil {
			s.Properties[name], err = c.schema(s.Properties[name])
		}
	}
	return s, err
}

// complete refuses a schema that this package does not check as a whole.
func (s *schema) complete() (err error) {
	if len(s.Unknown) > 0 {
		return fmt.Errorf("the keyword %q is not checked", slices.Min(slices.Collect(maps.Keys(s.Unknown))))
	}
	known := map[string][]string{
		typeString: {"", formatDateTime}, typeInteger: {"", "int32", "int64"}, typeNumber: {"", "double"}, typeBoolean: {""}, typeArray: {""}, typeObject: {""},
	}
	formats, is := known[s.Type]
	switch {
	case !is || !slices.Contains(formats, s.Format):
		return fmt.Errorf("the type %q with the format %q is not checked", s.Type, s.Format)
	case s.Type == typeArray && s.Items == nil:
		return errors.New("an array has no items")
	case s.Type == typeObject && (s.OtherFields != false):
		return errors.New("an object takes unknown fields")
	case (s.Type == typeInteger || s.Type == typeNumber) && (s.Minimum == nil || s.Maximum == nil && s.Format != "int64"):
		return errors.New("a number has no bounds")
	}
	if s.Pattern != "" {
		s.expression, err = regexp.Compile(s.Pattern)
	}
	return err
}

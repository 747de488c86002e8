package config

import (
	"fmt"
	"net"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-playground/validator/v10"
	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/v2"
)

// decode fills c. Each key is decoded on its own, so that a message names it.
func (c *Config) decode(k *koanf.Koanf) Errors {
	var wrong Errors
	c.fill(k, "", reflect.ValueOf(c).Elem(), &wrong)
	return wrong
}

func (c *Config) fill(k *koanf.Koanf, path string, v reflect.Value, wrong *Errors) {
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag.Get("koanf")
		if tag == "" || tag == "-" {
			continue
		}
		key := join(path, tag)
		if v.Field(i).Kind() == reflect.Struct {
			c.fill(k, key, v.Field(i), wrong)
			continue
		}
		if !k.Exists(key) {
			continue
		}
		err := decodeValue(k.Get(key), v.Field(i).Addr().Interface(), "koanf")
		if err != nil {
			*wrong = append(*wrong, fmt.Sprintf("%s: %s: %s", c.places.of(key), key, cause(err)))
		}
	}
}

// DecodeCore fills settings, a pointer to a struct with JSON tags, from the section core. Keys
// missing from the section stay as they are.
func (c *Config) DecodeCore(settings any) error {
	v := reflect.ValueOf(settings).Elem()
	var wrong Errors
	for i := range v.NumField() {
		name := jsonName(v.Type().Field(i))
		value, ok := c.Core[name]
		if !ok {
			continue
		}
		if err := decodeValue(value, v.Field(i).Addr().Interface(), "json"); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: core.%s: %s", c.places.of("core."+name), name, cause(err)))
		}
	}
	if len(wrong) > 0 {
		return wrong
	}
	return nil
}

// CoreKeys lists the keys that DecodeCore takes for a struct with JSON tags.
func CoreKeys(settings any) []string {
	t := reflect.TypeOf(settings)
	var keys []string
	for i := range t.NumField() {
		keys = append(keys, jsonName(t.Field(i)))
	}
	return keys
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func decodeValue(from, to any, tag string) error {
	d, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result: to, TagName: tag, WeaklyTypedInput: true, ErrorUnused: true, ZeroFields: true, DecodeHook: decodeText,
	})
	if err != nil {
		return err
	}
	return d.Decode(from)
}

// unknownKeys begins the decoder's message about unknown keys in a value.
const unknownKeys = "has invalid keys: "

// cause leaves out the decoder's own frame, which names Go fields.
func cause(err error) string {
	text := err.Error()
	if _, keys, found := strings.Cut(text, unknownKeys); found {
		return "there is no key " + keys + " in it: correct its name, or leave it out"
	}
	if i := strings.LastIndex(text, "error decoding '': "); i >= 0 {
		return text[i+len("error decoding '': "):]
	}
	if _, inner, nested := strings.Cut(text, "error(s):\n\n"); nested {
		text = strings.Replace(strings.TrimPrefix(inner, "'"), "' ", ": ", 1)
	}
	return strings.ReplaceAll(strings.TrimPrefix(text, "'' "), "\n", " ")
}

func newValidator() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string { return f.Tag.Get("koanf") })
	if err := v.RegisterValidation("address", isAddress); err != nil {
		panic(err) // the name is a constant that is not taken
	}
	return v
}

// isAddress accepts HOST:PORT; port 0 is any free one, an empty host all of the
// machine's addresses.
func isAddress(f validator.FieldLevel) bool {
	_, port, err := net.SplitHostPort(f.Field().String())
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

func shown(v any) string {
	if s, ok := v.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprint(v)
}

// rule says in words which rule a value breaks.
func rule(f validator.FieldError) string {
	switch f.Tag() {
	case "address":
		return "an address is HOST:PORT, such as 127.0.0.1:7070"
	case "required", "required_without":
		return "it must not be empty"
	case "min":
		return "at least " + bound(f) + " is needed"
	case "max":
		return "at most " + bound(f) + " is allowed"
	case "gtfield":
		return "it must be more than " + lowerFirst(f.Param())
	case "oneof":
		return "it is one of " + strings.ReplaceAll(f.Param(), " ", ", ")
	case "cidr":
		return "a network is ADDRESS/BITS, such as 10.8.0.0/16"
	case "len", "hexadecimal":
		return "it is a SHA-256 in 64 hexadecimal digits"
	case "unique":
		return "each may stand there once"
	}
	return "it breaks the rule " + f.Tag()
}

func bound(f validator.FieldError) string {
	if f.Type() == reflect.TypeFor[Size]() {
		if s, err := ParseSize(f.Param()); err == nil {
			return s.String()
		}
	}
	return f.Param()
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-playground/validator/v10"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/v2"
)

// PolicyPrefix begins the names of plug-ins' programs.
const PolicyPrefix = "hamadryad-policy-"

// PolicyName is the name of a policy whose program has a path, unless the configuration gives it
// another one.
func PolicyName(path string) string { return strings.TrimPrefix(filepath.Base(path), PolicyPrefix) }

// fileBytesMax bounds a configuration file, and each file that it names.
const fileBytesMax = 4 << 20

// Sources are the inputs of a configuration.
type Sources struct {
	File    string            // "": none
	Environ []string          // as os.Environ gives it
	Flags   map[string]string // by key, such as manager.listen; only the given ones
	// CoreKeys are the names that may stand in the section core.
	CoreKeys []string
	// Texts replace files by name, as Config.Texts gave them; nil: the files are read.
	Texts map[string][]byte
	// Text replaces File's content; nil: the file is read.
	Text []byte
	// Token returns the values that a launcher's token has for keys that nobody set. Its argument
	// is auth.token. For "", or a token that is gone, it returns those of the token with which the
	// launcher joined before. nil: no values.
	Token func(token string) (map[string]string, error)
	// Manager is a launcher's manager if no other source names it: the manager that the environment
	// names for commands.
	Manager string
}

// clientKeys are set in the environment for commands. For a manager or launcher they count only if
// it has no certificate or token of its own.
var clientKeys = []string{"auth.mode", "auth.certificate", "auth.key", "auth.ca"}

// ownIdentity reports whether file, flags, or a token give the process its credentials.
func (s Sources) ownIdentity(ofFile places) bool {
	for _, key := range []string{"auth.certificate", "auth.token"} {
		if ofFile[key] != "" || s.Flags[key] != "" {
			return true
		}
	}
	if slices.ContainsFunc(s.Environ, func(v string) bool { return strings.HasPrefix(v, "HAMADRYAD_AUTH_TOKEN=") }) {
		return true
	}
	if s.Token == nil {
		return false
	}
	told, err := s.Token("")
	return err == nil && len(told) > 0
}

// read returns the content of a file.
func (s Sources) read(file string) ([]byte, error) {
	switch {
	case s.Text != nil && file == s.File:
		return s.Text, nil
	case s.Texts == nil:
		return readBounded(file)
	}
	text, ok := s.Texts[file]
	if !ok {
		return nil, fmt.Errorf("there is no text of %s", file)
	}
	return text, nil
}

// otherVariables begin with HAMADRYAD_ and are no settings.
var otherVariables = []string{"HAMADRYAD_MANAGER", "HAMADRYAD_CONFIG", "HAMADRYAD_AUTH_BEARER", "HAMADRYAD_AUTH_SERVICE"}

// Load makes a configuration. The error lists all mistakes, one a line, each with its place.
func Load(s Sources) (*Config, error) {
	k := koanf.New(".")
	p := places{}
	known := s.known()
	// All at once: koanf flattens everything that it has each time something is set.
	if err := k.Load(provider(nested(defaults())), nil); err != nil {
		return nil, err
	}
	c := &Config{File: s.File, places: p, over: places{}, Texts: map[string][]byte{}}
	if s.File != "" {
		text, err := s.read(s.File)
		if err != nil {
			return nil, err
		}
		doc, err := loadFile(k, s.File, text, known, p)
		if err != nil {
			return nil, err
		}
		if s.Texts == nil && !p.set(known) {
			return nil, fmt.Errorf("%s:1: nothing is set here, so all would be as by default, access control off: write at least one setting, such as log.level; to start with the defaults name no file", s.File)
		}
		c.Policy.Config, c.Access, c.Texts[s.File] = doc.settings(), doc.access(), text
		if c.Policy.ShadowConfigs, err = doc.shadowSettings(); err != nil {
			return nil, err
		}
		c.lists = doc.lists()
		c.Watched = append(c.Watched, s.File)
	}
	ofFile := maps.Clone(p)
	if err := s.loadEnvironment(k, known, p); err != nil {
		return nil, err
	}
	for key, value := range s.Flags {
		p[key] = "flag"
		if err := k.Set(key, value); err != nil {
			return nil, err
		}
	}
	for key, place := range ofFile {
		if p[key] != place {
			c.over[key] = place
		}
	}
	if err := s.askToken(k, p); err != nil {
		return nil, err
	}
	if s.Manager != "" && p["launcher.manager"] == "" {
		p["launcher.manager"] = "HAMADRYAD_MANAGER"
		if err := k.Set("launcher.manager", s.Manager); err != nil {
			return nil, err
		}
	}
	c.values = map[string]any{}
	for _, key := range known {
		c.values[key] = k.Get(key)
	}
	return c, c.finish(k, s)
}

// askToken takes the token's values for keys that no other source sets. If another source names the
// manager, an unreadable token is no mistake yet: it may have been used.
func (s Sources) askToken(k *koanf.Koanf, p places) error {
	if s.Token == nil {
		return nil
	}
	told, err := s.Token(k.String("auth.token"))
	if err != nil && p["launcher.manager"] == "" {
		return fmt.Errorf("%s: auth.token: %w", p.of("auth.token"), err)
	}
	for key, value := range told {
		if p[key] != "" {
			continue
		}
		p[key] = "auth.token"
		if err := k.Set(key, value); err != nil {
			return err
		}
	}
	return nil
}

func (s Sources) known() []string {
	var known []string
	for key := range defaults() {
		known = append(known, key)
	}
	for _, key := range s.CoreKeys {
		known = append(known, "core."+key)
	}
	slices.Sort(known)
	return known
}

// provider hands a map to koanf.
type provider map[string]any

func (p provider) Read() (map[string]any, error) { return p, nil }
func (p provider) ReadBytes() ([]byte, error)    { return nil, errors.New("config: a map is no bytes") }

// nested makes sections of keys with dots. No key may be a section of another.
func nested(values map[string]any) map[string]any {
	all := map[string]any{}
	for key, value := range values {
		path := strings.Split(key, ".")
		section := all
		for _, name := range path[:len(path)-1] {
			below, is := section[name].(map[string]any)
			if !is {
				below = map[string]any{}
				section[name] = below
			}
			section = below
		}
		section[path[len(path)-1]] = value
	}
	return all
}

// filled leaves out empty sections: they count as missing.
func filled(values map[string]any) map[string]any {
	defaulted := defaults()
	var fill func(path string, values map[string]any)
	fill = func(path string, values map[string]any) {
		for key, value := range values {
			full := join(path, key)
			_, single := defaulted[full]
			below, section := value.(map[string]any)
			switch {
			case value == nil && !single && !strings.HasPrefix(full, "core."):
				delete(values, key)
			case section && !single:
				fill(full, below)
			}
		}
	}
	fill("", values)
	return values
}

func loadFile(k *koanf.Koanf, file string, text []byte, known []string, p places) (*document, error) {
	doc, err := parseDocument(file, text)
	if err != nil {
		return nil, err
	}
	if wrong := doc.check(known, p); len(wrong) > 0 {
		return nil, wrong
	}
	k.Delete("launcher.slots") // kinds in the file replace the default's, they do not join them
	values, err := yaml.Parser().Unmarshal(text)
	if err != nil {
		return nil, noYAML(file, text, err)
	}
	if err := k.Load(provider(filled(values)), nil); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	k.Delete("policy.settings")
	k.Delete("policy.shadowSettings")
	return doc, nil
}

func readBounded(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s: name an existing one, or leave it out to use the defaults", file)
	}
	if err != nil {
		return nil, err
	}
	if info.Size() > fileBytesMax {
		return nil, fmt.Errorf("%s has %d bytes; a configuration has at most %d", file, info.Size(), fileBytesMax)
	}
	return os.ReadFile(file)
}

// loadEnvironment takes HAMADRYAD_SECTION_KEY variables. A variable that starts with a section but
// names no key of it is an error. Variables for commands do not replace a process's own
// credentials.
func (s Sources) loadEnvironment(k *koanf.Koanf, known []string, p places) error {
	byVariable := map[string]string{}
	var variables []string
	for _, key := range known {
		v := "HAMADRYAD_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
		byVariable[v] = key
		variables = append(variables, v)
	}
	var wrong Errors
	own, ofFile := s.ownIdentity(p), maps.Clone(p)
	take := func(name, value string) (string, any) {
		if key, ok := byVariable[name]; ok {
			if slices.Contains(clientKeys, key) && (own || ofFile[key] != "") {
				return "", nil
			}
			p[key] = name
			return key, value
		}
		if slices.Contains(otherVariables, name) {
			return "", nil
		}
		for _, section := range sections(known) {
			if strings.HasPrefix(name, "HAMADRYAD_"+strings.ToUpper(section)+"_") {
				wrong = append(wrong, fmt.Sprintf("%s: there is no such setting%s", name, didYouMean(name, variables)))
			}
		}
		return "", nil
	}
	environ := func() []string { return s.Environ }
	if err := k.Load(env.Provider(".", env.Opt{Prefix: "HAMADRYAD_", TransformFunc: take, EnvironFunc: environ}), nil); err != nil {
		return err
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return wrong
	}
	return nil
}

// finish decodes, validates and reads the files that the policy's settings name.
func (c *Config) finish(k *koanf.Koanf, s Sources) error {
	settings, ofShadows := c.Policy.Config, c.Policy.ShadowConfigs
	if wrong := c.decode(k); len(wrong) > 0 {
		return wrong
	}
	c.Policy.Config, c.Policy.ShadowConfigs = settings, ofShadows
	if c.Policy.Path != "" && c.places["policy.name"] == "" {
		c.Policy.Name = PolicyName(c.Policy.Path)
	}
	if wrong := c.validate(); len(wrong) > 0 {
		return wrong
	}
	if wrong := append(c.checkPolicyNames(), c.checkShadows()...); len(wrong) > 0 {
		return wrong
	}
	if wrong := c.checkAuth(); len(wrong) > 0 {
		return wrong
	}
	var err error
	if c.Policy.Config.Files, err = c.readFiles(s, "policy.files", c.Policy.Files); err != nil {
		return err
	}
	for _, name := range c.Policy.Shadow {
		of := c.Policy.ShadowConfigs[name]
		if of.Files, err = c.readFiles(s, "policy.shadowFiles", c.Policy.ShadowFiles[name]); err != nil {
			return err
		}
		if len(of.Files) > 0 {
			if c.Policy.ShadowConfigs == nil {
				c.Policy.ShadowConfigs = map[string]scheduler.Config{}
			}
			c.Policy.ShadowConfigs[name] = of
		}
	}
	return nil
}

// readFiles reads the files that a key names, for a policy, and has them watched.
func (c *Config) readFiles(s Sources, key string, names []string) (files []scheduler.ConfigFile, err error) {
	for _, name := range names {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(c.File), path)
		}
		data, err := s.read(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", c.places.of(key), key, err)
		}
		c.Texts[path] = data
		files = append(files, scheduler.ConfigFile{Name: name, Data: data})
		c.Watched = append(c.Watched, path)
	}
	return files, nil
}

// Fallback is the name of the policy that decides in the manager's process while another fails.
const Fallback = "fallback"

// checkPolicyNames returns the mistakes in names of policies: a policy has one name everywhere.
func (c *Config) checkPolicyNames() Errors {
	var wrong Errors
	for _, key := range []struct {
		name  string
		names []string
	}{{"policy.name", []string{c.Policy.Name}}, {"policy.shadow", c.Policy.Shadow}} {
		if slices.Contains(key.names, Fallback) {
			wrong = append(wrong, fmt.Sprintf("%s: %s is the name of the policy in the manager, which decides while another fails: give yours another name", c.places.of(key.name), Fallback))
		}
	}
	return wrong
}

// checkShadows returns the settings and files for policies that are no shadows.
func (c *Config) checkShadows() Errors {
	var wrong Errors
	for _, name := range slices.Sorted(maps.Keys(c.Policy.ShadowConfigs)) {
		if !slices.Contains(c.Policy.Shadow, name) {
			wrong = append(wrong, fmt.Sprintf("%s: policy.shadowSettings has settings for %s, which is no shadow: add it to policy.shadow, or remove them", c.places.of("policy.shadowSettings"), name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Policy.ShadowFiles)) {
		if !slices.Contains(c.Policy.Shadow, name) {
			wrong = append(wrong, fmt.Sprintf("%s: policy.shadowFiles has files for %s, which is no shadow: add it to policy.shadow, or remove them", c.places.of("policy.shadowFiles"), name))
		}
	}
	return wrong
}

// validate is made when a configuration is first checked: most commands read none.
var validate = sync.OnceValue(newValidator)

func (c *Config) validate() Errors {
	err := validate().Struct(c)
	var fields validator.ValidationErrors
	if err == nil {
		return nil
	}
	if !errors.As(err, &fields) {
		return Errors{err.Error()}
	}
	var wrong Errors
	for _, f := range fields {
		key := strings.TrimPrefix(f.Namespace(), "Config.")
		wrong = append(wrong, fmt.Sprintf("%s: %s is %v: %s", c.placeOf(key, f), key, shown(f.Value()), rule(f)))
	}
	return wrong
}

// placeOf is the place of a key that breaks a rule. A key that nobody set breaks it because of the
// value of another key; then it is that key's place.
func (c *Config) placeOf(key string, f validator.FieldError) string {
	if c.places[key] != "" || f.Tag() != "gtfield" {
		return c.places.of(key)
	}
	return c.places.of(key[:strings.LastIndexByte(key, '.')+1] + lowerFirst(f.Param()))
}

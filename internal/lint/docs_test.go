package lint_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	_ "github.com/hamadryad/hamadryad/plugins/fair"
	_ "github.com/hamadryad/hamadryad/plugins/hfsp"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
)

// quoted matches text in backticks, and the identifier after a package's name; linked matches the
// target of a link.
var (
	quoted = regexp.MustCompile("`([^`\\s]+?)(?:\\.[A-Z]\\w*)?`")
	linked = regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)
)

// What documents name exists: a path of the repository in backticks, and where a link goes.
func TestDocumentsNameWhatExists(t *testing.T) {
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range append(documents, "README.md") {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range linked.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(document), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", document, m[1])
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
			if top, _, isPath := strings.Cut(m[1], "/"); !isPath || !isFolder(top) || top == "build" || top == "docs" {
				continue
			}
			if found, err := filepath.Glob(m[1]); err != nil || len(found) == 0 {
				t.Errorf("%s names %s, which is not there", document, m[1])
			}
		}
	}
}

var (
	// called is a function or method that a document names, as `name()` or `Type.name()`.
	called = regexp.MustCompile("`(\\w+(?:\\.\\w+)?)\\(\\)`")
	// declared matches a function that a file declares; its receiver type may have parameters.
	declared = regexp.MustCompile(`(?m)^func (?:\((?:\w+ )?\*?(\w+)(?:\[[^]]*\])?\) )?(\w+)[\[(]`)
	// structure is a type with fields, embedded one of them that is a type's name alone:
	// its methods are those of the type around it.
	structure = regexp.MustCompile(`(?ms)^type (\w+) struct \{\n(.*?)^\}`)
	embedded  = regexp.MustCompile(`(?m)^\t\*?(\w+)(?: *//.*)?$`)
)

// The functions that documents name are declared somewhere.
func TestDocumentsNameFunctionsThatExist(t *testing.T) {
	there, parts := map[string]bool{}, map[string][]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			there[strings.TrimPrefix(m[1]+"."+m[2], ".")] = true
		}
		for _, m := range structure.FindAllStringSubmatch(string(text), -1) {
			for _, e := range embedded.FindAllStringSubmatch(m[2], -1) {
				parts[m[1]] = append(parts[m[1]], e[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	documents, _ := filepath.Glob("docs/*.md")
	for _, document := range append(documents, "README.md") {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range called.FindAllStringSubmatch(string(text), -1) {
			of, name, _ := strings.Cut(m[1], ".")
			promoted := slices.ContainsFunc(parts[of], func(part string) bool { return there[part+"."+name] })
			if !there[m[1]] && !promoted {
				t.Errorf("%s names %s(), which nothing declares: it has another name now", document, m[1])
			}
		}
	}
}

// section is a link to a section of a document, or of the same one; heading is a heading.
var (
	section = regexp.MustCompile(`\]\(([^)#\s:]*)#([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
)

// The sections that links lead to are there, under the names that GitHub makes of headings.
func TestDocumentsLinkToSections(t *testing.T) {
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	guides, err := filepath.Glob("docs/operations/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, document := range append(append(documents, guides...), "README.md", "CONTRIBUTING.md") {
		for _, m := range section.FindAllStringSubmatch(mustRead(t, document), -1) {
			target := document
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(document), m[1])
			}
			if found++; !anchors(mustRead(t, target))[m[2]] {
				t.Errorf("%s links to section #%s of %s, which is not there", document, m[2], target)
			}
		}
	}
	if found == 0 {
		t.Error("no document links to a section: does the pattern still find them?")
	}
}

// anchors are the names of a document's sections.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])
		names[name] = true
	}
	return names
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// The lists of parts that settings may name are those of the registries: in the policies' own
// texts, on the line of the setting, and in the guide, in the setting's row.
func TestDocumentsListParts(t *testing.T) {
	guide, err := os.ReadFile("docs/POLICIES.md")
	if err != nil {
		t.Fatal(err)
	}
	all := settings.All()
	if len(all) != 5 {
		t.Errorf("there are %d registries: list those that are new here, and in the guide", len(all))
	}
	for _, c := range all {
		policy := "plugins/fair/doc.go"
		if c.Setting == "estimator" {
			policy = "plugins/hfsp/doc.go"
		}
		text, err := os.ReadFile(policy)
		if err != nil {
			t.Fatal(err)
		}
		key, names := c.Setting[strings.LastIndex(c.Setting, ".")+1:], regexp.QuoteMeta(strings.Join(c.Names, ", "))
		if !regexp.MustCompile(`(?m)^//\s+` + key + `: .*` + names + `\b`).Match(text) {
			t.Errorf("%s does not list the parts %v of %s", policy, c.Names, c.Setting)
		}
		if !regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(c.Setting) + "`.*\\| " + names + " \\|$").Match(guide) {
			t.Errorf("docs/POLICIES.md does not list the parts %v of %s", c.Names, c.Setting)
		}
	}
}

package hamadryad_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// quoted is what documents set in backticks, but for the name of an identifier after
// that of its package; linked is where a link goes to.
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
	// declared is one that a file declares; a type may have parameters.
	declared = regexp.MustCompile(`(?m)^func (?:\((?:\w+ )?\*?(\w+)(?:\[[^]]*\])?\) )?(\w+)[\[(]`)
)

// The functions that documents name are declared somewhere.
func TestDocumentsNameFunctionsThatExist(t *testing.T) {
	there := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			there[strings.TrimPrefix(m[1]+"."+m[2], ".")] = true
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
			if !there[m[1]] {
				t.Errorf("%s names %s(), which nothing declares: it has another name now", document, m[1])
			}
		}
	}
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

package lint

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// TestPackageCommentsAreReadable holds the sentences of package comments to SentenceMax: of what policy
// authors read, and of the policies. The kit of package schedtest is not among them.
func TestPackageCommentsAreReadable(t *testing.T) {
	root := os.DirFS(".")
	for _, folder := range []string{"sdk/scheduler", "plugins"} {
		packages := 0
		err := fs.WalkDir(root, folder, func(path string, d fs.DirEntry, err error) error {
			if path == "sdk/scheduler/schedtest" {
				return fs.SkipDir
			}
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := fs.ReadFile(root, path)
			if err != nil {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil || file.Doc == nil {
				return err
			}
			packages++
			for _, sentence := range LongSentences(withoutCode(file.Doc.Text())) {
				t.Errorf("%s: a sentence of the package comment has more than %d words: %s", path, SentenceMax, sentence)
			}
			return nil
		})
		if err != nil || packages < 10 {
			t.Errorf("%s: got %d package comments, error %v", folder, packages, err)
		}
	}
}

// withoutCode returns a comment without its indented code.
func withoutCode(comment string) string {
	lines := strings.Split(comment, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "\t") {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

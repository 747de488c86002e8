package main

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/site"
)

// shownText is a text that people read: a document, a page, or a string of the program.
type shownText struct {
	place string
	text  string
}

// shownTexts are all texts of the repository that may show commands or name keys: documents, units
// and alerts, pages, and the strings in Go files that are no tests.
func shownTexts(t *testing.T) (all []shownText) {
	t.Helper()
	const root = "../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == "build" || name == "testdata" || name == "baselines" || strings.HasPrefix(name, ".") && path != root {
				return filepath.SkipDir
			}
			return nil
		}
		place := strings.TrimPrefix(path, root+"/")
		inDeploy := strings.HasPrefix(place, "deploy/")
		switch ext := filepath.Ext(name); {
		case ext == ".go" && !strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(name, ".pb.go") && !strings.HasSuffix(name, ".gen.go"):
			all = append(all, stringsIn(t, path, place)...)
		case ext == ".md", ext == ".html", name == "alerts.yaml", name == "openapi.yaml", name == "Makefile", inDeploy && ext != ".go" && d.Type().IsRegular():
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all = append(all, shownText{place, string(text)})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// stringsIn are the string literals of a Go file.
func stringsIn(t *testing.T, path, place string) (all []shownText) {
	t.Helper()
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if text, err := strconv.Unquote(l.Value); err == nil && len(text) > 0 {
				all = append(all, shownText{place + ":" + strconv.Itoa(files.Position(l.Pos()).Line), text})
			}
		}
		return true
	})
	return all
}

var (
	// shownCommand is a command line as it stands in a text. It ends where a shell's word ends it, or
	// the quotation marks or the element around it.
	shownCommand = regexp.MustCompile("(?m)(?:^|[\\s\"'`(>@])(?:[./][^\\s=]*/)?hamadryad((?: +[^\\s\"`<>|;&#]+| +'[^'\\n]*')+)")
	// optional is what may be left out, or says what a template does; placeholder stands for a value.
	optional    = regexp.MustCompile(`\{\{(?:if|else|end|with|range)[^}]*\}\}|…|\.\.\.`)
	placeholder = regexp.MustCompile(`\{\{[^}]*\}\}|%(?:\[\d+\])?[svdq]`)
	brackets    = regexp.MustCompile(`\[[^\]\n]*\]`)
	// beginsCommand is the first word behind the program's name where that runs it: in scripts and units it
	// is a user's name, a folder's and a file's, too.
	beginsCommand = regexp.MustCompile(`^(--[a-z][a-z-]*|[a-z_]+(-[a-z]+)*)$`)
	// redirection is the number of a stream before its redirection.
	redirection = regexp.MustCompile(` \d>`)
)

// inProse are words behind the program's name that name no command.
var inProse = []string{"is", "and", "has", "in", "of", "itself", "to", "that", "may", "for", "with", "from", "as", "was", "does", "binary", "processes", "lines", "core", "X", "--cacert"}

// words splits a command line as a shell does, without what stands for further values.
func words(line string) (list []string) {
	line = brackets.ReplaceAllString(placeholder.ReplaceAllString(optional.ReplaceAllString(line, ""), "X"), "")
	for _, w := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1) {
		w = strings.TrimRight(strings.Trim(w, "'"), ".,:)\\")
		if w != "" && w != "$" {
			list = append(list, w)
		}
	}
	return list
}

// Each command that documents, pages, help and messages show exists, with its flags and as many arguments.
func TestShownCommandsExist(t *testing.T) {
	found := 0
	for _, shown := range shownTexts(t) {
		for _, m := range shownCommand.FindAllStringSubmatch(redirection.ReplaceAllString(shown.text, " >"), -1) {
			line := words(m[1])
			if len(line) == 0 || slices.Contains(inProse, line[0]) || !beginsCommand.MatchString(line[0]) || strings.HasPrefix(line[0], "hamadryad") {
				continue
			}
			found++
			if wrong := parses(line); wrong != "" {
				t.Errorf("%s shows %q: %s", shown.place, "hamadryad "+strings.Join(line, " "), wrong)
			}
		}
	}
	if found < 200 {
		t.Errorf("only %d commands were found", found)
	}
}

// parses says what is wrong with a command line; "" where it can be run. The name of a command alone
// stands for the command.
func parses(line []string) string {
	root := (&cli{}).root()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(line...)
	cmd, rest, err := root.Find(line)
	if err != nil {
		return err.Error()
	}
	if cmd.DisableFlagParsing || cmd.Name() == "help" {
		return ""
	}
	if err := cmd.ParseFlags(rest); err != nil {
		var empty *pflag.ValueRequiredError // its value is in quotation marks, or the flag alone is named
		if errors.Is(err, pflag.ErrHelp) || errors.As(err, &empty) {
			return ""
		}
		return cmd.FlagErrorFunc()(cmd, err).Error()
	}
	args := cmd.Flags().Args()
	switch {
	case len(args) == 0:
		return ""
	case !cmd.Runnable():
		return noCommandBelow(cmd, args)
	}
	if err := cmd.ValidateArgs(args); err != nil {
		return err.Error()
	}
	return ""
}

func noCommandBelow(cmd *cobra.Command, args []string) string {
	if !cmd.HasAvailableSubCommands() {
		return ""
	}
	return unknownBelow(cmd, args[0]).Error()
}

// shownKey is a key of the configuration as texts name one.
var shownKey = regexp.MustCompile(`(?:^|[\s"'` + "`" + `(>])((?:manager|launcher|policy|auth|core|limits|log)\.[a-z][a-zA-Z]*(?:-[a-z]+)*(?:\.[a-z][a-zA-Z]*)*)`)

// endings are those of file names, which are no keys.
var endings = []string{"yaml", "log", "go", "proto", "pem", "key", "token", "md", "html", "json", "service", "txt", "test", "sh", "css", "js", "keytab", "socket", "webp", "example"}

// keys are all keys of the configuration, and the sections that they are in.
func keys(t *testing.T) map[string]bool {
	t.Helper()
	c, err := config.Load(config.Sources{CoreKeys: site.CoreKeys()})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{"policy.settings": true}
	for _, x := range c.Settings(core.Settings{}, site.CoreKeys()) {
		all[x.Key] = true
	}
	for _, key := range config.AccessKeys {
		all["auth."+key] = true
	}
	for key := range all {
		for i := strings.LastIndexByte(key, '.'); i > 0; i = strings.LastIndexByte(key[:i], '.') {
			all[key[:i]] = true
		}
	}
	return all
}

// open says whether what is below a key is named by the site.
func open(key string) bool {
	for _, above := range []string{"policy.settings.", "auth.pools.", "auth.groups.", "auth.roles.", "auth.impersonators.", "auth.revoked.", "launcher.slots.", "core.kinds."} {
		if strings.HasPrefix(key, above) {
			return true
		}
	}
	return false
}

// Each key of the configuration that documents, pages, help and messages name is one.
func TestNamedKeysExist(t *testing.T) {
	all, found := keys(t), 0
	for _, shown := range shownTexts(t) {
		for _, m := range shownKey.FindAllStringSubmatch(shown.text, -1) {
			last := m[1][strings.LastIndexByte(m[1], '.')+1:]
			if slices.Contains(endings, last) && !all[m[1]] {
				continue
			}
			if found++; !all[m[1]] && !open(m[1]) {
				t.Errorf("%s names the key %s, which does not exist", shown.place, m[1])
			}
		}
	}
	if found < 300 {
		t.Errorf("only %d keys were found", found)
	}
}

// fenced is a block of YAML in a document.
var fenced = regexp.MustCompile("(?ms)^ *```yaml[^\n]*\n(.*?)^ *```")

// Each configuration that a document shows has keys that exist.
func TestShownConfigurationsHaveKeysThatExist(t *testing.T) {
	all, found := keys(t), 0
	for _, shown := range shownTexts(t) {
		if !strings.HasSuffix(shown.place, ".md") {
			continue
		}
		for _, m := range fenced.FindAllStringSubmatch(shown.text, -1) {
			var sections map[string]any
			if yaml.Unmarshal([]byte(m[1]), &sections) != nil || len(sections) == 0 {
				continue
			}
			for section := range sections {
				if !all[section] {
					sections = nil // it is no configuration of ours
					break
				}
			}
			for _, key := range flattened("", sections) {
				if found++; !all[key] && !open(key) {
					t.Errorf("%s shows a configuration with %s, which does not exist", shown.place, key)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d keys were found", found)
	}
}

// flattened are the keys of a configuration, those of sections with what is in them.
func flattened(above string, of map[string]any) (list []string) {
	for key, value := range of {
		list = append(list, above+key)
		if below, ok := value.(map[string]any); ok {
			list = append(list, flattened(above+key+".", below)...)
		}
	}
	return list
}

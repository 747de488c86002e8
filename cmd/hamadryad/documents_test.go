package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/hamadryad/hamadryad/cmd/internal/usage"
	"github.com/hamadryad/hamadryad/engine/client"
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
	// optional is what may be left out, and template directives; placeholder stands for a value.
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

// notRun are shown commands that TestShownCommandsRun leaves out, by how they begin or by a flag, and why.
var notRun = []struct{ begins, has, why string }{
	{begins: "serve", why: "it does not end; TestUnitsTellSystemd and TestBackupAndRestore run it"},
	{begins: "local", why: "it starts a cluster of its own; the scripts and TestGuides run it"},
	{begins: "ui", why: "it does not end; TestUI runs it"},
	{has: "--watch", why: "it does not end; the script follow runs it"},
	{has: "--manager", why: "it names a manager of another site"},
	{has: "--ca", why: "it names a manager of another site"},
	{has: "--for", why: "a site without proof lets nobody act for others; access_test.go runs it"},
	{begins: "ca issue", why: "it needs a CA; the script ca runs it"},
	{begins: "token create", why: "it needs a CA; TestSecure runs it"},
	{begins: "config use", why: "it needs contexts; the script contexts runs it"},
	{begins: "config current", why: "it needs contexts; the script contexts runs it"},
	{begins: "config rollback", why: "it needs an older version; the script settings runs it"},
	{begins: "config diff", why: "it needs versions; the script settings runs it"},
	{begins: "config versions", why: "it needs versions; the script settings runs it"},
	{begins: "config apply", why: "it needs a site with a file; the script settings runs it"},
	{begins: "publish", why: "it needs what a job left behind; the tests of engine/publish make that"},
	{begins: "submit", why: "it runs a program of the reader's"},
	{begins: "policy check", why: "it takes long, and a program of the reader's; the script policy and TestGuides run it"},
	{begins: "policy test", why: "it needs a folder of tests; the script policytest and TestGuides run it"},
	{begins: "queue", why: "only dynamic-priority has queues; its script runs them"},
	{begins: "checkpoint", why: "it is hidden, and needs a bench"},
	{begins: "simulate --topology", why: "it needs a trace of hosts; the script simulate runs it"},
	{begins: "workload convert --sort", why: "it needs a trace of SWIM; the script workload runs it"},
	{begins: "workload convert --csv-mapping", why: "it needs a table; the script workload runs it"},
	{begins: "workload generate --spec", why: "it needs a specification; the script workload runs it"},
	{begins: "workload describe -", why: "it reads from a pipe; the script workload runs it"},
	{begins: "simulate --cluster", why: "it needs files of clusters; the script simulate runs it"},
	{begins: "simulate --expect", why: "it needs the file of an experiment; the script expect runs it"},
}

// standIns are things that exist at the site of the test, by the names that texts give them.
var standIns = []struct {
	named *regexp.Regexp
	there string
}{
	{regexp.MustCompile(`^(job-\d+|JOB|\$JOB)$`), "job-1"},
	{regexp.MustCompile(`^(attempt-\d+|ATTEMPT)$`), "attempt-$attempt"},
	{regexp.MustCompile(`^(node-\d+|launcher-\d+|LAUNCHER|NAME)$`), "launcher-1"},
	{regexp.MustCompile(`^(FILE|[\w/.-]+\.yaml)$`), "site.yaml"},
	{regexp.MustCompile(`^PRIORITY$`), "HIGH"},
	{regexp.MustCompile(`^(LOG|cluster|hamadryad-data/manager)$`), "$data/manager"},
	{regexp.MustCompile(`^([\w/.-]+/manager/log|events-\d+\.log)$`), "$data/manager/log"},
	{regexp.MustCompile(`^[\w/.-]+\.(jsonl|tsv|json)(\.\w+)?$`), "there.jsonl"},
	{regexp.MustCompile(`^/etc/hamadryad/ca$`), "made-ca"},
	{regexp.MustCompile(`^(\./)?[\w/]*hamadryad-policy-(mine|fair)$`), "fair"},
}

// runnable is a shown command with things that exist, as a line for a shell; false: it is not run.
func runnable(t *testing.T, line []string, used map[string]bool) (text string, runs bool) {
	t.Helper()
	joined := strings.Join(line, " ")
	for _, n := range notRun {
		if n.begins != "" && (joined == n.begins || strings.HasPrefix(joined, n.begins+" ")) || n.has != "" && slices.Contains(line, n.has) {
			used[n.begins+n.has] = true
			return "", false
		}
	}
	root := wholeRoot()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(line...)
	cmd, rest, err := root.Find(line)
	if err != nil || !cmd.Runnable() || cmd.DisableFlagParsing || cmd.ParseFlags(rest) != nil || cmd.ValidateArgs(cmd.Flags().Args()) != nil {
		return "", false // it is named alone, or a flag of it
	}
	for i, word := range line {
		if strings.Contains(word, "X") { // a program fills it in
			return "", false
		}
		if line[0] == `"workload"` && i == len(line)-1 && cmd.Name() != "describe" { // a file that is made
			line[i] = `"` + word + `"`
			continue
		}
		for _, s := range standIns {
			name, value, isPair := strings.Cut(word, "=")
			if !isPair {
				value = name
			}
			if s.named.MatchString(value) {
				word = strings.TrimSuffix(word, value) + s.there
				break
			}
		}
		line[i] = `"` + word + `"`
	}
	return "hamadryad " + strings.Join(line, " "), true
}

// Each command that documents, pages, help and messages show is run at a site, unless a table says why not: with
// things that exist it ends with success, or with what the table of exit codes has for things that changed.
func TestShownCommandsRun(t *testing.T) {
	var script strings.Builder
	script.WriteString("set -u\ndata=$PWD/cluster\nnoop 3\nattempt=$(hamadryad status job-1 --attempts | sed -n 's/^attempt-\\([0-9]*\\).*/\\1/p' | head -n 1)\n" +
		"mkdir files\nhamadryad workload generate --jobs 3 --seed 1 files/there.jsonl\nprintf 'policy: {name: fair}\\n' > files/site.yaml\n")
	seen, used, last := map[string]bool{}, map[string]bool{}, 0
	for _, shown := range shownTexts(t) {
		for _, m := range shownCommand.FindAllStringSubmatch(redirection.ReplaceAllString(shown.text, " >"), -1) {
			line := words(m[1])
			if len(line) == 0 || slices.Contains(inProse, line[0]) || !beginsCommand.MatchString(line[0]) || strings.HasPrefix(line[0], "hamadryad") {
				continue
			}
			text, runs := runnable(t, line, used)
			if !runs || seen[text] {
				continue
			}
			seen[text] = true
			last++
			fmt.Fprintf(&script, "cp -r files at-%d; cd at-%[1]d; XDG_CONFIG_HOME=$PWD HAMADRYAD_CONFIG=$PWD/site.yaml timeout 300 %s > out.txt 2>&1 < /dev/null; code=$?; cd ..\n"+
				"case $code in %d|%d|%d) ;; *) echo \"exit code $code of \"%s\": $(tail -n 2 at-%[1]d/out.txt | tr '\\n' ' ')\"; esac\n", last, text, client.ExitDone, client.ExitFailed, client.ExitRefused, shellQuoted(text))
		}
	}
	for _, n := range notRun {
		if !used[n.begins+n.has] {
			t.Errorf("no text shows %q, which is not to be run: leave it out of the table", n.begins+n.has)
		}
	}
	if last < 60 {
		t.Errorf("only %d commands were found", last)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, "hamadryad"), "local", "--launchers", "2", "--data", "cluster", "--", "bash", "-c", script.String())
	cmd.Dir, cmd.WaitDelay = t.TempDir(), time.Second
	cmd.Env = append(os.Environ(), "PATH="+binaries+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%d commands ran", last)
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "exit code ") {
			t.Error(line)
		}
	}
}

// shellQuoted is a text as one word of a shell.
func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// parses returns what is wrong with a command line; "" if it can be run. A command's name alone is
// valid.
func parses(line []string) string {
	root := wholeRoot()
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
	return usage.UnknownBelow(cmd, args[0]).Error()
}

// shownKey is a key of the configuration as texts name one.
var shownKey = regexp.MustCompile(`(?:^|[\s"'` + "`" + `(>])((?:manager|launcher|policy|auth|core|limits|log)\.[a-z][a-zA-Z]*(?:-[a-z]+)*(?:\.[a-z][a-zA-Z]*)*)`)

// endings are file name extensions, which are not keys.
var endings = []string{"yaml", "log", "go", "proto", "pem", "key", "token", "md", "html", "json", "service", "txt", "test", "sh", "css", "js", "ts", "rs", "keytab", "socket", "webp", "example"}

// keys are all keys of the configuration, and the sections that they are in.
func keys(t *testing.T) map[string]bool {
	t.Helper()
	c, err := config.Load(config.Sources{CoreKeys: site.CoreKeys()})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{"policy.settings": true, "policy.shadowSettings": true}
	for _, x := range c.Settings(core.Settings{}, site.CoreKeys()) {
		all[x.Key] = true
	}
	for _, key := range config.AccessKeys {
		all["auth."+key] = true
	}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(core.Settings{}.Schedules)) {
		all["core.schedules."+f.Tag.Get("json")] = true
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
	for _, above := range []string{"policy.settings.", "policy.shadowSettings.", "policy.shadowFiles.", "auth.pools.", "auth.groups.", "auth.roles.", "auth.impersonators.", "auth.revoked.", "launcher.slots.", "launcher.resources.", "core.kinds."} {
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

// flattened lists the keys of a configuration, with those of its sections.
func flattened(above string, of map[string]any) (list []string) {
	for key, value := range of {
		list = append(list, above+key)
		if below, ok := value.(map[string]any); ok {
			list = append(list, flattened(above+key+".", below)...)
		}
	}
	return list
}

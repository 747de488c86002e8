package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/cmd/internal/processes"
	"github.com/hamadryad/hamadryad/internal/minihdfs/kit"
)

// guideMax bounds the play of one guide.
const guideMax = 10 * time.Minute

// guideLine is a line of a guide that its player acts on: a block's head with its kind and the file
// that it fills, its end, or a wait.
var guideLine = regexp.MustCompile("^(?:```(\\w*) ?(\\S*)|<!-- until: (.*) -->)$")

// guideMark stands before what a command prints, with the time since the beginning.
var guideMark = regexp.MustCompile(`(?m)^@@@ \d+ s\n`)

// shellNotice is the shell's message about an ended background command. It comes before or after
// the next command's output.
var shellNotice = regexp.MustCompile(`(?m)^\[\d+\][+-]? +(Done|Exit \d+|Terminated|Killed) .*\n`)

// waitNotice is what a command says while a manager is slow to answer, as on a busy machine.
var waitNotice = regexp.MustCompile(`(?m)^hamadryad[a-z-]*: waiting: the manager at .*\n`)

// A guide's files are written and its commands run in one shell, in order. Their output is the one
// that the guide shows.
func TestGuides(t *testing.T) {
	for _, name := range []string{"DAG.md", "HACKING.md", "PLUGINS.md", "POLICIES.md", "SIMULATOR.md"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playGuide(t, filepath.Join("../../docs", name))
		})
	}
}

// shown is a command of a guide with the lines that it is to print.
type shown struct {
	command string
	lines   []string
}

// guideScript makes a script of a guide. It prints a mark before what each of the
// commands prints.
func guideScript(t *testing.T, path string) (script string, all []shown) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("set -m\n")
	kind := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		m := guideLine.FindStringSubmatch(line)
		switch {
		case m != nil && m[3] != "":
			fmt.Fprintf(&b, "until %s; do sleep 0.2; done\n", m[3])
		case m != nil && kind == "" && m[2] != "":
			kind = "file"
			fmt.Fprintf(&b, "cat > %s <<'END OF FILE'\n", m[2])
		case m != nil && kind == "":
			kind = m[1] + " block"
		case m != nil:
			if kind == "file" {
				b.WriteString("END OF FILE\n")
			}
			kind = ""
		case kind == "file":
			b.WriteString(line + "\n")
		case kind == "console block" && strings.HasPrefix(line, "$ "):
			all = append(all, shown{command: line[2:]})
			fmt.Fprintf(&b, "echo \"@@@ $SECONDS s\"\n%s\n", line[2:])
			if !strings.HasSuffix(line, "&") {
				fmt.Fprintf(&b, "code=$?; [ $code = 0 ] || { echo \"exit code $code\"; exit 1; }\n")
			}
		case kind == "console block":
			last := &all[len(all)-1]
			last.lines = append(last.lines, line)
		}
	}
	return b.String(), all
}

func playGuide(t *testing.T, path string) {
	script, all := guideScript(t, path)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Cleanup(func() {
		for _, pid := range processes.Mentioning(dir) {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
	})
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir = dir
	programs := filepath.Dir(guidePython(t, root)) + ":" + binaries
	cmd.Env = append(os.Environ(), "HAMADRYAD="+root, "PATH="+programs+":"+os.Getenv("PATH"), "GUIDE="+dir)
	cmd.WaitDelay = time.Second
	late := time.AfterFunc(guideMax, func() { _ = cmd.Process.Kill() })
	out, err := cmd.CombinedOutput()
	if !late.Stop() {
		err = fmt.Errorf("it takes more than %v", guideMax)
	}
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, logsIn(dir))
	}
	t.Logf("it prints\n%s", out)
	printed := guideMark.Split(waitNotice.ReplaceAllString(shellNotice.ReplaceAllString(string(out), ""), ""), -1)[1:]
	if len(printed) != len(all) {
		t.Fatalf("%d commands of %d ran:\n%s", len(printed), len(all), out)
	}
	for i, c := range all {
		if len(c.lines) > 0 && !prints(c.lines).MatchString(printed[i]) {
			t.Errorf("%s\nis to print\n%s\nand prints\n%s", c.command, strings.Join(c.lines, "\n"), printed[i])
		}
	}
}

// guidePython is the Python that has what the policy in Python needs.
func guidePython(t *testing.T, root string) string {
	t.Helper()
	const name = "policy-python"
	python, err := kit.Python(t.Context(), name, os.DirFS(filepath.Join(root, "examples", name)), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return python
}

// logsIn returns the logs that a guide wrote into its folder.
func logsIn(dir string) string {
	var b strings.Builder
	found, _ := filepath.Glob(filepath.Join(dir, "*", "*.log"))
	for _, path := range found {
		log, _ := os.ReadFile(path)
		fmt.Fprintf(&b, "%s:\n%s\n", filepath.Base(path), log)
	}
	return b.String()
}

// prints matches the output that a guide shows; three dots stand for anything.
func prints(lines []string) *regexp.Regexp {
	text := regexp.QuoteMeta(strings.Join(lines, "\n") + "\n")
	text = strings.ReplaceAll(text, `\.\.\.`, `(?s:.*)`)
	return regexp.MustCompile(`^` + text + `$`)
}

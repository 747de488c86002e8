package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/internal/network"
)

// hosts are machines of their own, as far as network and folders go, on which the commands of
// the guide run. All have the folder that stands there as /data.
type hosts struct {
	*secured
	net  *network.Network
	said *strings.Replacer // replaces the guide's values by those of the test
}

func newHosts(t *testing.T, names ...string) *hosts {
	t.Helper()
	net, err := network.New(names...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(net.Close)
	h := &hosts{secured: &secured{t: t, dir: t.TempDir()}, net: net}
	h.manager = net.Address("node-1") + ":7070"
	h.said = strings.NewReplacer("10.0.0.1:", net.Address("node-1")+":", "/data/", filepath.Join(h.dir, "data")+"/")
	for _, name := range names {
		if err := os.Mkdir(filepath.Join(h.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// command is a line of the guide, to be run on a host.
func (h *hosts) command(ctx context.Context, host, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", "exec env "+h.said.Replace(line))
	cmd.Dir = filepath.Join(h.dir, host)
	cmd.Env = append(os.Environ(), "PATH="+binaries+":"+os.Getenv("PATH"), "HAMADRYAD_LAUNCHER_SLOTS=1", "HAMADRYAD_MANAGER=")
	return cmd
}

// on runs a line on a host to its end, and returns what it printed.
func (h *hosts) on(host, line string) (string, error) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitMax)
	defer cancel()
	cmd, out := h.command(ctx, host, line), &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	err := h.net.Inside(host, cmd.Start)
	if err == nil {
		err = cmd.Wait()
	}
	return out.String(), err
}

func (h *hosts) mustOn(host, line string) string {
	h.t.Helper()
	out, err := h.on(host, line)
	if err != nil {
		h.t.Fatalf("%s$ %s: %v\n%s", host, line, err, out)
	}
	return out
}

// stays starts a line on a host that runs until the test ends, and waits for what its log says.
func (h *hosts) stays(host, line, says string) {
	h.t.Helper()
	cmd := h.command(context.Background(), host, line)
	log := h.keep(cmd, func() error { return h.net.Inside(host, cmd.Start) })
	eventually(h.t, host+" says: "+says, func() bool { return strings.Contains(log.String(), says) })
}

// as has a user run a line on the first host.
func (h *hosts) as(user, line string) (string, error) {
	h.t.Helper()
	return h.on("node-1", fmt.Sprintf("HAMADRYAD_MANAGER=%s HAMADRYAD_AUTH_CERTIFICATE=hamadryad-ca/user/%s.pem %s", h.manager, user, line))
}

// guideHosts are the commands that docs/operations/CLUSTER.md shows with their hosts, and the YAML
// that it has for the manager's file.
func guideHosts(t *testing.T) (lines [][2]string, yaml string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations/CLUSTER.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^(node-\d)\$ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		lines = append(lines, [2]string{m[1], m[2]})
	}
	_, yaml, _ = strings.Cut(string(text), "\n```yaml\n")
	yaml, _, _ = strings.Cut(yaml, "```")
	return lines, yaml
}

var launcherToken = regexp.MustCompile(`launcher (\S+), on its machine.*\n +hamadryad serve launcher --token (\S+)`)

// From nothing to three machines with TLS and a job on them, with the guide's five commands;
// then an administrator lets a user in, and takes it back, while all runs.
func TestTheGuidesThreeMachines(t *testing.T) {
	lines, yaml := guideHosts(t)
	if len(lines) != 6 || yaml == "" {
		t.Fatalf("the guide has five commands and one for another user, and this test finds %v and %q", lines, yaml)
	}
	h := newHosts(t, "node-1", "node-2", "node-3")
	counted := h.input()
	var others []string
	for _, m := range launcherToken.FindAllStringSubmatch(h.mustOn(lines[0][0], lines[0][1]), -1) {
		others = append(others, "TOKEN-OF-"+strings.ToUpper(m[1]), m[2])
	}
	tokens := strings.NewReplacer(others...)
	h.stays(lines[1][0], lines[1][1], "the manager serves")
	for _, l := range lines[2:4] {
		h.stays(l[0], tokens.Replace(l[1]), "joined the manager")
	}
	h.mustOn(lines[4][0], lines[4][1])
	if got := h.counts("out"); got != counted {
		t.Errorf("the words are\n%s\nnot\n%s", got, counted)
	}
	ran, err := h.as("ann", "hamadryad status job-1 --attempts")
	if err != nil || !strings.Contains(ran, "node-2") || !strings.Contains(ran, "node-3") {
		t.Errorf("it did not run on both machines: %v\n%s", err, ran)
	}
	h.letIn(lines[5], yaml, counted)
	h.knowsNoSecret()
}

// letIn is the guide's part about another user.
func (h *hosts) letIn(issue [2]string, yaml, counted string) {
	h.t.Helper()
	file := filepath.Join(h.dir, "node-1", "hamadryad-ca", "manager.yaml")
	made, err := os.ReadFile(file)
	if err != nil {
		h.t.Fatal(err)
	}
	begin, _, found := strings.Cut(string(made), "  roles:\n")
	if !found {
		h.t.Fatalf("%s has no roles:\n%s", file, made)
	}
	roles, _, _ := strings.Cut(yaml, "  pools:\n")
	h.mustOn(issue[0], issue[1])
	for i, step := range []struct {
		text, shown string // of the file, and what is then shown of bob
		refused     string // the error that he gets; "": it runs
	}{
		{string(made), "bob has no role", "bob may not"},
		{begin + yaml, "research", ""},
		{begin + roles, "no list of a pool", `bob may not submit to pool "research"`},
		{string(made), "bob has no role", "bob may not"},
	} {
		writeFile(h.t, file, step.text)
		var shows string
		eventually(h.t, "of bob is shown: "+step.shown, func() bool {
			shows, err = h.as("ann", "hamadryad access bob")
			return err == nil && strings.Contains(shows, step.shown)
		})
		to := fmt.Sprintf("bob-%d", i)
		out, err := h.as("bob", "wordcount --pool research /data/in /data/"+to)
		switch {
		case step.refused == "" && (err != nil || h.counts(to) != counted):
			h.t.Errorf("%s\nbob's job: %v\n%s", shows, err, out)
		case step.refused != "" && (err == nil || !strings.Contains(out, step.refused)):
			h.t.Errorf("%s\nbob is told, after %v:\n%s", shows, err, out)
		}
	}
	audit, err := os.ReadFile(filepath.Join(h.dir, "node-1", "hamadryad-data", "manager", "audit", "audit.jsonl"))
	if err != nil {
		h.t.Fatal(err)
	}
	for result, least := range map[string]int{"ok": 1, "refused": 3} {
		n := len(regexp.MustCompile(`"who":"bob".*"result":"`+result+`"`).FindAll(audit, -1))
		if n < least {
			h.t.Errorf("of bob's requests the audit has %d that are %s, not %d or more:\n%s", n, result, least, audit)
		}
	}
}

// input makes files of words that are more than one task's, and returns how often each word is
// in them, as a plain count finds it.
func (h *hosts) input() string {
	const blocks = 200
	count := map[string]int{}
	var b strings.Builder
	for i := 0; b.Len() < 1<<19; i++ {
		word := fmt.Sprintf("word-%d", i*i%101)
		count[word] += 2 * blocks
		b.WriteString(word + []string{" ", "\n"}[i%2])
	}
	for _, name := range []string{"a", "b"} {
		writeFile(h.t, filepath.Join(h.dir, "data", "in", name), strings.Repeat(b.String()+"\n", blocks))
	}
	var lines []string
	for w, n := range count {
		lines = append(lines, fmt.Sprintf("%s=%d", w, n))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// counts are the lines of an output.
func (h *hosts) counts(out string) string {
	h.t.Helper()
	var all []string
	parts, _ := filepath.Glob(filepath.Join(h.dir, "data", out, "part-*")) // the pattern is good
	for _, path := range parts {
		text, err := os.ReadFile(path)
		if err != nil {
			h.t.Fatal(err)
		}
		all = append(all, strings.Fields(strings.ReplaceAll(string(text), "\t", "="))...)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/internal/proctest"
)

// secured is a cluster of real processes that all authenticate themselves, with a folder for all
// its files.
type secured struct {
	t       *testing.T
	dir     string
	manager string // its address
	logs    []*proctest.Output
}

// run runs one of the programs to its end as a user, "" for nobody, and returns what it
// printed.
func (s *secured) run(user, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), waitMax)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(binaries, program), args...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "HAMADRYAD_MANAGER="+s.manager)
	if user != "" {
		cmd.Env = append(cmd.Env, "HAMADRYAD_AUTH_CERTIFICATE="+filepath.Join(s.dir, "hamadryad-ca", "user", user+".pem"))
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *secured) must(user, program string, args ...string) string {
	s.t.Helper()
	out, err := s.run(user, program, args...)
	if err != nil {
		s.t.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
	return out
}

// begin starts a process of the cluster that stays until the test ends.
func (s *secured) begin(args ...string) *proctest.Output {
	s.t.Helper()
	cmd := exec.Command(filepath.Join(binaries, "hamadryad"), args...)
	cmd.Dir = s.dir
	return s.keep(cmd, cmd.Start)
}

// keep lets a process of the cluster run until the test ends.
func (s *secured) keep(cmd *exec.Cmd, start func() error) *proctest.Output {
	s.t.Helper()
	out := &proctest.Output{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := start(); err != nil {
		s.t.Fatal(err)
	}
	s.logs = append(s.logs, out)
	s.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		late := time.AfterFunc(waitMax, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // how it ended says its log
		late.Stop()
		if s.t.Failed() {
			s.t.Logf("%v said\n%s", cmd.Args, out)
		}
	})
	return out
}

var (
	joins  = regexp.MustCompile(`msg="launchers may join" address=(\S+)`)
	serves = regexp.MustCompile(`msg="the manager serves" address=(\S+) http=(\S+)`)
)

// A cluster with TLS, one launcher with a certificate and one with a token, and what
// such a cluster is for: file and tcp channels between launchers that share nothing.
func TestAClusterWithTLS(t *testing.T) {
	s := &secured{t: t, dir: t.TempDir()}
	s.must("", "hamadryad", "ca", "init", "--cluster", "production")
	s.must("", "hamadryad", "ca", "issue", "manager/m1", "launcher/l1", "user/ann")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "socket")
	writeFile(t, filepath.Join(s.dir, "manager.yaml"), "manager:\n  socket: "+socket+"\npolicy:\n  name: fair\n  settings: {allocations: {pools: {research: {}}}}\n"+
		"auth:\n  pools: {reserch: {submit: {users: [bob]}}}\n  roles:\n    administrator: {users: [ann, "+me.Username+"]}\n")
	log := s.begin("serve", "manager", "--config", "manager.yaml", "--auth", "tls", "--certificate", "hamadryad-ca/manager/m1.pem", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data", "manager",
		"--join", "127.0.0.1:0", "--ca-key", "hamadryad-ca/ca.key")
	eventually(t, "the manager serves", func() bool { return serves.MatchString(log.String()) })
	s.manager = serves.FindStringSubmatch(log.String())[1]
	eventually(t, "launchers may join", func() bool { return joins.MatchString(log.String()) })
	token := s.must("", "hamadryad", "token", "create", "--ca-key", "hamadryad-ca/ca.key", "--data", "manager", "--launcher", "l2", "--ttl", "5m")
	writeFile(t, filepath.Join(s.dir, "l2.token"), token[:strings.Index(token, "\n")])
	for l, proof := range map[string][]string{
		"l1": {"--certificate", "hamadryad-ca/launcher/l1.pem"},
		"l2": {"--token", "l2.token", "--join", joins.FindStringSubmatch(log.String())[1]},
	} {
		log := s.begin(append([]string{"serve", "launcher", "--manager", s.manager, "--auth", "tls", "--slots", "2", "--data", l}, proof...)...)
		eventually(t, l+" joined", func() bool { return strings.Contains(log.String(), "joined the manager") })
	}
	for i := range 8 {
		writeFile(t, filepath.Join(s.dir, "in", string(rune('a'+i))), strings.Repeat("one two three\n", 2000))
	}
	s.must("ann", "wordcount", filepath.Join(s.dir, "in"), filepath.Join(s.dir, "counted"))
	if got := folder(t, filepath.Join(s.dir, "counted")); !strings.Contains(got, "three\t16000") {
		t.Errorf("words were counted wrong: %.200s", got)
	}
	s.must("ann", "channels", filepath.Join(s.dir, "in"), filepath.Join(s.dir, "lengths"))
	if jobs := s.must("ann", "hamadryad", "jobs", "--all"); strings.Count(jobs, " ann ") != 2 {
		t.Errorf("the jobs are not ann's:\n%s", jobs)
	}
	if policy := s.must("ann", "hamadryad", "policy"); !strings.Contains(policy, "reserch") || !strings.Contains(policy, "auth.pools") {
		t.Errorf("of a list of a pool that the policy does not have is told:\n%s", policy)
	}
	out, err := s.run("", "hamadryad", "jobs")
	if err == nil || !strings.Contains(out, "HAMADRYAD_AUTH_CERTIFICATE") {
		t.Errorf("without a certificate: %v\n%s", err, out)
	}
	s.manager = "unix:" + socket // where the kernel identifies the caller
	s.must("", "wordcount", filepath.Join(s.dir, "in"), filepath.Join(s.dir, "mine"))
	if jobs := s.must("", "hamadryad", "jobs", "--all"); strings.Count(jobs, " "+me.Username+" ") != 1 || strings.Count(jobs, " ann ") != 2 {
		t.Errorf("the job that came by the socket is not %s's:\n%s", me.Username, jobs)
	}
	s.knowsNoSecret()
}

// knowsNoSecret fails when a key lies in another file than one for keys, or stands in a log.
func (s *secured) knowsNoSecret() {
	s.t.Helper()
	for _, log := range s.logs {
		if strings.Contains(log.String(), "PRIVATE KEY") {
			s.t.Errorf("a log has a key:\n%s", log)
		}
	}
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Ext(path) == ".key" {
			return err
		}
		text, err := os.ReadFile(path)
		if !strings.HasPrefix(string(text), "\x7fELF") && bytes.Contains(text, []byte("PRIVATE KEY")) {
			s.t.Errorf("%s has a key", path)
		}
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// folder returns what all files of a folder hold.
func folder(t *testing.T, path string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(path, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s holds nothing: %v", path, err)
	}
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

package hdfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/internal/hdfstest"
	"github.com/hamadryad/hamadryad/internal/kerberos"
	"github.com/hamadryad/hamadryad/internal/proctest"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// appVariable makes the test binary the program that submits readTwice.
const appVariable = "HAMADRYAD_TEST_APP"

// readTwice reads a file of HDFS, and again, over other connections, when there is a file
// "gate" in a folder. There it leaves the tickets that it had. Its arguments are Hadoop's
// configuration, the file and the folder.
var readTwice = job.Definition{Name: "read-twice", Build: func(g *job.Graph, args []string) error {
	if len(args) != 3 {
		return errors.New("it needs three arguments")
	}
	folder := args[2]
	g.Stage("read", 1, func(ctx context.Context, _ *job.Node) error {
		for _, name := range []string{"first", "second"} {
			s := New(Options{ConfDir: args[0]})
			_, err := read(s, args[1], 0, -1)
			s.Close()
			if err != nil {
				return err
			}
			cache, err := os.ReadFile(strings.TrimPrefix(os.Getenv(kerberos.CacheVariable), "FILE:"))
			if err != nil {
				return err
			}
			if err := errors.Join(os.WriteFile(filepath.Join(folder, "part"), cache, 0o600), os.Rename(filepath.Join(folder, "part"), filepath.Join(folder, name))); err != nil {
				return err
			}
			for name == "first" {
				if _, err := os.Stat(filepath.Join(folder, "gate")); err == nil {
					break
				}
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(10 * time.Millisecond):
				}
			}
		}
		return nil
	})
	return nil
}}

// hamadryad is a cluster of real processes whose jobs carry tickets.
type hamadryad struct {
	t        *testing.T
	programs string // folder
	dir      string // with its data and configuration
	address  string // the manager's
	log      proctest.Output
}

// build builds its programs meanwhile.
func build(t *testing.T) (wait func() *hamadryad) {
	h := &hamadryad{t: t, programs: t.TempDir(), dir: t.TempDir()}
	built := make(chan error, 1)
	go func() {
		out, err := exec.Command("go", "build", "-o", h.programs+"/", "../cmd/hamadryad", "../plugins/fifo/hamadryad-policy-fifo").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
		built <- err
	}()
	return func() *hamadryad {
		if err := <-built; err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		h.address = l.Addr().String()
		l.Close()
		conf := fmt.Sprintf(`manager: {listen: %[1]q, http: "127.0.0.1:0", data: %[2]q}
launcher: {manager: %[1]q, name: a, data: %[3]q, slots: {default: 1}}
auth: {kerberos: {realms: [%[4]s]}}
`, h.address, filepath.Join(h.dir, "manager"), filepath.Join(h.dir, "launcher"), hdfstest.Realm)
		if err := os.WriteFile(h.conf(), []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(h.log.String())
			}
		})
		return h
	}
}

func (h *hamadryad) conf() string { return filepath.Join(h.dir, "conf.yaml") }

// begin starts one of its processes, and returns what kills it.
func (h *hamadryad) begin(part string) (kill func()) {
	h.t.Helper()
	cmd := exec.Command(filepath.Join(h.programs, "hamadryad"), "serve", part, "--config", h.conf())
	cmd.Stdout, cmd.Stderr = &h.log, &h.log
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	}
	h.t.Cleanup(kill)
	return kill
}

// submit runs readTwice to its end, as the user of that ticket cache.
func (h *hamadryad) submit(user, cache string, args ...string) (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append([]string{"--manager", h.address, "--user", user, "--attempts", "1"}, args...)...)
	cmd.Env = append(os.Environ(), appVariable+"=1", kerberos.CacheVariable+"="+cache)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// carried is a job that goes on.
type carried struct {
	*hamadryad
	folder string // the files that it leaves are there
	conf   string
	url    string
	cache  string // of its user
	ended  chan error
	said   string // once it has ended
}

// carry submits a job of alice's with a ticket that is over soon, and kills the manager
// under it.
func (h *hamadryad) carry(confDir, url, cache string) *carried {
	h.t.Helper()
	kill := h.begin("manager")
	h.begin("launcher")
	j := &carried{hamadryad: h, folder: h.t.TempDir(), conf: confDir, url: url, cache: cache, ended: make(chan error, 1)}
	go func() {
		var err error
		j.said, err = h.submit("alice", cache, "--kerberos", "on", j.conf, url, j.folder)
		j.ended <- err
	}()
	j.has("first")
	kill()
	h.begin("manager")
	return j
}

// has waits for the tickets with which the job has read.
func (j *carried) has(name string) (cache []byte) {
	j.t.Helper()
	proctest.Until(j.t, patience, "the tickets with which the job read "+name, func() bool {
		select {
		case err := <-j.ended:
			j.ended <- err
			if err != nil {
				j.t.Fatalf("the job: %v\n%s", err, j.said)
			}
		default:
		}
		var err error
		cache, err = os.ReadFile(filepath.Join(j.folder, name))
		return err == nil
	})
	return cache
}

// goOn has the job read again when its first ticket is over, and looks at all that is left.
func (j *carried) goOn() {
	t := j.t
	t.Helper()
	first := j.has("first")
	old, err := kerberos.Parse(first)
	if err != nil {
		t.Fatal(err)
	}
	proctest.Until(t, patience, "the end of the first ticket", func() bool { return time.Now().After(old.End.Add(time.Second)) })
	if err := os.WriteFile(filepath.Join(j.folder, "gate"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	second := j.has("second")
	if err := <-j.ended; err != nil {
		t.Fatalf("the job: %v\n%s", err, j.said)
	}
	fresh, err := kerberos.Parse(second)
	if err != nil || !fresh.End.After(old.End) {
		t.Errorf("the second ticket is good until %v, the first one was until %v: %v", fresh.End, old.End, err)
	}
	credentials := filepath.Join(j.dir, "manager", "credentials")
	proctest.Until(t, patience, "end of the job's ticket", func() bool {
		left, err := os.ReadDir(credentials)
		return err == nil && len(left) == 0
	})
	proctest.Until(t, patience, "end of the worker's file of tickets", func() bool { // it ends after its job
		left, err := filepath.Glob(filepath.Join(j.dir, "launcher", "scratch", "tickets*"))
		return err == nil && len(left) == 0
	})
	for what, cache := range map[string][]byte{"first": first, "second": second} {
		for _, secret := range [][]byte{cache[len(cache)-40:], cache[130:162]} { // of the ticket, of the key
			if path := found(t, j.dir, secret); path != "" || strings.Contains(j.log.String(), string(secret)) {
				t.Errorf("the %s ticket is in %q, or in a log", what, path)
			}
		}
	}
}

// found is a file below a folder that has some bytes; "": none.
func found(t *testing.T, folder string, secret []byte) (path string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(p)
		if bytes.Contains(b, secret) {
			path = p
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a file that goes meanwhile
		t.Fatal(err)
	}
	return path
}

// refused looks at jobs that carry no ticket, or another's.
func (j *carried) refused() {
	j.t.Helper()
	for _, c := range []struct {
		what string
		user string
		flag string
		says []string
	}{
		{"a job without a ticket", "alice", "off", []string{"failed", "Kerberos", "kinit", "--kerberos"}},
		{"a job with another's ticket", "bob", "on", []string{"alice@", "bob", "kinit"}},
	} {
		out, err := j.submit(c.user, j.cache, "--kerberos", c.flag, j.conf, j.url, j.folder)
		if err == nil {
			j.t.Errorf("%s succeeded", c.what)
		}
		for _, want := range c.says {
			if !strings.Contains(out, want) {
				j.t.Errorf("%s does not say %q:\n%s", c.what, want, out)
			}
		}
	}
}

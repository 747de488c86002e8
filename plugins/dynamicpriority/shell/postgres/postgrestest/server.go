// Package postgrestest runs a PostgreSQL server for a test: a real one, with its own data, on a
// socket of its own. Debian has it in the package postgresql.
package postgrestest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Server is a server for one test. It is for one goroutine.
type Server struct {
	t       testing.TB
	bin     string
	data    string
	command *exec.Cmd
	output  *bytes.Buffer
	ended   chan error
}

// startMax bounds the wait until a server accepts connections, which is polled every askAgain.
const (
	startMax = time.Minute
	askAgain = 20 * time.Millisecond
)

// Start creates a server's data and starts it. The server ends with the test. Without PostgreSQL on
// the machine the test fails.
func Start(t testing.TB) *Server {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("/tmp", "pg-") // the test's own is too long for a socket, and may be inaccessible to the server
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, bin: bin, data: filepath.Join(folder, "data")}
	t.Cleanup(func() {
		s.Kill()
		_ = os.RemoveAll(folder)
	})
	if who := s.who(); who != nil {
		if err := os.Chown(folder, int(who.Uid), int(who.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	init := s.run("initdb", "-D", s.data, "-U", "hamadryad", "-A", "trust", "-N", "--no-locale", "-E", "UTF8")
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	s.Again()
	return s
}

// programs is the folder of the server's programs, which Debian keeps off the path.
func programs() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.Sort(found)
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	for _, initdb := range slices.Backward(found) {
		folder := filepath.Dir(initdb)
		if _, err := os.Stat(filepath.Join(folder, "psql")); err == nil {
			return folder, nil
		}
	}
	return "", errors.New("PostgreSQL's initdb and psql are not here: install postgresql (make deps)")
}

// who returns the credentials for the server: it refuses to run as root.
func (s *Server) who() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		s.t.Fatalf("the server does not run as root, and its user is not there: %v", err)
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func (s *Server) run(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, name), args...)
	c.Dir = filepath.Dir(s.data)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.who(), Pdeathsig: syscall.SIGKILL}
	return c
}

// Again restarts the server on its data.
func (s *Server) Again() {
	s.t.Helper()
	folder := filepath.Dir(s.data)
	s.output, s.ended = &bytes.Buffer{}, make(chan error, 1)
	s.command = s.run("postgres", "-D", s.data, "-k", folder, "-c", "listen_addresses=", "-c", "shared_buffers=8MB")
	s.command.Stdout, s.command.Stderr = s.output, s.output
	if err := s.command.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func(c *exec.Cmd, ended chan error) { ended <- c.Wait() }(s.command, s.ended)
	for began := time.Now(); ; {
		out, err := s.run("psql", "-X", "-h", folder, "-U", "hamadryad", "-d", "postgres", "-c", "SELECT 1").CombinedOutput()
		if err == nil {
			return
		}
		select {
		case err := <-s.ended:
			s.t.Fatalf("the server ended: %v\n%s", err, s.output)
		default:
		}
		var exit *exec.ExitError
		if time.Since(began) > startMax || !errors.As(err, &exit) {
			s.t.Fatalf("the server does not take connections: %v\n%s", err, out)
		}
		time.Sleep(askAgain)
	}
}

// Kill kills the server; its data stays on disk.
func (s *Server) Kill() {
	if s.command == nil {
		return
	}
	_ = s.command.Process.Signal(syscall.SIGQUIT) // ends all of its processes at once, without a checkpoint
	<-s.ended                                     //nolint:errcheck // it was killed
	s.command = nil
}

// Address returns the address of the server's database.
func (s *Server) Address() string {
	return fmt.Sprintf("host=%s user=hamadryad dbname=postgres", filepath.Dir(s.data))
}

// SQL runs statements, and returns their output.
func (s *Server) SQL(text string) string {
	s.t.Helper()
	out, err := s.run("psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", filepath.Dir(s.data), "-U", "hamadryad", "-d", "postgres", "-c", text).CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", text, err, out)
	}
	return string(out)
}

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/client"
)

// site is a manager and launchers, each in its own process.
type site struct {
	address string
	http    string      // the address of the manager's pages
	node    string      // the address of the launcher's pages; "" where there are several launchers
	user    certs.Files // of the submitter; none: everybody may submit
	folder  string
	file    string // its configuration
	// processes are all that were started, the manager first.
	processes []int
	stops     []func()
}

// shape is a site's launchers.
type shape struct{ launchers, slots int }

// usualShape is that of most benchmarks.
var usualShape = shape{launchers: 2, slots: 2}

// startSite starts a site. After an error the caller stops the processes started before.
func startSite(ctx context.Context, b *bench, closed bool, of shape) (*site, error) {
	folder, err := os.MkdirTemp("", "hamadryad-access")
	if err != nil {
		return &site{}, err
	}
	s := &site{folder: folder, stops: []func(){func() { _ = os.RemoveAll(folder) }}}
	port, err := freePort()
	if err != nil {
		return s, err
	}
	s.address = port
	if s.http, err = freePort(); err != nil {
		return s, err
	}
	config := "policy: {name: fifo}\n"
	if of.launchers == 1 {
		if s.node, err = freePort(); err != nil {
			return s, err
		}
		_, port, _ := net.SplitHostPort(s.node) // it is a listener's own
		config += fmt.Sprintf("launcher: {httpPort: %s}\n", port)
	}
	proof := func(auth.Kind, string) ([]string, error) { return nil, nil }
	if closed {
		ca, err := certs.Init(filepath.Join(folder, "ca"), "bench", time.Now())
		if err != nil {
			return s, err
		}
		config += "auth:\n  mode: tls\n  roles: {user: {users: [ann]}, viewer: {groups: [staff]}}\n  pools: {research: {submit: {users: [ann]}}}\n  defaultPool: research\n"
		proof = func(kind auth.Kind, name string) ([]string, error) {
			file, _, err := ca.Write(filepath.Join(folder, string(kind)), auth.Identity{Cluster: "bench", Kind: kind, Name: name}, time.Now(), time.Hour)
			s.user = certs.Files{Certificate: file}.Filled() // the last is the user's
			return []string{"--certificate", file}, err
		}
	}
	s.file = filepath.Join(folder, "site.yaml")
	if err := os.WriteFile(s.file, []byte(config), 0o600); err != nil {
		return s, err
	}
	begin := func(kind auth.Kind, name string, flags ...string) error {
		shown, err := proof(kind, name)
		if err != nil {
			return err
		}
		args := append([]string{"serve", string(kind), "--config", s.file, "--log-level", "error", "--data", filepath.Join(folder, name)}, flags...)
		return s.begin(ctx, filepath.Join(b.bin, "hamadryad"), append(args, shown...)...)
	}
	if err := begin(auth.Manager, "m", "--listen", s.address, "--http", s.http); err != nil {
		return s, err
	}
	for i := range of.launchers {
		if err := begin(auth.Launcher, fmt.Sprint("l", i), "--manager", s.address, "--slots", fmt.Sprint(of.slots), "--name", fmt.Sprint("l", i), "--bind", "127.0.0.1"); err != nil {
			return s, err
		}
	}
	if _, err := proof(auth.User, "ann"); err != nil {
		return s, err
	}
	_, err = s.program(ctx, b, "noop", "8") // it waits for launchers, and brings the program
	return s, err
}

// begin starts a process that stop ends.
func (s *site) begin(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopMax
	if err := cmd.Start(); err != nil {
		return err
	}
	s.stops = append(s.stops, func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // it was asked to end: its exit status does not matter
	})
	s.processes = append(s.processes, cmd.Process.Pid)
	return nil
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// stop ends all, the last first.
func (s *site) stop() {
	for i := len(s.stops) - 1; i >= 0; i-- {
		s.stops[i]()
	}
}

// program runs a program to its end as a user who may submit.
func (s *site) program(ctx context.Context, b *bench, name string, args ...string) (time.Duration, error) {
	environ := []string{client.AddressVariable + "=" + s.address}
	if s.user.Certificate != "" {
		environ = append(environ, client.CertificateVariable+"="+s.user.Certificate)
	}
	return timed(ctx, environ, filepath.Join(b.bin, name), args...)
}

package localcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// part makes this test's binary one of several kinds of `hamadryad local`.
const part = "HAMADRYAD_LOCALCLUSTER_PART"

func TestMain(m *testing.M) {
	if os.Getenv(part) == "" {
		os.Exit(m.Run())
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	fmt.Fprintln(os.Stderr, os.Args[1:])
	switch os.Getenv(part) {
	case "ready":
		// All is printed at once, to an end that must go on reading.
		fmt.Printf("the cluster is ready: manager at 10.0.0.1:1\n\n  export HAMADRYAD_MANAGER=127.0.0.1:7\n\n%s", strings.Repeat("x", 1<<20))
	case "broken":
		os.Exit(1)
	}
	<-stop
}

// start starts what there is and stops it at once, so that its log may be read.
func start(ctx context.Context, t *testing.T, what string) (*Cluster, string, error) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	c, err := Start(ctx, self, Options{
		Launchers: 3, Slots: 2, Config: "core: {}\n", Flags: []string{"--memory", "4GiB"}, Environ: []string{part + "=" + what}, Log: &log,
	})
	if err == nil {
		if text, err := os.ReadFile(filepath.Join(c.Folder, "site.yaml")); err != nil || string(text) != "core: {}\n" {
			t.Errorf("the configuration is %q, %v", text, err)
		}
		c.Stop()
	}
	return c, log.String(), err
}

// nothingLeft fails the test if a folder of a cluster is.
func nothingLeft(t *testing.T) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestClusterTellsItsAddress(t *testing.T) {
	c, log, err := start(t.Context(), t, "ready")
	if err != nil {
		t.Fatal(err)
	}
	if c.Address != "127.0.0.1:7" {
		t.Errorf("its address is %s", c.Address)
	}
	for _, flags := range []string{
		"local --log-level warn --launchers 3 --slots 2 --data " + c.Folder + "/data",
		"--config " + c.Folder + "/site.yaml", "--memory 4GiB",
	} {
		if !strings.Contains(log, flags) {
			t.Errorf("started without %s: %s", flags, log)
		}
	}
	if !c.cmd.ProcessState.Success() {
		t.Errorf("it was stopped by force: %s", c.cmd.ProcessState)
	}
	nothingLeft(t)
}

func TestClusterThatEnds(t *testing.T) {
	_, log, err := start(t.Context(), t, "broken")
	if err == nil || !strings.Contains(err.Error(), "ended before") || !strings.Contains(log, "--launchers 3") {
		t.Errorf("%v; it said %q", err, log)
	}
	nothingLeft(t)
}

func TestClusterThatIsNotWaitedFor(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := start(ctx, t, "silent"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	nothingLeft(t)
}

func TestNoBinary(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if _, err := Start(t.Context(), "/no/such/hamadryad", Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	nothingLeft(t)
}

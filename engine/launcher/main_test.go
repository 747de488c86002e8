package launcher_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"

	"github.com/hamadryad/hamadryad/engine/isolate/cgroup/cgrouptest"
	"github.com/hamadryad/hamadryad/engine/isolate/sandboxinit"
	"github.com/hamadryad/hamadryad/engine/launcher"
	"github.com/hamadryad/hamadryad/engine/launcher/reaper"
	"github.com/hamadryad/hamadryad/engine/worker"
)

// launcherVariable makes the test binary a launcher; its value is the configuration.
const launcherVariable = "HAMADRYAD_TEST_LAUNCHER"

// reapArgument makes the test binary a launcher's reaper.
const reapArgument = "reap"

// stepArgument makes the test binary the sandbox step before an isolated worker.
const stepArgument = "isolate"

// TestMain is the application when a launcher starts the test binary as a worker.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == reapArgument {
		if err := reaper.Run(os.Args[2:]); err != nil {
			panic(err)
		}
		return
	}
	if len(os.Args) > 2 && os.Args[1] == stepArgument {
		sandboxinit.Main(os.Args[2:])
	}
	if os.Getenv(worker.Variable) == "1" {
		limitFiles()
		worker.Main(definitions, os.Getenv(reusing) == "1")
	}
	if text := os.Getenv(launcherVariable); text != "" {
		os.Exit(launcherProcess(text))
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	folder, err := os.MkdirTemp("", "hamadryad-launcher-test-")
	if err != nil {
		panic(err)
	}
	sharedCache = folder
	code := cgrouptest.Run(m.Run)
	os.RemoveAll(folder)
	os.Exit(code)
}

// fileLimitVariable limits the size of the workers' files, in bytes: it replaces a full disk where
// the test may not mount one.
const fileLimitVariable = "HAMADRYAD_TEST_FILE_LIMIT"

func limitFiles() {
	limit, err := strconv.ParseUint(os.Getenv(fileLimitVariable), 10, 64)
	if err != nil {
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		panic(err)
	}
}

// sharedCache is the cache folder of all launchers of the tests, so that the test
// binary is copied once.
var sharedCache string

func launcherProcess(text string) int {
	var cfg launcher.Config
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := launcher.Run(ctx, cfg); err != nil {
		slog.Error("launcher", "error", err)
		return 1
	}
	return 0
}

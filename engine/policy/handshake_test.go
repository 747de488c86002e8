package policy_test

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/policy/plugintest"
)

// A wrong handshake is told with what was printed, how it should be, and where that is written.
func TestWrongHandshakeIsTold(t *testing.T) {
	for script, says := range map[string]string{
		"echo Loading ...; sleep 600":                         `first line on standard output is "Loading ...", and not its handshake, such as 1|2|unix|PATH|grpc|CERTIFICATE (docs/PLUGINS.md): print nothing before it`,
		"echo '1|2|unix'; sleep 600":                          `first line on standard output is "1|2|unix", and not its handshake`,
		"echo no module >&2; exit 3":                          "ended without printing its handshake (docs/PLUGINS.md); it gets few of the manager's variables: name others in policy.environment; its process: exit status 3; its last lines:\nno module",
		"echo '1|1|unix|/a|grpc|'":                            "the plug-in speaks version 1 of the plug-ins' protocol",
		"head -c 300 /dev/zero | tr '\\0' x; echo; sleep 600": strings.Repeat("x", 200) + `", and not`,
	} {
		path := filepath.Join(t.TempDir(), "plugin")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := policy.Launch(within(t), policy.Options{
			Path: path, Dir: plugintest.SocketDir(t), Log: slog.New(slog.NewTextHandler(io.Discard, nil)), StartTimeout: inTime,
		})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s:\n%v\nwant %q", script, err, says)
		}
	}
}

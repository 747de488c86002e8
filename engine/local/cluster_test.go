package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// partsVariable makes this test binary play the parts of a local cluster. It holds
// the folder of their signs and what each does: "FOLDER;manager=ready end;…".
const partsVariable = "HAMADRYAD_TEST_PARTS"

// waitMax bounds every wait of a part, on a machine that is slow and busy.
const waitMax = 3 * time.Minute

func TestMain(m *testing.M) {
	if parts := os.Getenv(partsVariable); parts != "" {
		os.Exit(playPart(parts, os.Args))
	}
	os.Exit(m.Run())
}

// playPart is the process of one part. Its words are done in order:
//
//	ready      tell the cluster so
//	sign:X     make the sign X, which other parts see
//	await:X    wait for the sign X
//	stay       until it is killed
//	end        say why on standard error, and end with exit code 1
func playPart(parts string, args []string) int {
	name := "manager"
	if i := slices.Index(args, "--name"); i > 0 {
		name = args[i+1]
	}
	folder, rest, _ := strings.Cut(parts, ";")
	_, words, _ := strings.Cut(";"+rest, ";"+name+"=")
	words, _, _ = strings.Cut(words, ";")
	for word := range strings.FieldsSeq(words) {
		word, sign, _ := strings.Cut(word, ":")
		switch word {
		case "ready":
			(&Part{ReadyFD: 3}).Ready("127.0.0.1:1 127.0.0.1:1")
		case "sign":
			if err := os.WriteFile(folder+"/"+sign, nil, 0o600); err != nil {
				panic(err)
			}
		case "await":
			for end := time.Now().Add(waitMax); time.Now().Before(end); time.Sleep(time.Millisecond) {
				if _, err := os.Stat(folder + "/" + sign); err == nil {
					break
				}
			}
		case "stay":
			time.Sleep(waitMax)
		case "end":
			fmt.Fprintf(os.Stderr, "why %s ended\n", name)
			return 1
		}
	}
	return 0
}

// Whichever part of a local cluster ends first during the start, its output is reported, at once,
// and nothing of the others.
func TestLocalTellsWhatEndedFirst(t *testing.T) {
	for name, c := range map[string]struct{ parts, first string }{
		"manager before it is ready":       {"manager=end;launcher-1=stay;launcher-2=stay", "manager"},
		"manager while launchers join":     {"manager=ready await:one await:two end;launcher-1=sign:one stay;launcher-2=sign:two stay", "manager"},
		"manager while one launcher joins": {"manager=ready await:one await:two end;launcher-1=sign:one ready stay;launcher-2=sign:two stay", "manager"},
		"manager when all have joined":     {"manager=ready await:one await:two end;launcher-1=ready sign:one stay;launcher-2=ready sign:two stay", "manager"},
		"launcher before it joins":         {"manager=ready stay;launcher-1=await:two end;launcher-2=sign:two stay", "launcher-1"},
		"launcher that had joined":         {"manager=ready stay;launcher-1=sign:one stay;launcher-2=ready await:one end", "launcher-2"},
		"launcher when all have joined":    {"manager=ready stay;launcher-1=ready sign:one stay;launcher-2=ready await:one end", "launcher-2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(partsVariable, t.TempDir()+";"+c.parts)
			began := time.Now()
			cluster, err := Start(t.Context(), Options{
				Folder: t.TempDir(), Launchers: 2, Errors: io.Discard,
				Manager:  func(string, string) []string { return []string{"manager"} },
				Launcher: func(_ int, name, _ string) []string { return []string{"launcher", "--name", name} },
			})
			if err == nil {
				cluster.Stop()
			}
			if took := time.Since(began); took > ReadyMax/2 {
				t.Errorf("told after %v", took)
			}
			if err == nil || !strings.Contains(err.Error(), "the "+c.first+" ended before") || !strings.Contains(err.Error(), "why "+c.first+" ended") ||
				strings.Count(err.Error(), "ended before") != 1 || strings.Count(err.Error(), "why") != 1 {
				t.Errorf("the %s ended first, and this is told: %v", c.first, err)
			}
		})
	}
}

// If a part ends while the cluster waits for its policy, that is the reported cause, whether the
// wait was in a call or between two.
func TestWaitForAPolicyTellsWhatEnded(t *testing.T) {
	ended := errors.New("the manager ended")
	for name, fails := range map[string]bool{"in a question": true, "between two": false} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			err := policyDecides(ctx, io.Discard, func() (*wire.PolicyReply, error) {
				if fails {
					cancel(ended)
					return nil, errors.New("connection refused")
				}
				time.AfterFunc(time.Millisecond, func() { cancel(ended) })
				return &wire.PolicyReply{State: "starting"}, nil
			})
			if !errors.Is(err, ended) {
				t.Errorf("the manager ended, and this is told: %v", err)
			}
		})
	}
	t.Run("nothing", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 0)
		defer cancel()
		err := policyDecides(ctx, io.Discard, func() (*wire.PolicyReply, error) { return nil, ctx.Err() })
		if err == nil || !strings.Contains(err.Error(), "does not run after") {
			t.Errorf("no policy came up in time, and this is told: %v", err)
		}
	})
}

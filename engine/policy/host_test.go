package policy_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/policy/plugintest"
	"github.com/hamadryad/hamadryad/internal/proctest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

func TestMain(m *testing.M) {
	if value := os.Getenv(orphanKey); value != "" {
		hostToKill(value)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/hamadryad/hamadryad/internal/childproc.thread")) // it never ends
}

// inTime bounds every wait, on a machine that is slow and busy.
const inTime = time.Minute

func logger(to *proctest.Output) *slog.Logger { return slog.New(slog.NewTextHandler(to, nil)) }

// within is a context that a hanging test would pass.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), inTime)
	t.Cleanup(cancel)
	return ctx
}

// launch starts a plug-in of a behaviour and checks at the end that nothing is
// left of it.
func launch(t *testing.T, b plugintest.Behaviour) (policy.Host, *proctest.Output) {
	t.Helper()
	return launchBy(t, b, policy.TransportAuto)
}

func launchBy(t *testing.T, b plugintest.Behaviour, transport string) (policy.Host, *proctest.Output) {
	t.Helper()
	book := &proctest.Output{}
	h, err := policy.Launch(within(t), policy.Options{
		Path: plugintest.Plugin(t, b), Dir: plugintest.SocketDir(t), Log: logger(book), Memory: 256 << 20, StartTimeout: inTime, Transport: transport,
	})
	if err != nil {
		t.Fatal(err)
	}
	pid := h.PID()
	t.Cleanup(func() {
		h.Close()
		mustEnd(t, h)
		// What was killed takes a moment to go.
		eventually(t, fmt.Sprintf("nothing of process group %d is left", pid), func() bool {
			return alive(func(group int, _ string) bool { return group == pid }) == nil
		})
		if h.PID() != 0 {
			t.Errorf("the host still names process %d", h.PID())
		}
	})
	return h, book
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	proctest.Until(t, inTime, what, holds)
}

// mustEnd waits for the host's end.
func mustEnd(t *testing.T, h policy.Host) {
	t.Helper()
	select {
	case <-h.Done():
	case <-time.After(inTime):
		t.Fatal("the host did not end")
	}
	for range h.Notes() { // must be closed
	}
}

var testEnv = scheduler.Environment{
	Kinds: []scheduler.SlotKind{scheduler.DefaultKind}, Limits: scheduler.Limits{RoundDeadline: inTime},
}

func start(t *testing.T, h policy.Host) {
	t.Helper()
	startWith(t, h, testEnv)
}

func startWith(t *testing.T, h policy.Host, env scheduler.Environment) {
	t.Helper()
	if _, err := h.Start(within(t), scheduler.Config{}, scheduler.Snapshot{Now: 1}, env); err != nil {
		t.Fatal(err)
	}
}

// startImpatient starts a policy whose first round hangs.
func startImpatient(t *testing.T, h policy.Host) {
	t.Helper()
	env := testEnv
	env.Limits.RoundDeadline = time.Second
	startWith(t, h, env)
}

func smallRound(n uint64) *scheduler.Round {
	r := &scheduler.Round{Number: n, Now: scheduler.Time(n), Offers: []scheduler.Offer{{Launcher: 1, Free: []scheduler.SlotCount{{Kind: "default", Count: 4}}}, {Launcher: 2}}}
	for i := range 3 {
		r.Events = append(r.Events, scheduler.BundleReady{At: r.Now, Job: 1, Bundle: scheduler.BundleID(n*10 + uint64(i)), Groups: make([]scheduler.Group, i)})
	}
	return r
}

// kinds runs a test on each kind of host.
func kinds(t *testing.T, test func(*testing.T, policy.Host)) {
	for transport, shown := range map[string]string{policy.TransportAuto: policy.TransportSocket, policy.TransportGRPC: policy.TransportGRPC} {
		t.Run("plug-in, "+transport, func(t *testing.T) {
			h, _ := launchBy(t, plugintest.Good, transport)
			if got := h.Transport(); got != shown {
				t.Errorf("rounds go by %q, not %q", got, shown)
			}
			test(t, h)
		})
	}
	t.Run("in process", func(t *testing.T) {
		h := policy.InProcess(&plugintest.Policy{})
		defer mustEnd(t, h)
		defer h.Close()
		test(t, h)
	})
}

func TestHostsAnswerAlike(t *testing.T) {
	var answers [][]byte
	kinds(t, func(t *testing.T, h policy.Host) {
		ctx := within(t)
		if err := h.Check(ctx, scheduler.Config{}); err != nil {
			t.Error(err)
		}
		d, err := h.Start(ctx, scheduler.Config{}, scheduler.Snapshot{Events: smallRound(9).Events}, testEnv)
		if want := (scheduler.Description{Name: "good", Version: "1"}); err != nil || d != want {
			t.Fatalf("described as %+v, error %v", d, err)
		}
		var all []byte
		for n := range uint64(3) {
			answer, err := h.AssignTasks(ctx, smallRound(n+1))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, answer.Bytes...)
			decisions, err := schedwire.DecodeDecisions(answer.Bytes)
			if want := map[uint64]int{0: 6, 1: 3, 2: 3}[n]; err != nil || len(decisions.Launch) != want || !reflect.DeepEqual(decisions, answer.Decisions) {
				t.Fatalf("round %d: %d launches where %d are due, error %v", n+1, len(decisions.Launch), want, err)
			}
		}
		answers = append(answers, all)
		e, err := h.Explain(ctx, 5)
		if want := (scheduler.Explanation{Reason: scheduler.WaitTurn, Detail: "others come first", Place: 5}); err != nil || !cmp.Equal(e, want) {
			t.Errorf("explained as %+v, error %v", e, err)
		}
		if _, err := h.Explain(ctx, 404); !errors.Is(err, scheduler.ErrUnknownJob) {
			t.Errorf("unknown job: error %v", err)
		}
		s, err := h.Status(ctx)
		if err != nil || len(s.Pools) != 1 || s.Pools[0].Name != "all" {
			t.Errorf("status %+v, error %v", s, err)
		}
		h.Close()
		if err := h.Err(); err != nil {
			t.Errorf("closed, yet it ended because of %v", err)
		}
		if _, err := h.Status(ctx); policy.KindOf(err) != policy.Ended {
			t.Errorf("a call after Close: error %v", err)
		}
	})
	if len(answers) != 3 || !bytes.Equal(answers[0], answers[2]) || !bytes.Equal(answers[1], answers[2]) {
		t.Error("the plug-in's answers are other bytes than those in process")
	}
}

func TestInvalidConfigurationNamesItsPlace(t *testing.T) {
	kinds(t, func(t *testing.T, h policy.Host) {
		config := scheduler.Config{File: "site.yaml", Text: []byte("invalid")}
		_, startErr := h.Start(within(t), config, scheduler.Snapshot{}, testEnv)
		for _, err := range []error{h.Check(within(t), config), startErr} {
			var p scheduler.Problems
			if policy.KindOf(err) != policy.Invalid || !errors.As(err, &p) {
				t.Fatalf("error %v", err)
			}
			if p[0].File != "site.yaml" || p[0].Line != 3 {
				t.Errorf("problem %+v", p[0])
			}
		}
	})
}

func TestPlugInsThatDoNotComeUp(t *testing.T) {
	cases := map[plugintest.Behaviour]string{
		plugintest.WrongCookie:        "exit status 1",
		plugintest.WrongVersion:       "speaks version 99 ",
		plugintest.OldVersion:         "speaks version 1 of the plug-ins' protocol, and this manager version 2: build it again",
		plugintest.ExitAtOnce:         "cannot find my data",
		plugintest.Silent:             "did not come up|timeout while waiting",
		plugintest.StdoutNoise:        "hello, I am a policy",
		plugintest.StopAfterHandshake: "did not come up|timeout while waiting",
	}
	for b, want := range cases {
		t.Run(string(b), func(t *testing.T) {
			timeout := inTime // for plug-ins that end by themselves
			if b == plugintest.Silent || b == plugintest.StopAfterHandshake {
				timeout = time.Second
			}
			_, err := policy.Launch(within(t), policy.Options{
				Path: plugintest.Plugin(t, b), Dir: plugintest.SocketDir(t), Log: logger(&proctest.Output{}), StartTimeout: timeout,
			})
			if policy.KindOf(err) != policy.StartFailed || !containsOne(err.Error(), want) {
				t.Errorf("error %v; want one with %q", err, want)
			}
			mustBeGone(t, string(b))
		})
	}
}

func containsOne(s, alternatives string) bool {
	for a := range strings.SplitSeq(alternatives, "|") {
		if strings.Contains(s, a) {
			return true
		}
	}
	return false
}

// mustBeGone checks that no process runs a program of this name from this test's
// temporary folder.
func mustBeGone(t *testing.T, program string) {
	t.Helper()
	test, _, _ := strings.Cut(t.Name(), "/")
	left := alive(func(_ int, exe string) bool {
		return filepath.Base(exe) == program && strings.Contains(exe, test)
	})
	if left != nil {
		t.Errorf("%s still runs: %v", program, left)
	}
}

// alive lists the processes that match; those that only wait to be collected by
// their parent are dead.
func alive(match func(group int, exe string) bool) []string {
	var found []string
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var state string
		var parent, group int
		_, rest, _ := strings.Cut(string(stat), ") ")
		if _, err := fmt.Sscan(rest, &state, &parent, &group); err != nil || state == "Z" || state == "X" {
			continue
		}
		exe, _ := os.Readlink(filepath.Join(filepath.Dir(path), "exe"))
		if match(group, strings.TrimSuffix(exe, " (deleted)")) {
			found = append(found, string(stat))
		}
	}
	return found
}

func TestProgramsThatAreNotTheOne(t *testing.T) {
	good := plugintest.Plugin(t, plugintest.Good)
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	plain := filepath.Join(t.TempDir(), "plain.txt")
	if err := os.WriteFile(plain, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		o    policy.Options
		want string
	}{
		"no name":            {policy.Options{}, "set policy.path"},
		"missing":            {policy.Options{Path: good + "-not"}, "no such file"},
		"folder":             {policy.Options{Path: filepath.Dir(good)}, "not a program"},
		"not executable":     {policy.Options{Path: plain}, "not a program"},
		"wrong checksum":     {policy.Options{Path: good, Checksum: strings.Repeat("ab", 32)}, "wrong checksum"},
		"malformed checksum": {policy.Options{Path: good, Checksum: "abc"}, "64 digits"},
		"long folder":        {policy.Options{Path: good, Dir: "/" + strings.Repeat("x", policy.DirBytesMax)}, "choose a shorter one"},
	} {
		if _, err := policy.Launch(within(t), c.o); policy.KindOf(err) != policy.StartFailed || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v; want one with %q", name, err, c.want)
		}
	}
	h, err := policy.Launch(within(t), policy.Options{Path: good, Checksum: hex.EncodeToString(sum[:]), StartTimeout: inTime})
	if err != nil {
		t.Fatalf("right checksum: %v", err)
	}
	h.Close()
}

func TestPoliciesThatDoNotStart(t *testing.T) {
	for b, want := range map[plugintest.Behaviour]string{plugintest.PanicInStart: "main.(*policy).Start", plugintest.FailStart: "no start on purpose"} {
		t.Run(string(b), func(t *testing.T) {
			h, _ := launch(t, b)
			_, err := h.Start(within(t), scheduler.Config{}, scheduler.Snapshot{}, testEnv)
			if policy.KindOf(err) != policy.StartFailed || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v; want one with %q", err, want)
			}
		})
	}
	t.Run("hangs", func(t *testing.T) {
		h, _ := launch(t, plugintest.HangInStart)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := h.Start(ctx, scheduler.Config{}, scheduler.Snapshot{}, testEnv); policy.KindOf(err) != policy.Deadline {
			t.Errorf("error %v", err)
		}
		mustEnd(t, h)
		if policy.KindOf(h.Err()) != policy.Deadline {
			t.Errorf("ended because of %v", h.Err())
		}
	})
}

func TestRoundsThatGoWrong(t *testing.T) {
	cases := map[plugintest.Behaviour]struct {
		kind policy.Kind
		want string
		ends bool
	}{
		plugintest.CrashAt(2):    {policy.Died, "crash on purpose", true},
		plugintest.HangAt(1):     {policy.Deadline, "no answer within 1s", true},
		plugintest.StopAt(1):     {policy.Deadline, "no answer within 1s", true},
		plugintest.PanicAt(2):    {policy.Panicked, "main.(*policy).AssignTasks", true},
		plugintest.CrashBeside:   {policy.Died, "panic: beside itself on purpose", true},
		plugintest.Hog:           {policy.Heavy, "more than the 256 MiB that it may have (policy.memory)", true},
		plugintest.ErrorAt(2):    {policy.Faulted, "error on purpose", false},
		plugintest.BigAnswer:     {policy.Breach, "larger than 4194304 bytes", true},
		plugintest.GarbageAnswer: {policy.Breach, "refuse", true},
		plugintest.SocketGarbage: {policy.Breach, "bad policy message", true},
		plugintest.SocketHuge:    {policy.Breach, "larger than 4194304 bytes", true},
		plugintest.SocketLong:    {policy.Breach, "longer than allowed", true},
		plugintest.SocketClosed:  {policy.Breach, "the plug-in broke the connection", true},
		plugintest.SocketHalf:    {policy.Deadline, "no answer within 1s", true},
	}
	for b, c := range cases {
		t.Run(string(b), func(t *testing.T) {
			h, _ := launch(t, b)
			if c.kind == policy.Deadline {
				startImpatient(t, h)
			} else {
				start(t, h)
			}
			var err error
			for n := uint64(1); n <= 2 && err == nil; n++ {
				_, err = h.AssignTasks(within(t), smallRound(n))
			}
			if policy.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v; want %v with %q", err, c.kind, c.want)
			}
			if c.ends {
				mustEnd(t, h)
				if policy.KindOf(h.Err()) != c.kind {
					t.Errorf("ended because of %v", h.Err())
				}
				// A later caller gets the first cause, and is not itself blamed.
				if _, later := h.Status(within(t)); fmt.Sprint(later) != fmt.Sprint(h.Err()) {
					t.Errorf("a look after it: %v", later)
				}
			}
		})
	}
}

func TestKilledPlugInIsNoticedAtOnce(t *testing.T) {
	h, _ := launch(t, plugintest.Good)
	start(t, h)
	if err := syscall.Kill(h.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	mustEnd(t, h) // no call is made, so no deadline reveals it
	if err := h.Err(); policy.KindOf(err) != policy.Died || !strings.Contains(err.Error(), "killed") {
		t.Errorf("ended because of %v", err)
	}
	if _, err := h.AssignTasks(within(t), smallRound(1)); policy.KindOf(err) != policy.Died {
		t.Errorf("a call after the death: %v", err)
	}
}

func TestStoppedPlugInIsClosedInTime(t *testing.T) {
	h, _ := launch(t, plugintest.Good)
	start(t, h)
	if err := syscall.Kill(h.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() { h.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(inTime):
		t.Fatal("Close waits for a process that stands still")
	}
}

func TestCloseDoesNotWaitForever(t *testing.T) {
	for _, b := range []plugintest.Behaviour{plugintest.HangAtEnd, plugintest.Child} {
		t.Run(string(b), func(t *testing.T) {
			h, _ := launch(t, b)
			start(t, h)
			h.Close()
			select {
			case <-h.Done():
			default:
				t.Error("Close returned before all was gone")
			}
		})
	}
}

func TestExplainWaitsItsTurnAndGivesUp(t *testing.T) {
	h, _ := launch(t, plugintest.HangAt(1))
	startImpatient(t, h)
	round := make(chan error, 1)
	go func() {
		_, err := h.AssignTasks(context.Background(), smallRound(1))
		round <- err
	}()
	// Until the round has its turn, Status answers.
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := h.Status(ctx)
		cancel()
		if err != nil {
			if k := policy.KindOf(err); k != policy.Busy && k != policy.Deadline {
				t.Errorf("error %v", err)
			}
			break
		}
	}
	if err := <-round; policy.KindOf(err) != policy.Deadline {
		t.Errorf("round: error %v", err)
	}
}

func TestCanceledRoundEndsTheHost(t *testing.T) {
	h, book := launch(t, plugintest.HangAt(1))
	start(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	round := make(chan error, 1)
	go func() {
		_, err := h.AssignTasks(ctx, smallRound(1))
		round <- err
	}()
	eventually(t, "the policy has the round", func() bool { return strings.Contains(book.String(), "hang on purpose") })
	cancel()
	if err := <-round; policy.KindOf(err) != policy.Canceled {
		t.Errorf("error %v", err)
	}
	mustEnd(t, h)
}

// A plug-in's process has nothing of the host's environment that it has no use for.
func TestPluginSeesNoSecrets(t *testing.T) {
	t.Setenv("HAMADRYAD_TEST_SECRET", "of-the-host")
	t.Setenv("HAMADRYAD_TEST_NAMED", "for-the-plug-in")
	h, err := policy.Launch(within(t), policy.Options{Path: plugintest.Plugin(t, plugintest.Good), Dir: t.TempDir(), StartTimeout: inTime, Environment: []string{"HAMADRYAD_TEST_NAMED"}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", h.PID()))
	if err != nil || strings.Contains(string(environ), "of-the-host") || !strings.Contains(string(environ), "for-the-plug-in") || !strings.Contains(string(environ), "PATH=") {
		t.Errorf("it has %q, %v", environ, err)
	}
}

package process_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/launcher/internal/lease"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/logs"
	"github.com/hamadryad/hamadryad/engine/launcher/internal/process"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/ipc"
	"github.com/hamadryad/hamadryad/internal/process/proctree"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// modeVariable makes the test binary a worker: "hears" answers each message and prints,
// "deaf" reads nothing.
const modeVariable = "HAMADRYAD_TEST_WORKER"

const patience = time.Minute

func TestMain(m *testing.M) {
	mode := os.Getenv(modeVariable)
	if mode == "" {
		os.Exit(m.Run())
	}
	conn, err := ipc.Inherited()
	if err != nil {
		panic(err)
	}
	if mode == "deaf" {
		time.Sleep(patience)
		return
	}
	for {
		m := &wire.ToWorker{}
		if conn.Recv(m) != nil || m.GetExit() {
			return
		}
		os.Stdout.WriteString("heard ")
		answer := &wire.FromWorker{What: &wire.FromWorker_Report{Report: &wire.Report{What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: m.GetSources().GetConfirm()}}}}}
		if err := conn.Send(answer); err != nil {
			panic(err)
		}
	}
}

// marks numbers the workers of this program.
var marks atomic.Int64

// start starts a worker. The buffer holds the launcher's log of it. Its mark is no other's: what ends a worker looks for
// processes with its mark, also after the test.
func start(t *testing.T, mode string, l *lease.Lease) (*process.Process, *proctest.Output) {
	t.Helper()
	said := &proctest.Output{}
	p, err := process.Start(t.Context(), process.Command{
		Program: os.Args[0], Env: append(os.Environ(), modeVariable+"="+mode), Dir: t.TempDir(), Mark: proctree.Mark(fmt.Sprintf("HAMADRYAD_TEST_MARK=%d-%d", os.Getpid(), marks.Add(1))),
	}, l, slog.New(slog.NewTextHandler(said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		<-p.Gone()
		p.Close()
	})
	return p, said
}

// A worker receives messages, sends one, prints, and ends when it is dismissed.
func TestLife(t *testing.T) {
	p, _ := start(t, "hears", lease.New())
	all, err := logs.New(logs.Options{Folder: t.TempDir(), Each: 8 << 10, Total: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	log := all.Open(1)
	p.LogTo(log)
	for range 2 {
		if !p.Send(&wire.ToWorker{}) {
			t.Error("it does not read")
		}
		if _, err := p.Receive(); err != nil {
			t.Fatal(err)
		}
	}
	p.Dismiss()
	if _, err := p.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("after its end it says more: %v", err)
	}
	p.Await()
	p.LogTo(log)
	if !p.State().Success() || p.LastWords() != "heard heard " {
		t.Errorf("it ended with %v and said %q", p.State(), p.LastWords())
	}
	if !p.Send(&wire.ToWorker{}) {
		t.Error("one that is gone counts as one that does not read")
	}
}

// Messages to a worker that does not read for a while wait, and arrive in order.
func TestOneThatReadsLate(t *testing.T) {
	p, said := start(t, "hears", lease.New())
	if err := unix.Kill(p.PID(), unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	padding := strings.Repeat("x", 1<<10)
	const messages = 2000 // more than the socket takes
	for i := range messages {
		if !p.Send(&wire.ToWorker{Do: &wire.ToWorker_Sources{Sources: &wire.SourcesUpdate{Confirm: uint64(i), Sources: []*wire.Source{{Address: padding}}}}}) {
			t.Fatalf("message %d is refused: %s", i, said.String())
		}
	}
	if err := unix.Kill(p.PID(), unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(messages) {
		m, err := p.Receive()
		if err != nil || m.GetReport().GetStarted().GetAttempt() != i {
			t.Fatalf("the answer to message %d: %v %v", i, m, err)
		}
	}
}

// A worker that reads nothing is killed when its queue is full.
func TestOneThatDoesNotRead(t *testing.T) {
	p, said := start(t, "deaf", lease.New())
	large := &wire.ToWorker{Do: &wire.ToWorker_Sources{Sources: &wire.SourcesUpdate{Sources: []*wire.Source{{Address: string(bytes.Repeat([]byte("x"), 1<<10))}}}}}
	sent := 0
	for p.Send(large) {
		if sent++; sent > 100_000 {
			t.Fatal("everything is taken")
		}
	}
	<-p.Gone()
	if !bytes.Contains([]byte(said.String()), []byte("does not read")) {
		t.Errorf("it is told: %s", said.String())
	}
}

// A worker ends with the lease, and when its socket is closed.
func TestEndsWithTheLease(t *testing.T) {
	l := lease.New()
	go l.Watch(t.Context())
	p, _ := start(t, "deaf", l)
	l.Grant(20 * time.Millisecond)
	<-p.Gone()
	if _, err := p.Receive(); err == nil {
		t.Error("it says something")
	}
	p.Await()
}

// A program that can't be run is an error at once. A program that another process still holds open
// for writing is started once that closes it.
func TestStart(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	folder := t.TempDir()
	if _, err := process.Start(t.Context(), process.Command{Program: filepath.Join(folder, "none"), Dir: folder}, lease.New(), log); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no program was started: %v", err)
	}
	text, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(text)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "program")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { f.Close() })
	p, err := process.Start(t.Context(), process.Command{Program: path, Dir: folder}, lease.New(), log)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Gone()
	p.Close()
}

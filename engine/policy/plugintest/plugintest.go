// Package plugintest builds plug-ins that misbehave, as real programs, for tests of their hosts:
//
//	path := plugintest.Plugin(t, plugintest.CrashAt(3))
//	host, err := policy.Launch(ctx, policy.Options{Path: path, Dir: t.TempDir()})
//
// The program is built once per test process. Its behaviour is the name under
// which it is run.
package plugintest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// What RawPrinter prints: a line that is longer than a pipe and a scanner hold, and a short one.
const (
	RawLineBytes = 200 << 10
	RawLine      = "printed past go-plugin"
)

// Behaviour is a plug-in's fault, and the name of its program.
type Behaviour string

// The faults of plug-ins. Unless stated otherwise the policy is Good.
const (
	// Good launches every ready bundle at once, groups on launchers with free
	// slots in order, and does nothing wrong. A job named in Explain is unknown
	// when its id is 404. Settings of "invalid" are invalid on line 3.
	Good Behaviour = "good"
	// WrongCookie was written for another host.
	WrongCookie Behaviour = "wrong-cookie"
	// WrongVersion speaks version 99 of the protocol.
	WrongVersion Behaviour = "wrong-version"
	// OldVersion speaks version 1 of the protocol, whose service had another name.
	OldVersion Behaviour = "old-version"
	// ExitAtOnce ends with status 3 before its handshake.
	ExitAtOnce Behaviour = "exit-at-once"
	// Silent never sends a handshake.
	Silent Behaviour = "silent"
	// StdoutNoise prints to its standard output before the handshake.
	StdoutNoise Behaviour = "stdout-noise"
	// StopAfterHandshake stops itself with SIGSTOP before it can be connected to.
	StopAfterHandshake Behaviour = "stop-after-handshake"
	// HangInStart never answers Start.
	HangInStart Behaviour = "hang-in-start"
	// PanicInStart panics in Start, FailStart returns an error from it.
	PanicInStart Behaviour = "panic-in-start"
	FailStart    Behaviour = "fail-start"
	// Flood writes lines to its standard error as fast as it can from Start on.
	Flood Behaviour = "flood"
	// Printer prints with fmt in every round, far more than a pipe holds.
	Printer Behaviour = "printer"
	// RawPrinter writes to the file of its standard output in every round, past go-plugin, as
	// plug-ins in other languages do: a line of RawLineBytes, and RawLine.
	RawPrinter Behaviour = "raw-printer"
	// BigAnswer answers each round with 5 MiB.
	BigAnswer Behaviour = "big-answer"
	// GarbageAnswer answers each round with a message that breaks the format, by gRPC.
	GarbageAnswer Behaviour = "garbage-answer"
	// SocketGarbage does so on the socket of rounds, SocketHuge claims an answer of 4 GiB there, and
	// SocketLong the text of an error as long. SocketClosed closes it, and SocketHalf sends half an
	// answer.
	SocketGarbage Behaviour = "socket-garbage"
	SocketHuge    Behaviour = "socket-huge"
	SocketLong    Behaviour = "socket-long"
	SocketClosed  Behaviour = "socket-closed"
	SocketHalf    Behaviour = "socket-half"
	// Child leaves a child process behind that holds its output open.
	Child Behaviour = "child"
	// Poster has a shell that posts notes "note-0", "note-1", ... without end, and
	// a policy that is Good.
	Poster Behaviour = "poster"
	// Echo has a shell that posts EchoNotes notes "note-0", "note-1", ... as fast as it can. It
	// writes the confirmations, in order, to the file "echo" in its store.
	Echo Behaviour = "echo"
	// FailingShell has a shell that fails after one note.
	FailingShell Behaviour = "failing-shell"
	// HangAtEnd does not return from Terminate.
	HangAtEnd Behaviour = "hang-at-end"
	// PanicInExplain and PanicInStatus panic there, ErrorInStatus returns an error.
	PanicInExplain Behaviour = "panic-in-explain"
	PanicInStatus  Behaviour = "panic-in-status"
	ErrorInStatus  Behaviour = "error-in-status"
	// NaNStatus reports a share that is not a number, HugeStatus a fact of 5 MiB, and BellStatus a
	// pool whose name has control characters for a terminal.
	NaNStatus  Behaviour = "nan-status"
	HugeStatus Behaviour = "huge-status"
	BellStatus Behaviour = "bell-status"
	// Slow takes 300 ms for each round.
	Slow Behaviour = "slow"
	// Hog fills a gigabyte of memory in its first round and keeps it.
	Hog Behaviour = "hog"
	// Daemon leaves a child behind that left the process group and the session.
	Daemon Behaviour = "daemon"
	// Gated has pages, and an authenticator. It accepts callers with Authorization "sesame NAME",
	// and jobs signed with "sesame", or "sesame NAME". It strips the text after "&secret=" from a
	// query. A query that begins with "set" is a change, and becomes a note, which the shell
	// appends to the file "notes" in its store when it is durable. "sleep" is never judged, and
	// "down" can't be.
	Gated Behaviour = "gated"
	// CrashBeside panics in its first round on a goroutine of its own.
	CrashBeside Behaviour = "crash-beside"
)

// EchoNotes is how many notes Echo posts.
const EchoNotes = 3000

// CrashAt ends the process with status 7 in the n-th round it gets, from 1.
func CrashAt(n int) Behaviour { return at("crash", n) }

// PanicAt panics in the n-th round.
func PanicAt(n int) Behaviour { return at("panic", n) }

// ErrorAt returns an error from the n-th round.
func ErrorAt(n int) Behaviour { return at("error", n) }

// HangAt never answers the n-th round.
func HangAt(n int) Behaviour { return at("hang", n) }

// StopAt stops its process with SIGSTOP in the n-th round.
func StopAt(n int) Behaviour { return at("stop", n) }

func at(what string, n int) Behaviour { return Behaviour(fmt.Sprintf("%s-at-%d", what, n)) }

const program = "github.com/hamadryad/hamadryad/engine/policy/plugintest/badplugin"

// build builds the program and returns its bytes: kept in memory, so that
// nothing is left on disk when the test process ends.
var build = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "badplugin-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "badplugin")
	out, err := exec.Command("go", "build", "-o", path, program).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("build %s: %w\n%s", program, err, out)
	}
	return os.ReadFile(path)
})

// Plugin returns the path of a plug-in with the behaviour, in a folder of the
// test's own.
func Plugin(t testing.TB, b Behaviour) string {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), string(b))
	// A process forked while the file is open for writing would keep it open, and
	// executing it would fail.
	syscall.ForkLock.RLock()
	err = os.WriteFile(path, binary, 0o700)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// SocketDir returns a folder with a path that is short enough for sockets; a test's own temporary
// folder often is not. It must be empty at the test's end.
func SocketDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hd-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			t.Errorf("left behind: %s", strings.Join(left, " "))
		}
		os.RemoveAll(dir)
	})
	return dir
}

// Badplugin is a policy plug-in that misbehaves as its program's name says, with or without
// "hamadryad-policy-" before it; see package plugintest.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hamadryad/hamadryad/engine/policy/plugintest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
	"github.com/hamadryad/hamadryad/sdk/scheduler/serve"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

func main() {
	b := plugintest.Behaviour(strings.TrimPrefix(filepath.Base(os.Args[0]), "hamadryad-policy-"))
	switch b {
	case plugintest.WrongCookie:
		serveOther("ANOTHER_COOKIE", rpc.ProtocolVersion, garbage{})
		return
	case plugintest.WrongVersion:
		serveOther(rpc.CookieKey, 99, garbage{})
		return
	case plugintest.OldVersion:
		serveOther(rpc.CookieKey, 1, garbage{})
		return
	case plugintest.GarbageAnswer:
		serveOther(rpc.CookieKey, rpc.ProtocolVersion, garbage{})
		return
	case plugintest.SocketGarbage, plugintest.SocketHuge, plugintest.SocketLong, plugintest.SocketClosed, plugintest.SocketHalf:
		go answerOnSocket(b)
		<-greeted
		serveOther(rpc.CookieKey, rpc.ProtocolVersion, garbage{})
		return
	case plugintest.ExitAtOnce:
		fmt.Fprintln(os.Stderr, "[ERROR] cannot find my data")
		os.Exit(3)
	case plugintest.Silent:
		select {}
	case plugintest.StdoutNoise:
		fmt.Println("hello, I am a policy")
	case plugintest.StopAfterHandshake:
		stopAfterHandshake()
	}
	var options []serve.Option
	switch b {
	case plugintest.Poster:
		options = append(options, serve.WithShell(serve.ShellFunc(postForEver)))
	case plugintest.Echo:
		options = append(options, serve.WithShell(serve.ShellFunc(echo)))
	case plugintest.Gated:
		serve.Main(func() scheduler.TaskScheduler { return &gated{} }, serve.WithShell(&authenticator{}))
		return
	case plugintest.FailingShell:
		options = append(options, serve.WithShell(serve.ShellFunc(postAndFail)))
	}
	serve.Main(func() scheduler.TaskScheduler { return &policy{behaviour: b} }, options...)
}

// policy is a good policy that goes wrong somewhere.
type policy struct {
	plugintest.Policy
	behaviour plugintest.Behaviour
	rounds    int
}

// Start misbehaves if its behaviour says so.
func (p *policy) Start(c scheduler.Config, s scheduler.Snapshot, env scheduler.Environment) (scheduler.Description, error) {
	switch p.behaviour {
	case plugintest.HangInStart:
		select {}
	case plugintest.PanicInStart:
		panic("no start on purpose")
	case plugintest.FailStart:
		return scheduler.Description{}, errors.New("no start on purpose")
	case plugintest.Flood:
		go flood()
	case plugintest.Child:
		child := exec.Command("sleep", "1000")
		child.Stdout, child.Stderr = os.NewFile(1, "stdout"), os.NewFile(2, "stderr")
		if err := child.Start(); err != nil {
			return scheduler.Description{}, err
		}
	case plugintest.Daemon:
		child := exec.Command("sleep", "1000")
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			return scheduler.Description{}, err
		}
		slog.Info("daemon", "pid", child.Process.Pid)
	}
	return p.Policy.Start(c, s, env)
}

// AssignTasks misbehaves in its round.
func (p *policy) AssignTasks(r scheduler.Round) (scheduler.Decisions, error) {
	p.rounds++
	switch p.behaviour {
	case plugintest.CrashAt(p.rounds):
		fmt.Fprintln(os.NewFile(2, "stderr"), "crash on purpose")
		os.Exit(7)
	case plugintest.PanicAt(p.rounds):
		panic("panic on purpose")
	case plugintest.ErrorAt(p.rounds):
		return scheduler.Decisions{}, errors.New("error on purpose")
	case plugintest.HangAt(p.rounds):
		fmt.Fprintln(os.NewFile(2, "stderr"), "hang on purpose")
		select {}
	case plugintest.StopAt(p.rounds):
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		select {} // the signal may reach another thread first, and the answer get out
	case plugintest.Printer:
		for range 1000 {
			fmt.Println(strings.Repeat("out ", 64))
			fmt.Fprintln(os.Stderr, strings.Repeat("err ", 64))
		}
	case plugintest.RawPrinter:
		printRaw(strings.Repeat("x", plugintest.RawLineBytes) + "\n" + plugintest.RawLine + "\n")
	case plugintest.Slow:
		time.Sleep(300 * time.Millisecond)
	case plugintest.Hog:
		fill(1 << 30)
	case plugintest.CrashBeside:
		go panic("beside itself on purpose")
		select {}
	case plugintest.BigAnswer:
		return scheduler.Decisions{Notes: []scheduler.Note{{Name: "big", Body: make([]byte, 5<<20)}}}, nil
	}
	return p.Policy.AssignTasks(r)
}

// printRaw writes to the file of standard output, which go-plugin does not replace.
func printRaw(text string) {
	for b := []byte(text); len(b) > 0; {
		n, err := syscall.Write(1, b)
		if err != nil {
			panic(err)
		}
		b = b[n:]
	}
}

// hoard is the memory that Hog keeps.
var hoard []byte

// fill takes memory and touches every page of it.
func fill(n int) {
	hoard = make([]byte, n)
	for i := 0; i < n; i += 4096 {
		hoard[i] = 1
	}
}

// Explain misbehaves if its behaviour says so.
func (p *policy) Explain(j scheduler.JobID) (scheduler.Explanation, error) {
	if p.behaviour == plugintest.PanicInExplain {
		panic("no word on purpose")
	}
	return p.Policy.Explain(j)
}

// Status misbehaves if its behaviour says so.
func (p *policy) Status() (scheduler.Status, error) {
	switch p.behaviour {
	case plugintest.PanicInStatus:
		panic("no status on purpose")
	case plugintest.ErrorInStatus:
		return scheduler.Status{}, errors.New("no status on purpose")
	case plugintest.NaNStatus:
		return scheduler.Status{Pools: []scheduler.PoolStatus{{Name: "pool-a", FairShare: math.NaN()}}}, nil
	case plugintest.HugeStatus:
		return scheduler.Status{Facts: []scheduler.Property{{Name: "all", Value: strings.Repeat("x", 5<<20)}}}, nil
	case plugintest.BellStatus:
		return scheduler.Status{Pools: []scheduler.PoolStatus{{Name: "a\x1b[2J\x07\xff\n"}}}, nil
	}
	return p.Policy.Status()
}

// Terminate hangs if its behaviour says so.
func (p *policy) Terminate() {
	if p.behaviour == plugintest.HangAtEnd {
		select {}
	}
}

func flood() {
	stderr := os.NewFile(2, "stderr")
	for i := 0; ; i++ {
		fmt.Fprintf(stderr, "[WARN]  flood line %d\n", i)
	}
}

// stopAfterHandshake shakes hands for a socket on which nobody accepts, and stops its process. The
// server of serve.Main could accept the manager's connection before it is stopped.
func stopAfterHandshake() {
	path := filepath.Join(os.Getenv(plugin.EnvUnixSocketDir), "plugin-stopped")
	listener, err := net.Listen("unix", path)
	if err != nil {
		slog.Error("listen", "error", err)
		os.Exit(1)
	}
	defer listener.Close()
	fmt.Printf("%d|%d|unix|%s|grpc|\n", plugin.CoreProtocolVersion, rpc.ProtocolVersion, path)
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	select {} // the signal may reach another thread first
}

func postForEver(_ context.Context, of serve.Surroundings) error {
	for i := 0; ; i++ {
		if err := of.Post(scheduler.Note{Name: fmt.Sprintf("note-%d", i), Body: []byte("body")}); err != nil {
			return nil // the end of the context
		}
	}
}

// echo posts notes and reads confirmations at the same time.
func echo(ctx context.Context, of serve.Surroundings) error {
	go func() {
		for i := range plugintest.EchoNotes {
			if of.Post(scheduler.Note{Name: fmt.Sprintf("note-%d", i)}) != nil {
				return
			}
		}
	}()
	var told strings.Builder
	for range plugintest.EchoNotes {
		select {
		case n := <-of.Notes:
			fmt.Fprintln(&told, n.Name)
		case <-ctx.Done():
			return nil
		}
	}
	return os.WriteFile(filepath.Join(of.Environment.Store, "echo"), []byte(told.String()), 0o600)
}

func postAndFail(_ context.Context, of serve.Surroundings) error {
	if err := of.Post(scheduler.Note{Name: "last"}); err != nil {
		return err
	}
	if err := of.Post(scheduler.Note{Name: "too big", Body: make([]byte, rpc.NoteBytesMax+1)}); err == nil {
		return errors.New("a note that is too big was taken")
	}
	return errors.New("the shell's store is gone on purpose")
}

// serveOther serves without package serve.
func serveOther(cookie string, version uint, server rpc.TaskSchedulerServer) { //nolint:unparam // the server is a choice as the others are
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{ProtocolVersion: version, MagicCookieKey: cookie, MagicCookieValue: rpc.CookieValue},
		Plugins:         plugin.PluginSet{rpc.PluginName: other{server: server}},
		GRPCServer:      plugin.DefaultGRPCServer,
	})
}

type other struct {
	plugin.NetRPCUnsupportedPlugin
	server rpc.TaskSchedulerServer
}

func (o other) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	if o.server == nil {
		return errors.New("nothing to serve: the handshake should have failed")
	}
	rpc.RegisterTaskSchedulerServer(s, o.server)
	return nil
}

func (other) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("not a host")
}

// garbage answers rounds with columns that do not agree. It has no Watch.
type garbage struct {
	rpc.UnimplementedTaskSchedulerServer
}

func (garbage) Start(s grpc.ClientStreamingServer[rpc.StartPart, rpc.StartReply]) error {
	return s.SendAndClose(&rpc.StartReply{Description: &schedwire.Description{}})
}

func (garbage) AssignTasks(context.Context, *schedwire.Round) (*schedwire.Decisions, error) {
	return &schedwire.Decisions{Refuse: &schedwire.Refuse{Job: []uint64{1}}}, nil
}

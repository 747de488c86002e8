// Package serve turns a policy into a plug-in process. A plug-in's main is one line:
//
//	func main() { serve.Main(func() scheduler.TaskScheduler { return fifo.New() }) }
//
// The policy gets one call at a time. The process uses half of the processors, but two at least,
// unless GOMAXPROCS is set. A panic in the policy becomes an error with a stack, which the manager
// receives. The process ends when its manager ends, in whatever way. What the policy or its shell
// logs with log/slog, or prints, goes to the manager's log.
//
// The manager may be of a later version than this package. Unknown events and values are skipped
// (schedwire.Unknown describes how), logged once, and counted in a fact of the policy's Status.
//
// A policy may have a shell (WithShell): the part that may read files, clocks and sockets, and
// posts notes to the policy. A shell may be an Authenticator, which authenticates callers and
// submitters.
//
// # Pages and authenticators
//
// A policy's pages are below /scheduler on the manager's HTTP address; a request has at most 64
// KiB. The policy answers read-only requests between two rounds, and they are not logged
// (scheduler.PageHandler). A request that changes something is logged (scheduler.Requested), so a
// replay makes the same changes. An unsigned GET changes nothing, because a page can make a browser
// send one.
//
// An authenticator authenticates callers and submitters from the request or the job, before
// anything of it is logged or reaches the core. Then the proof itself (a header, parts of the
// query, the properties of scheduler.IsProof) is removed. The policy sees a principal with a name
// and a role, and never a signature or a key.
//
// A shell does not run in simulations, nor while a policy is checked.
package serve

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// Option is an option of Main.
type Option func(*server)

// windowBytes is the flow-control window of the connection: a large round fits,
// so that it is sent in one go.
const windowBytes = 4 << 20

// ioBytes is the size of the connection's read and write buffers.
const ioBytes = 128 << 10

// callWorkers keep their stacks between calls: a round needs a deep stack. Further concurrent calls
// get a goroutine each.
const callWorkers = 2

const (
	// heapFloorBytes is memory that is allocated and never touched, so that it costs address space
	// only. A policy's heap is small, but a large round makes much garbage: without a floor the
	// collector would run several times in each round.
	heapFloorBytes = 32 << 20
	// gcPercent is the collector's GOGC, unless the environment sets it: how much the heap grows
	// over its live size before a collection. Rounds wait for collections.
	gcPercent = 300
)

// threadsMin is the least number of threads that run Go code: one waits for rounds, blocked, and the
// other takes gRPC's calls meanwhile. It sleeps while there are none.
const threadsMin = 2

// limitThreads limits the process to half of the available processors, but two at least, unless
// GOMAXPROCS is set. The policy works on one. More help to collect the garbage of large rounds, and
// would take processors from the manager, which works meanwhile.
func limitThreads() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0)/2, threadsMin))
	}
}

// Main serves the policy that newPolicy makes until the manager ends it. It is the whole main of a
// plug-in. It exits the process if no manager started it, and returns when the manager has finished
// with it. newPolicy is called once for each check of a configuration and once for the policy that
// runs.
func Main(newPolicy func() scheduler.TaskScheduler, options ...Option) {
	if code, stop := refuse(os.Args, os.Getenv(rpc.CookieKey), os.Stdout, os.Stderr); stop {
		os.Exit(code)
	}
	watchParent()
	limitThreads()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	floor := make([]byte, heapFloorBytes)
	defer runtime.KeepAlive(floor)
	// go-plugin replaces os.Stderr. Logs go to the original, which the host reads even while the
	// connection is down.
	stderr := os.Stderr
	slog.SetDefault(slog.New(newLogHandler(stderr)))
	s := newServer(newPolicy)
	for _, o := range options {
		o(s)
	}
	s.takeRounds()
	var h handshake
	if err := h.divertStdout(); err != nil {
		fmt.Fprintf(stderr, "%s: the handshake can't be prepared: %v\n", filepath.Base(os.Args[0]), err)
		os.Exit(1)
	}
	plugin.Serve(&plugin.ServeConfig{
		TLSProvider: h.security,
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion: rpc.ProtocolVersion, MagicCookieKey: rpc.CookieKey, MagicCookieValue: rpc.CookieValue,
		},
		Plugins: plugin.PluginSet{rpc.PluginName: &grpcPlugin{server: s}},
		Logger:  hclog.New(&hclog.LoggerOptions{Level: hclog.Warn, Output: stderr, DisableTime: true}),
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			opts = append(opts, grpc.MaxRecvMsgSize(schedwire.MessageBytesMax), grpc.MaxSendMsgSize(schedwire.MessageBytesMax),
				grpc.StaticStreamWindowSize(windowBytes), grpc.StaticConnWindowSize(windowBytes),
				grpc.ReadBufferSize(ioBytes), grpc.WriteBufferSize(ioBytes),
				grpc.NumStreamWorkers(callWorkers), grpc.ForceServerCodecV2(newCodec()))
			s.grpc = grpc.NewServer(opts...)
			return s.grpc
		},
	})
}

// refuse explains the program to a person who runs it by hand. It reports whether the process must
// end, and with which exit code.
func refuse(args []string, cookie string, stdout, stderr io.Writer) (code int, stop bool) {
	help := len(args) > 1 && slices.Contains([]string{"--help", "-help", "-h", "help"}, args[1])
	if cookie == rpc.CookieValue && !help {
		return 0, false
	}
	to, code := stderr, 2
	if help {
		to, code = stdout, 0
	}
	fmt.Fprintf(to, "%s is a scheduling policy of Hamadryad: a plug-in that the manager starts.\n"+
		"It does nothing by itself. Name its path in the manager's configuration (policy.path),\n"+
		"or try it with: hamadryad policy check %s\n", filepath.Base(args[0]), args[0])
	writeChoices(to, settings.All())
	return code, true
}

// writeChoices lists the choices of the policy's settings.
func writeChoices(to io.Writer, all []settings.Choice) {
	if len(all) == 0 {
		return
	}
	fmt.Fprint(to, "\nParts that its settings (policy.settings) may name:\n")
	for _, c := range all {
		fmt.Fprintf(to, "  %-18s %s\n", c.Setting, strings.Join(c.Names, ", "))
	}
}

// grpcPlugin adapts the server to go-plugin.
type grpcPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	server *server
}

var _ plugin.GRPCPlugin = (*grpcPlugin)(nil)

// GRPCServer registers the service.
func (p *grpcPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	register(s, p.server)
	return nil
}

// GRPCClient is the host's side, which this package lacks.
func (p *grpcPlugin) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("package serve is the plug-in's side only")
}

package policy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/internal/process/proctree"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/direct"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
)

// Options say which plug-in to launch and how.
type Options struct {
	// Path is the plug-in's program.
	Path string
	// Args are its arguments, usually none.
	Args []string
	// Environment are names of variables that the plug-in gets beside the usual ones for the paths
	// of programs, time zones and temporary files. It gets no others of the host.
	Environment []string
	// Checksum is the SHA-256 of the program in hexadecimal; "": no check.
	Checksum string
	// Dir is the folder for plug-ins' sockets, made when missing. Launch sweeps
	// what dead hosts left there. Several hosts may share it. "" makes a temporary
	// folder. Its path must be short, because a socket's is bounded (DirBytesMax).
	Dir string
	// Log gets the plug-in's lines and the host's own; nil means slog.Default().
	Log *slog.Logger
	// StartTimeout bounds the time to the plug-in's handshake and first
	// connection; 0 means 10 s.
	StartTimeout time.Duration
	// Memory bounds the resident memory of the plug-in and its child processes together, in bytes;
	// 0 means half of the machine's.
	Memory int64
	// Mark is a NAME=value in the environment of the plug-in and of its child processes. By it a
	// later host finds the leftovers of a killed one (proctree.KillMarked); "" is none.
	Mark proctree.Mark
	// AskTimeout bounds one call beside the rounds (Explain, Status, Page); 0 means 5 s.
	AskTimeout time.Duration
	// Transport says how rounds reach the plug-in: TransportAuto, also for "", or TransportGRPC.
	Transport string
	// Unpaced lets such calls follow one another without a pause. A manager keeps nine tenths of
	// the time for rounds; a test of one policy need not.
	Unpaced bool
}

// Ways of rounds to a policy.
const (
	// TransportAuto is a socket of its own for rounds, if the plug-in knows of it, and else gRPC.
	TransportAuto = "auto"
	// TransportGRPC is gRPC for rounds, as for all other calls.
	TransportGRPC = "grpc"
	// TransportSocket is what Host.Transport returns when rounds go on a socket of their own.
	TransportSocket = "socket"
	// TransportNone is what Host.Transport returns for a policy in the manager's process.
	TransportNone = "none"
)

// Connection settings: a large round is sent in one go.
const (
	windowBytes = 4 << 20
	ioBytes     = 128 << 10
	// idleMax closes an idle connection; a live plug-in's never is idle, because Watch is open on
	// it.
	idleMax = 5 * time.Second
)

// Launch starts a plug-in process and connects to it. The policy in it is not
// started yet. It returns within StartTimeout and a few seconds for cleaning up.
// Errors are of kind StartFailed or Canceled; nothing is left behind.
func Launch(ctx context.Context, o Options) (Host, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	o.StartTimeout = cmp.Or(max(o.StartTimeout, 0), startTimeoutDefault)
	o.AskTimeout = cmp.Or(max(o.AskTimeout, 0), askTimeout)
	fail := func(err error) (Host, error) {
		return nil, errorf(StartFailed, "launch", "%s: %w", o.Path, err)
	}
	if err := checkProgram(o.Path, o.Checksum); err != nil {
		return fail(err)
	}
	if o.Memory <= 0 {
		bound, err := memoryDefault()
		if err != nil {
			return fail(err)
		}
		o.Memory = bound
	}
	security, certificate, err := newCertificate()
	if err != nil {
		return fail(err)
	}
	dir, err := newSocketDir(o.Dir)
	if err != nil {
		return fail(err)
	}
	h := newRemote(o, dir, security, certificate)
	if err := h.connect(ctx, o.StartTimeout); err != nil {
		h.discard()
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, newError(Canceled, "launch", ctx.Err())
		}
		return fail(h.withLastWords(err))
	}
	go h.reap()
	go h.watch()
	go h.weigh()
	return h, nil
}

// checkProgram checks that the program exists and has the checksum.
func checkProgram(path, checksum string) error {
	if path == "" {
		return errors.New("no plug-in is named: set policy.path")
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("cannot read the plug-in: %w: check policy.path", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return fmt.Errorf("not a program (mode %v): policy.path must name an executable file", info.Mode())
	}
	if os.Geteuid() == 0 {
		if err := checkWriters(path); err != nil {
			return err
		}
	}
	if checksum == "" {
		return nil
	}
	want, err := hex.DecodeString(strings.TrimSpace(checksum))
	if err != nil || len(want) != sha256.Size {
		return fmt.Errorf("checksum %q is not a SHA-256 in hexadecimal (64 digits): take it from sha256sum", checksum)
	}
	got, err := sumOf(f)
	if err != nil {
		return err
	}
	if subtle.ConstantTimeCompare(got, want) != 1 {
		return fmt.Errorf("wrong checksum: the program's is %x, the configuration says %x: if this program is meant, set policy.checksum to its own", got, want)
	}
	return nil
}

func sumOf(f *os.File) ([]byte, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return nil, fmt.Errorf("read the plug-in: %w", err)
	}
	return sum.Sum(nil), nil
}

// checksumOf is the SHA-256 of the program that a process runs, "" when it is unreadable. The file
// that it was started from may be another by now.
func checksumOf(pid int) string {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/exe")
	if err != nil {
		return ""
	}
	defer f.Close()
	sum, err := sumOf(f)
	if err != nil {
		return ""
	}
	return hex.EncodeToString(sum)
}

// newRemote prepares a host; no process runs yet. security is the host's own TLS settings, and the
// certificate is theirs, for the plug-in.
func newRemote(o Options, dir *socketDir, security *tls.Config, certificate []byte) *remote {
	h := &remote{
		life: newLife(o.Unpaced), options: o, dir: dir, log: o.Log,
		lines: newLineLog(o.Log, time.Now), notes: make(chan scheduler.Note, notesMax),
	}
	h.process = newProcess(o.Path, h.lines)
	if o.Transport != TransportGRPC {
		var err error
		if h.rounds.socket, h.process.socket, err = direct.Pair(); err != nil {
			h.log.Warn("rounds go to the policy plug-in by gRPC", "err", err)
		}
	}
	h.client = plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion: rpc.ProtocolVersion, MagicCookieKey: rpc.CookieKey, MagicCookieValue: rpc.CookieValue,
		},
		Plugins: plugin.PluginSet{rpc.PluginName: grpcPlugin{}},
		RunnerFunc: func(_ hclog.Logger, spec *exec.Cmd, _ string) (runner.Runner, error) {
			h.process.prepare(o, append(environment(o.Environment, spec.Env), rpc.CertificateKey+"="+string(certificate)))
			return h.process, nil
		},
		SkipHostEnv:      true,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: dir.path},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		TLSConfig:        security,
		StartTimeout:     o.StartTimeout,
		SyncStdout:       h.lines.writer(),
		SyncStderr:       h.lines.writer(),
		// What go-plugin would log is in this package's own errors.
		Logger: hclog.NewNullLogger(),
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithStaticStreamWindowSize(windowBytes), grpc.WithStaticConnWindowSize(windowBytes),
			grpc.WithReadBufferSize(ioBytes), grpc.WithWriteBufferSize(ioBytes), grpc.WithIdleTimeout(idleMax),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(answerBytesDefault), grpc.MaxCallSendMsgSize(schedwire.MessageBytesMax)),
		},
	})
	return h
}

// grpcPlugin hands the connection out.
type grpcPlugin struct{ plugin.NetRPCUnsupportedPlugin }

var _ plugin.GRPCPlugin = grpcPlugin{}

// GRPCServer is the plug-in's side, which is not here.
func (grpcPlugin) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("package policy is the host's side only")
}

// GRPCClient returns the connection.
func (grpcPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return c, nil
}

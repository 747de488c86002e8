package launcher_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/launcher"
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
	"github.com/hamadryad/hamadryad/internal/proctest"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// patience bounds every wait of these tests, on a machine that is slow and busy.
const patience = 2 * time.Minute

// shownMax bounds how many bytes of reports a failure shows: an unconfirmed report is sent again
// and again.
const shownMax = 4 << 10

// leaseShort is for tests in which the lease runs out: short enough to wait for, and long enough
// not to run out too early.
const leaseShort = 3 * time.Second

// manager is a scripted manager on a real gRPC server.
type manager struct {
	rpc.UnimplementedLaunchersServer
	t      testing.TB
	server *grpc.Server
	addr   string

	id      string
	term    atomic.Uint64
	lease   time.Duration
	deaf    atomic.Bool // heartbeats are not answered
	afresh  atomic.Bool // the next join is refused, and asks for a new incarnation
	fetches atomic.Int32
	ids     atomic.Uint64

	mu    sync.Mutex
	blobs map[string][]byte
	wrong map[string]func(*wire.BlobQuery) ([]byte, bool) // content to send in place of a blob
	nodes map[string]*node                                // by launcher's name

	folders map[string]string // data folders of the launchers, by name
}

type configuration = launcher.Config

// node is the manager's side of one launcher.
type node struct {
	m    *manager
	name string

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change
	join    *wire.Join
	joins   int
	left    []*wire.Leave
	beats   int // heartbeats since the last join
	reports []*wire.Report
	out     chan *wire.ToLauncher
	cut     context.CancelFunc
}

var ownProgram = sync.OnceValues(func() ([]byte, string) {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	blob, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	return blob, sum(blob)
})

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func newManager(t testing.TB) *manager {
	m := &manager{t: t, id: "one", lease: 2 * patience, blobs: map[string][]byte{}, wrong: map[string]func(*wire.BlobQuery) ([]byte, bool){}, nodes: map[string]*node{}, folders: map[string]string{}}
	m.term.Store(1)
	blob, hash := ownProgram()
	m.blobs[hash] = blob
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m.addr = l.Addr().String()
	m.serve(l)
	t.Cleanup(func() { m.server.Stop() })
	return m
}

func (m *manager) serve(l net.Listener) {
	m.server = grpc.NewServer(grpc.MaxRecvMsgSize(256 << 20))
	rpc.RegisterLaunchersServer(m.server, m)
	go m.server.Serve(l)
}

func (m *manager) node(name string) *node {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.nodes[name]
	if n == nil {
		n = &node{m: m, name: name, changed: make(chan struct{})}
		m.nodes[name] = n
	}
	return n
}

// MayLook gives every user a role except "nobody".
func (m *manager) MayLook(_ context.Context, q *wire.LookQuery) (*wire.LookAnswer, error) {
	return &wire.LookAnswer{May: q.User != "nobody"}, nil
}

// Connect serves one launcher's stream.
func (m *manager) Connect(stream rpc.Launchers_ConnectServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	if first.Leave != nil {
		n := m.node(first.Leave.Name)
		n.mu.Lock()
		n.left = append(n.left, first.Leave)
		n.changeLocked()
		n.mu.Unlock()
		return nil
	}
	if first.Join == nil {
		return errors.New("no join")
	}
	if m.afresh.Swap(false) {
		return stream.Send(&wire.ToLauncher{Welcome: &wire.Welcome{Refused: "given up", Afresh: true}})
	}
	ctx, cut := context.WithCancel(stream.Context())
	n := m.node(first.Join.Name)
	out := make(chan *wire.ToLauncher, 10_000)
	out <- &wire.ToLauncher{Welcome: &wire.Welcome{
		Launcher: 1, Term: m.term.Load(), LeaseNs: int64(m.lease), HeartbeatNs: int64(min(m.lease/20, time.Second)), Manager: m.id,
	}}
	n.mu.Lock()
	n.join, n.out, n.cut = first.Join, out, cut
	n.joins++
	n.beats = 0
	n.changeLocked()
	n.mu.Unlock()
	go n.receive(stream, out)
	for {
		select {
		case msg := <-out:
			if err := stream.Send(msg); err != nil {
				return err
			}
		case <-ctx.Done():
			return status.Error(codes.Unavailable, "cut")
		}
	}
}

func (n *node) receive(stream rpc.Launchers_ConnectServer, out chan *wire.ToLauncher) {
	for {
		msg, err := stream.Recv()
		if err != nil {
			return
		}
		if h := msg.Heartbeat; h != nil && !n.m.deaf.Load() {
			out <- &wire.ToLauncher{Heartbeat: &wire.HeartbeatAck{Seq: h.Seq}}
		}
		if msg.Heartbeat != nil {
			n.mu.Lock()
			n.beats++
			n.changeLocked()
			n.mu.Unlock()
		}
		if len(msg.Reports) > 0 {
			n.mu.Lock()
			n.reports = append(n.reports, msg.Reports...)
			n.changeLocked()
			n.mu.Unlock()
		}
	}
}

func (n *node) changeLocked() {
	close(n.changed)
	n.changed = make(chan struct{})
}

// FetchBlob serves programs and plans.
func (m *manager) FetchBlob(q *wire.BlobQuery, stream rpc.Launchers_FetchBlobServer) error {
	m.fetches.Add(1)
	m.mu.Lock()
	blob, ok := m.blobs[q.Hash]
	wrong := m.wrong[q.Hash]
	m.mu.Unlock()
	if wrong != nil {
		blob, ok = wrong(q)
	}
	if !ok {
		return status.Error(codes.NotFound, "no such blob")
	}
	for len(blob) > 0 {
		n := min(len(blob), 1<<20)
		if err := stream.Send(&wire.BlobChunk{Hash: q.Hash, Data: blob[:n]}); err != nil {
			return err
		}
		blob = blob[n:]
	}
	return nil
}

// wait blocks until check is true.
func (n *node) wait(what string, check func() bool) {
	n.m.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		n.mu.Lock()
		ok, changed := check(), n.changed
		n.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-late.C:
			n.mu.Lock()
			defer n.mu.Unlock()
			last := fmt.Sprint(n.reports)
			n.m.t.Fatalf("launcher %s: no %s after %v; %d reports that nobody took, at their end: %s",
				n.name, what, patience, len(n.reports), last[max(0, len(last)-shownMax):])
		}
	}
}

// report waits for a report and removes it.
func (n *node) report(what string, match func(*wire.Report) bool) *wire.Report {
	n.m.t.Helper()
	var found *wire.Report
	n.wait(what, func() bool {
		for i, r := range n.reports {
			if match(r) {
				found = r
				n.reports = append(n.reports[:i:i], n.reports[i+1:]...)
				return true
			}
		}
		return false
	})
	return found
}

func (n *node) started(id uint64) *wire.AttemptStarted {
	n.m.t.Helper()
	return n.report(fmt.Sprintf("start of %d", id), func(r *wire.Report) bool { return r.GetStarted().GetAttempt() == id }).GetStarted()
}

func (n *node) ended(id uint64) *wire.AttemptEnded {
	n.m.t.Helper()
	return n.report(fmt.Sprintf("end of %d", id), func(r *wire.Report) bool { return r.GetEnded().GetAttempt() == id }).GetEnded()
}

// finished waits for the end of an attempt that must be a success.
func (n *node) finished(id uint64) *wire.AttemptEnded {
	n.m.t.Helper()
	e := n.ended(id)
	if e.End != wire.End_END_FINISHED {
		n.m.t.Fatalf("attempt %d: %v %v", id, e.End, e.Failure)
	}
	return e
}

// logged waits until a line of the attempt's log contains text. Programs of these tests print their
// progress.
func (n *node) logged(id uint64, text string) {
	n.m.t.Helper()
	n.m.follow(n.join.HttpAddress, id, text)
}

// do sends a command.
func (n *node) do(c *wire.Command) {
	n.mu.Lock()
	defer n.mu.Unlock()
	c.Term, c.Incarnation = n.m.term.Load(), n.join.Incarnation
	n.out <- &wire.ToLauncher{Commands: []*wire.Command{c}}
}

func (n *node) start(s *wire.StartAttempt) uint64 {
	n.do(&wire.Command{Do: &wire.Command_Start{Start: s}})
	return s.Attempt
}

func (n *node) stop(id uint64, grace time.Duration) {
	n.do(&wire.Command{Do: &wire.Command_Stop{Stop: &wire.StopAttempt{Attempt: id, GraceNs: int64(grace), Reason: "test"}}})
}

// launch runs a launcher inside the test, and waits until it joined.
func (m *manager) launch(name string, change func(*launcher.Config)) *node {
	m.t.Helper()
	cfg := m.config(name)
	if change != nil {
		change(&cfg)
	}
	m.folders[name] = cfg.Data
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- launcher.Run(ctx, cfg) }()
	m.t.Cleanup(func() {
		stop()
		select {
		case err := <-done:
			if err != nil {
				m.t.Errorf("launcher %s: %v", name, err)
			}
		case <-time.After(patience):
			m.t.Errorf("launcher %s does not end", name)
		}
	})
	n := m.node(name)
	n.wait("join", func() bool { return n.joins > 0 })
	return n
}

func (m *manager) config(name string) launcher.Config {
	return launcher.Config{
		Manager: m.addr, Name: name, Host: "host-" + name, Rack: "rack", Data: m.t.TempDir(), Cache: sharedCache,
		Slots: []scheduler.SlotCount{{Kind: "default", Count: 4}}, Memory: 1 << 30,
	}
}

// launchProcess runs a launcher as a process of its own.
func (m *manager) launchProcess(cfg launcher.Config) (*node, *exec.Cmd) {
	m.t.Helper()
	text, err := json.Marshal(cfg)
	if err != nil {
		m.t.Fatal(err)
	}
	path, err := os.Executable()
	if err != nil {
		m.t.Fatal(err)
	}
	n := m.node(cfg.Name)
	n.mu.Lock()
	before := n.joins
	n.mu.Unlock()
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), launcherVariable+"="+string(text))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	n.wait("join", func() bool { return n.joins > before })
	return n, cmd
}

// built is a job whose groups can be started.
type built struct {
	m           *manager
	id          uint64
	name, plan  string
	fingerprint []byte
	graph       *wire.Graph
}

var jobNumber atomic.Uint64

// job builds one of the test program's jobs.
func (m *manager) job(name string, args ...string) *built {
	m.t.Helper()
	return m.jobWith(&plan.Submission{Name: name, Args: args})
}

func (m *manager) jobWith(p *plan.Submission) *built {
	m.t.Helper()
	g, err := plan.Build(definitions, p)
	if err != nil {
		m.t.Fatal(err)
	}
	w, err := plan.Graph(g)
	if err != nil {
		m.t.Fatal(err)
	}
	blob, err := plan.Encode(p)
	if err != nil {
		m.t.Fatal(err)
	}
	m.mu.Lock()
	m.blobs[sum(blob)] = blob
	m.mu.Unlock()
	return &built{m: m, id: jobNumber.Add(1), name: p.Name, plan: sum(blob), fingerprint: plan.Fingerprint(w), graph: w}
}

// attempt returns a start of a group of nodes, each given as stage and index.
func (b *built) attempt(nodes ...int) *wire.StartAttempt {
	_, program := ownProgram()
	id := b.m.ids.Add(1)
	s := &wire.StartAttempt{
		Attempt: id, Job: b.id, Bundle: id, BundleAttempt: id, Token: []byte(fmt.Sprintf("token-%d", id)),
		Kind: "default", Slots: 1, Memory: 256 << 20, Program: program, Plan: b.plan, Fingerprint: b.fingerprint,
		JobName: b.name, User: "tester", SourcesComplete: true,
	}
	for i := 0; i < len(nodes); i += 2 {
		s.Nodes = append(s.Nodes, &wire.NodeRef{Stage: uint32(nodes[i]), Index: uint32(nodes[i+1])})
	}
	return s
}

// source is a finished attempt's output, for a reader.
func source(n *node, s *wire.StartAttempt, connection, from int) *wire.Source {
	return &wire.Source{
		Connection: uint32(connection), From: uint32(from), Attempt: s.Attempt, Address: n.join.DataAddress,
		Host: n.join.Host, Rack: n.join.Rack, Token: s.Token, Launcher: 1, LauncherName: n.name,
	}
}

func counters(e *wire.AttemptEnded) map[string]int64 {
	all := map[string]int64{}
	for _, c := range e.Counters {
		all[c.Name] = c.Value
	}
	return all
}

// waitGone waits until a path does not exist.
func waitGone(t testing.TB, path string) {
	t.Helper()
	waitFor(t, "end of "+path, func() bool {
		_, err := os.Stat(path)
		return errors.Is(err, os.ErrNotExist)
	})
}

// waitFor polls check, for conditions without an event.
func waitFor(t testing.TB, what string, check func() bool) {
	t.Helper()
	proctest.Until(t, patience, what, check)
}

package manager

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
	"github.com/hamadryad/hamadryad/engine/policy/plugintest"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
	"github.com/hamadryad/hamadryad/internal/metricdoc"
	"github.com/hamadryad/hamadryad/internal/proctest"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// waitMax bounds every wait of these tests, on a machine that is slow and busy.
const waitMax = 2 * time.Minute

// testbed is a manager under test, with clients and fake launchers.
type testbed struct {
	t      testing.TB
	cfg    Config
	cancel context.CancelFunc
	ended  chan error
	conn   *grpc.ClientConn
	api    rpc.ManagerClient
	log    *proctest.Output
	http   string
}

// fifoPlugin builds the FIFO plug-in once, pricedPlugin that of dynamic-priority.
var (
	fifoPlugin   = sync.OnceValues(func() (string, error) { return builtPlugin("fifo", "hamadryad-policy-fifo") })
	pricedPlugin = sync.OnceValues(func() (string, error) {
		return builtPlugin("dynamicpriority", "hamadryad-policy-dynamic-priority")
	})
)

// built are the folders of the plug-ins that were built.
var built []string

func builtPlugin(folder, name string) (string, error) {
	dir, err := os.MkdirTemp("", "hamadryad-manager")
	if err != nil {
		return "", err
	}
	built = append(built, dir)
	out, err := exec.Command("go", "build", "-o", dir+"/", "../../plugins/"+folder+"/"+name).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return filepath.Join(dir, name), nil
}

func TestMain(m *testing.M) {
	if code, asked := remakeHere(); asked {
		os.Exit(code)
	}
	code := m.Run()
	for _, dir := range built {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// newTestbed has the FIFO plug-in.
func newTestbed(t *testing.T) *testbed {
	t.Helper()
	path, err := fifoPlugin()
	if err != nil {
		t.Fatal(err)
	}
	return newTestbedWith(t, path)
}

func newTestbedWith(t testing.TB, plugin string) *testbed {
	t.Helper()
	bed := &testbed{t: t, log: &proctest.Output{}}
	bed.cfg = Config{
		Data: t.TempDir(), Heartbeat: 100 * time.Millisecond, Lease: waitMax, LauncherLostAfter: 2 * waitMax,
		Core: core.DefaultSettings(), Fallback: fifo.New, Log: slog.New(slog.NewTextHandler(bed.log, nil)),
		Policy: policyhost.Policy{Name: "test", Path: plugin, FailuresMax: 3},
	}
	bed.cfg.Core.PolicyLimits.RoundDeadline = waitMax
	bed.cfg.Core.Speculation = false // tests count attempts
	t.Cleanup(func() {
		bed.stop()
		if t.Failed() {
			t.Log(bed.log)
		}
	})
	return bed
}

func (b *testbed) start() {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	addresses := make(chan [2]string, 1)
	b.cfg.Ready = func(grpc, http string) { addresses <- [2]string{grpc, http} }
	b.cancel, b.ended = cancel, make(chan error, 1)
	go func() { b.ended <- Run(ctx, b.cfg) }()
	select {
	case a := <-addresses:
		b.cfg.Listen, b.http = a[0], a[1]
	case err := <-b.ended:
		b.t.Fatal(err)
	}
	conn, err := grpc.NewClient("passthrough:///"+b.cfg.Listen, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.t.Fatal(err)
	}
	b.conn, b.api = conn, rpc.NewManagerClient(conn)
}

// stop ends the manager; its error must be nil.
func (b *testbed) stop() {
	if b.cancel == nil {
		return
	}
	b.cancel()
	b.conn.Close()
	select {
	case err := <-b.ended:
		if err != nil {
			b.t.Errorf("the manager ended with: %v", err)
		}
	case <-time.After(waitMax):
		b.t.Error("the manager does not end")
	}
	b.cancel = nil
}

func (b *testbed) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), waitMax)
	b.t.Cleanup(cancel)
	return ctx
}

func (b *testbed) upload(data string) string {
	b.t.Helper()
	stream, err := b.api.PutBlob(b.ctx())
	if err == nil {
		err = stream.Send(&wire.BlobChunk{Hash: sumOf(data), Data: []byte(data)})
	}
	if err == nil {
		_, err = stream.CloseAndRecv()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return sumOf(data)
}

// submit hands in a job of n nodes.
func (b *testbed) submit(n int) uint64 {
	b.t.Helper()
	prepared, err := b.api.Prepare(b.ctx(), &wire.PrepareRequest{})
	if err != nil {
		b.t.Fatal(err)
	}
	spec := &wire.JobSpec{
		Name: "job", Principal: &wire.Principal{Name: "me"}, Program: b.upload("program"), Plan: b.upload("plan"),
		Graph: &wire.Graph{Stages: []*wire.Stage{{Name: "work", Nodes: uint32(n), Slots: 1, Memory: 1}}}, Fingerprint: []byte("f"),
	}
	if _, err := b.api.Submit(b.ctx(), &wire.SubmitRequest{Job: prepared.Job, Spec: spec}); err != nil {
		b.t.Fatal(err)
	}
	return prepared.Job
}

// follow watches a job to its end.
func (b *testbed) follow(job uint64) *wire.JobStatus {
	b.t.Helper()
	stream, err := b.api.Watch(b.ctx(), &wire.StatusRequest{Job: job})
	if err != nil {
		b.t.Fatal(err)
	}
	var last *wire.JobStatus
	for {
		s, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return last
		}
		if err != nil {
			b.t.Fatalf("%v; the last status was %v", err, last)
		}
		last = s
	}
}

// fakeLauncher takes part in the protocol and ends each attempt at once, unless
// it holds them.
type fakeLauncher struct {
	b       *testbed
	stream  rpc.Launchers_ConnectClient
	cancel  context.CancelFunc
	welcome *wire.Welcome
	join    *wire.Join
	hold    bool
	started chan uint64 // attempts
	tokens  sync.Map    // of their data connections
	tickets sync.Map    // of jobs, the newest
	ended   chan error
	http    net.Listener
	silent  atomic.Bool
	mu      sync.Mutex // of sends
}

func (b *testbed) launcher(name string, incarnation uint64, hold bool, running ...uint64) *fakeLauncher {
	b.t.Helper()
	l, err := b.tryLauncher(name, incarnation, hold, running...)
	if err != nil {
		b.t.Fatal(err)
	}
	return l
}

func (b *testbed) tryLauncher(name string, incarnation uint64, hold bool, running ...uint64) (*fakeLauncher, error) {
	return b.tryJoin(name, incarnation, hold, func(j *wire.Join) {
		for _, a := range running {
			j.Attempts = append(j.Attempts, &wire.AttemptInventory{Attempt: a, State: wire.AttemptInventory_STATE_RUNNING})
		}
	})
}

// tryJoin has a launcher join with what the change of its join says.
func (b *testbed) tryJoin(name string, incarnation uint64, hold bool, change func(*wire.Join)) (*fakeLauncher, error) {
	ctx, cancel := context.WithCancel(context.Background())
	b.t.Cleanup(cancel)
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { web.Close() })
	join := &wire.Join{
		Name: name, Incarnation: incarnation, Host: "h", Slots: []*wire.Slots{{Kind: "default", Count: 2}}, Memory: 1 << 30,
		DataAddress: "127.0.0.1:1", HttpAddress: web.Addr().String(), CanSuspend: true,
	}
	change(join)
	stream, err := rpc.NewLaunchersClient(b.conn).Connect(ctx)
	if err != nil {
		return nil, err
	}
	l := &fakeLauncher{b: b, stream: stream, cancel: cancel, join: join, hold: hold, started: make(chan uint64, 1000), ended: make(chan error, 1), http: web}
	if err := stream.Send(&wire.FromLauncher{Join: l.join}); err != nil {
		return nil, err
	}
	first, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	if l.welcome = first.Welcome; l.welcome == nil || l.welcome.Refused != "" {
		return nil, fmt.Errorf("refused: %v", l.welcome)
	}
	go func() { l.ended <- l.serve() }()
	go l.beat(ctx)
	return l, nil
}

// beat sends heartbeats, unless the launcher is silent.
func (l *fakeLauncher) beat(ctx context.Context) {
	tick := time.NewTicker(time.Duration(l.welcome.HeartbeatNs))
	defer tick.Stop()
	for seq := uint64(1); ; seq++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if l.silent.Load() {
			continue
		}
		if l.send(&wire.FromLauncher{Heartbeat: &wire.Heartbeat{Seq: seq}}) != nil {
			return
		}
	}
}

// send lets two goroutines send.
func (l *fakeLauncher) send(m *wire.FromLauncher) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stream.Send(m)
}

func (l *fakeLauncher) serve() error {
	for {
		m, err := l.stream.Recv()
		if err != nil {
			return err
		}
		for _, c := range m.Commands {
			if given := c.GetTickets(); given != nil {
				l.tickets.Store(given.Job, string(given.Cache))
			}
			start := c.GetStart()
			if start == nil {
				continue
			}
			l.tokens.Store(start.Attempt, start.Token)
			if l.hold {
				l.started <- start.Attempt
				continue
			}
			if err := l.finish(start.Attempt); err != nil {
				return err
			}
		}
	}
}

func (l *fakeLauncher) finish(attempt uint64) error {
	return l.report(
		&wire.Report{What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: attempt}}},
		&wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{Attempt: attempt, End: wire.End_END_FINISHED, Work: &wire.Work{ChannelBytes: []int64{7}}}}},
	)
}

func (l *fakeLauncher) report(reports ...*wire.Report) error {
	for _, r := range reports {
		r.Incarnation, r.Term = l.join.Incarnation, l.welcome.Term
	}
	return l.send(&wire.FromLauncher{Reports: reports})
}

// next waits for the next attempt that is started there.
func (l *fakeLauncher) next() uint64 {
	l.b.t.Helper()
	select {
	case a := <-l.started:
		return a
	case <-time.After(waitMax):
		l.b.t.Fatal("no attempt is started")
		return 0
	}
}

// sumOf is the name of a blob.
func sumOf(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}

// damage changes a file's content, and leaves all else as it was.
func damage(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	proctest.Until(t, waitMax, what, holds)
}

func succeeded(s *wire.JobStatus) bool {
	return s.GetSummary().GetState() == wire.JobState_JOB_STATE_SUCCEEDED
}

func TestAJobRuns(t *testing.T) {
	b := newTestbed(t)
	b.start()
	job := b.submit(50)
	var early string
	eventually(t, "the job's pool is told", func() bool {
		_, early = b.page("/metrics")
		return strings.Contains(early, "hamadryad_pool_groups_pending{") && strings.Contains(early, "hamadryad_pool_slots_held{")
	})
	b.launcher("a", 1, false)
	b.launcher("b", 1, false)
	s := b.follow(job)
	if !succeeded(s) || s.Summary.GroupsFinished != 50 {
		t.Fatal(s)
	}
	_, text := b.page("/metrics")
	for _, want := range []string{
		`hamadryad_slots{kind="default"} 4`, `hamadryad_attempts_total{outcome="finished"} 50`,
		`hamadryad_channel_bytes_total{kind="file"} 350`, `hamadryad_launchers{state="up"} 2`, "hamadryad_launchers_left_total 0", `hamadryad_jobs_waiting{fits="yes"} 0`, "hamadryad_build_info{", `hamadryad_input_attempts_total{locality="node-local"} 0`, `hamadryad_read_bytes_total{locality="remote"} 0`,
		"hamadryad_round_seconds_count", "hamadryad_log_sync_seconds_count",
		"hamadryad_inbox_entries ", "hamadryad_inbox_max_entries 1024", "hamadryad_inbox_max_bytes 1.34217728e+08", "hamadryad_uploads 0", "hamadryad_max_uploads 32",
		"hamadryad_programs_bytes ", "hamadryad_log_stalled_seconds_total 0", "hamadryad_audit_lines_waiting 0", "hamadryad_audit_stalled 0",
		`hamadryad_policy_info{name="test",transport="socket",version="1"} 1`, "hamadryad_policy_generation 1", "hamadryad_manager_term 1",
		`hamadryad_attempt_duration_seconds_count{outcome="finished"} 50`, "hamadryad_attempt_wait_seconds_count 50",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	metricdoc.Check(t, "../../docs/operations/METRICS.md", "The manager", early+text, "hamadryad_certificate_expiry_timestamp_seconds", "hamadryad_user_limit", "hamadryad_user_holds")
	if b.metric("hamadryad_checkpoint_bytes") == 0 || b.metric("hamadryad_log_file_bytes") <= b.metric("hamadryad_checkpoint_bytes") {
		t.Error("checkpoint and file of the event log have no sizes")
	}
	if made := b.metric("hamadryad_checkpoint_timestamp_seconds"); time.Since(time.Unix(int64(made), 0)) > time.Hour {
		t.Errorf("the checkpoint was made at %d", made)
	}
	if problems, err := promlint.New(strings.NewReader(text)).Lint(); err != nil || len(problems) != 0 {
		t.Errorf("metrics are not as Prometheus wants them: %v, %v", problems, err)
	}
}

func TestARestartLosesNothing(t *testing.T) {
	b := newTestbed(t)
	b.start()
	l := b.launcher("a", 1, true)
	job := b.submit(4)
	running := []uint64{l.next(), l.next()}
	for _, a := range running {
		if err := l.report(&wire.Report{What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: a}}}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "both attempts run", func() bool {
		s, err := b.api.Status(b.ctx(), &wire.StatusRequest{Job: job})
		return err == nil && s.Summary.GroupsRunning == 2
	})
	b.stop()
	b.start()
	again := b.launcher("a", 1, true, running...)
	if again.welcome.Term <= l.welcome.Term || again.welcome.Manager != l.welcome.Manager || again.welcome.Launcher != l.welcome.Launcher {
		t.Fatalf("welcomed with %v after %v", again.welcome, l.welcome)
	}
	// What runs is adopted and not started again.
	for _, a := range running {
		if err := again.finish(a); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		a := again.next()
		if slices.Contains(running, a) {
			t.Fatalf("attempt %d was started twice", a)
		}
		if err := again.finish(a); err != nil {
			t.Fatal(err)
		}
	}
	if s := b.follow(job); !succeeded(s) {
		t.Fatal(s)
	}
}

func TestALauncherWhoseProcessEndedIsLostAtOnce(t *testing.T) {
	b := newTestbed(t)
	b.cfg.LauncherLostAfter = time.Hour
	b.start()
	l := b.launcher("a", 1, true)
	job := b.submit(1)
	l.next()
	l.http.Close()
	l.cancel()
	b.launcher("b", 1, false)
	if s := b.follow(job); !succeeded(s) {
		t.Fatal(s)
	}
}

func TestASilentLauncherIsLost(t *testing.T) {
	b := newTestbed(t)
	b.cfg.Lease, b.cfg.LauncherLostAfter = time.Second, 2*time.Second
	b.start()
	l := b.launcher("a", 1, true)
	l.silent.Store(true)
	if err := <-l.ended; status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "nothing was heard of it") {
		t.Fatal(err)
	}
	// It was given up: the same start of it may not come back.
	if _, err := b.tryLauncher("a", 1, true); err == nil || !strings.Contains(err.Error(), "new incarnation") {
		t.Fatal(err)
	}
	b.launcher("a", 2, true)
}

func TestTwoLaunchersOfOneName(t *testing.T) {
	b := newTestbed(t)
	b.cfg.Heartbeat = waitMax / 4 // the first one lives, however late it beats
	b.start()
	b.launcher("a", 1, true)
	if _, err := b.tryLauncher("a", 2, true); err == nil || !strings.Contains(err.Error(), "another name") {
		t.Fatal(err)
	}
}

func TestGarbledBytesHarmNobody(t *testing.T) {
	b := newTestbed(t)
	b.start()
	for _, address := range []string{b.cfg.Listen, b.http} {
		for _, garbage := range []string{"GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff", strings.Repeat("\x00\xff", 4096)} {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = conn.Write([]byte(garbage))
			conn.Close()
		}
	}
	stream, err := rpc.NewLaunchersClient(b.conn).Connect(b.ctx())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&wire.FromLauncher{Heartbeat: &wire.Heartbeat{}}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.InvalidArgument {
		t.Fatalf("a stream without a join: %v", err)
	}
	b.launcher("a", 1, false)
	if s := b.follow(b.submit(3)); !succeeded(s) {
		t.Fatal(s)
	}
}

func TestRequestsForWhatIsNotThere(t *testing.T) {
	b := newTestbed(t)
	b.start()
	if _, err := b.api.Kill(b.ctx(), &wire.JobRef{Job: 99}); status.Code(err) != codes.NotFound {
		t.Error(err)
	}
	if _, err := b.api.Submit(b.ctx(), &wire.SubmitRequest{Job: 1, Spec: &wire.JobSpec{Program: "x"}}); status.Code(err) != codes.FailedPrecondition {
		t.Error(err)
	}
	if _, err := b.api.Submit(b.ctx(), &wire.SubmitRequest{Job: 1}); status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
	stream, err := b.api.PutBlob(b.ctx())
	if err != nil {
		t.Fatal(err)
	}
	_ = stream.Send(&wire.BlobChunk{Hash: sumOf("a"), Data: []byte("b")})
	if _, err := stream.CloseAndRecv(); status.Code(err) != codes.DataLoss {
		t.Error(err)
	}
}

func TestAnInvalidPolicyEndsTheStart(t *testing.T) {
	b := newTestbedWith(t, plugintest.Plugin(t, plugintest.Good))
	b.cfg.Policy.Config = scheduler.Config{File: "site.yaml", Line: 3, Text: []byte("invalid")}
	err := Run(context.Background(), b.cfg)
	if err == nil || !strings.Contains(err.Error(), "rejects its settings") {
		t.Fatal(err)
	}
}

func TestAFailingPolicyIsReplaced(t *testing.T) {
	for _, behaviour := range []plugintest.Behaviour{plugintest.CrashAt(3), plugintest.PanicAt(3), plugintest.ErrorAt(2), plugintest.HangAt(3), plugintest.StopAt(3), plugintest.BigAnswer, plugintest.GarbageAnswer, plugintest.ExitAtOnce} {
		t.Run(string(behaviour), func(t *testing.T) {
			t.Parallel()
			b := newTestbedWith(t, plugintest.Plugin(t, behaviour))
			b.cfg.Core.PolicyLimits.RoundDeadline = time.Second
			b.start()
			b.launcher("a", 1, false)
			if s := b.follow(b.submit(30)); !succeeded(s) {
				t.Fatal(s)
			}
			p, err := b.api.Policy(b.ctx(), &wire.PolicyQuery{})
			if err != nil || p.Restarts == 0 || len(p.Problems) == 0 {
				t.Fatalf("%v %v", p, err)
			}
		})
	}
}

func TestPolicyAndSettingsAreChanged(t *testing.T) {
	b := newTestbed(t)
	updates := make(chan Update)
	b.cfg.Updates = updates
	b.start()
	first, _ := b.api.Policy(b.ctx(), &wire.PolicyQuery{})
	eventually(t, "it runs", func() bool {
		p, err := b.api.Policy(b.ctx(), &wire.PolicyQuery{})
		first = p
		return err == nil && p.State == policyhost.Running
	})
	// A plug-in that does not start changes nothing.
	broken := b.cfg.Policy
	broken.Name, broken.Path = "broken", plugintest.Plugin(t, plugintest.FailStart)
	updates <- Update{Core: b.cfg.Core, Policy: broken}
	eventually(t, "the swap is given up", func() bool {
		p, err := b.api.Policy(b.ctx(), &wire.PolicyQuery{})
		return err == nil && strings.Contains(problemOf(p, policyhost.ConditionChange), "broken could not take over") && p.State == policyhost.Running && p.Generation == first.Generation
	})
	// With the file as it was, nothing is wrong any more.
	updates <- Update{Core: b.cfg.Core, Policy: b.cfg.Policy}
	eventually(t, "the problem is gone", func() bool {
		p, err := b.api.Policy(b.ctx(), &wire.PolicyQuery{})
		return err == nil && len(p.Problems) == 0
	})
	other := b.cfg.Policy
	other.Name, other.Path = "other", filepath.Join(t.TempDir(), "other")
	if err := os.Symlink(b.cfg.Policy.Path, other.Path); err != nil {
		t.Fatal(err)
	}
	l := b.launcher("a", 1, true)
	job := b.submit(4)
	held := []uint64{l.next(), l.next()}
	updates <- Update{Core: b.cfg.Core, Policy: other}
	eventually(t, "the other policy runs", func() bool {
		p, err := b.api.Policy(b.ctx(), &wire.PolicyQuery{})
		return err == nil && p.Name == "other" && p.State == policyhost.Running
	})
	for range 2 {
		for _, a := range held {
			if err := l.finish(a); err != nil {
				t.Fatal(err)
			}
		}
		held = nil
	}
	for range 2 {
		if err := l.finish(l.next()); err != nil {
			t.Fatal(err)
		}
	}
	if s := b.follow(job); !succeeded(s) {
		t.Fatal(s)
	}
}

// A launcher that doubts a received blob gets it again if the manager's copy is right. A damaged
// copy is dropped then, and is there again after the next upload.
func TestDoubtedBlobIsChecked(t *testing.T) {
	b := newTestbed(t)
	b.start()
	const program = "a program"
	hash := b.upload(program)
	fetch := func(doubted bool) (string, error) {
		stream, err := rpc.NewLaunchersClient(b.conn).FetchBlob(b.ctx(), &wire.BlobQuery{Hash: hash, Doubted: doubted})
		if err != nil {
			return "", err
		}
		data := ""
		for {
			chunk, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return data, nil
			}
			if err != nil {
				return "", err
			}
			data += string(chunk.Data)
		}
	}
	if data, err := fetch(true); err != nil || data != program {
		t.Fatalf("a sound one that is doubted: %q, %v", data, err)
	}
	damage(t, filepath.Join(b.cfg.Data, "programs", hash))
	if data, err := fetch(false); err != nil || data == program {
		t.Fatalf("it is not damaged: %q, %v", data, err)
	}
	if _, err := fetch(true); status.Code(err) != codes.NotFound || !strings.Contains(err.Error(), "damaged") || !strings.Contains(err.Error(), "submit the job again") {
		t.Fatalf("a damaged one that is doubted: %v", err)
	}
	if has, err := b.api.HasBlob(b.ctx(), &wire.BlobQuery{Hash: hash}); err != nil || has.Present {
		t.Fatalf("it counts as there: %v", err)
	}
	b.upload(program)
	if data, err := fetch(true); err != nil || data != program {
		t.Fatalf("sent again: %q, %v", data, err)
	}
}

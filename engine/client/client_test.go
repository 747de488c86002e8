package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// fake is a manager that knows one job.
type fake struct {
	rpc.UnimplementedManagerServer
	mu       sync.Mutex
	blobs    map[string]string
	uploads  int
	asked    int // whether it has a blob
	refuse   string
	rot      int // how many submissions find a blob gone
	spec     *wire.JobSpec
	killed   string
	watching chan struct{} // one for each Watch that began
	begun    int64         // when the jobs were submitted
	state    chan wire.JobState
	jobs     map[uint64]*wire.JobsReply // by the request's before; nil: it never answers
	folders  bool                       // it accepts announcements of folders
	loses    func() error               // the error of a submission, in place of an answer
	shows    func(job uint64) (*wire.JobStatus, error)
}

func (f *fake) Prepare(context.Context, *wire.PrepareRequest) (*wire.PrepareReply, error) {
	return &wire.PrepareReply{Job: 7, Manager: "here", TakesFolders: f.folders}, nil
}

func (f *fake) HasBlob(_ context.Context, q *wire.BlobQuery) (*wire.BlobAnswer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	_, ok := f.blobs[q.Hash]
	return &wire.BlobAnswer{Present: ok}, nil
}

func (f *fake) PutBlob(stream grpc.ClientStreamingServer[wire.BlobChunk, wire.Empty]) error {
	var hash, data string
	for {
		c, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		hash += c.Hash
		data += string(c.Data)
	}
	if hashBytes([]byte(data)) != hash {
		return status.Error(codes.DataLoss, "wrong hash")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, had := f.blobs[hash]; !had {
		f.uploads++
	}
	f.blobs[hash] = data
	return stream.SendAndClose(&wire.Empty{})
}

func (f *fake) Submit(_ context.Context, r *wire.SubmitRequest) (*wire.SubmitReply, error) {
	if f.loses != nil {
		f.spec = r.Spec
		return nil, f.loses()
	}
	if f.refuse != "" {
		return nil, status.Error(codes.InvalidArgument, f.refuse)
	}
	if f.rot > 0 {
		f.rot--
		delete(f.blobs, r.Spec.Program)
		return nil, status.Error(codes.FailedPrecondition, "the program was not sent")
	}
	f.spec = r.Spec
	return &wire.SubmitReply{}, nil
}

func (f *fake) Kill(_ context.Context, r *wire.JobRef) (*wire.Empty, error) {
	f.killed = r.Reason
	return &wire.Empty{}, nil
}

func (f *fake) Jobs(ctx context.Context, q *wire.JobsRequest) (*wire.JobsReply, error) {
	if f.jobs != nil {
		return f.jobs[q.Before], nil
	}
	<-ctx.Done() // as a stopped process: it takes the call and never answers
	return nil, ctx.Err()
}

func (f *fake) Status(_ context.Context, q *wire.StatusRequest) (*wire.JobStatus, error) {
	if f.shows != nil {
		return f.shows(q.Job)
	}
	return nil, status.Error(codes.NotFound, "there is no job-9")
}

func (f *fake) Watch(r *wire.StatusRequest, stream grpc.ServerStreamingServer[wire.JobStatus]) error {
	f.watching <- struct{}{}
	for {
		select {
		case s := <-f.state:
			if err := stream.Send(&wire.JobStatus{Summary: &wire.JobSummary{Job: r.Job, State: s, Submitted: f.begun}}); err != nil || Ended(s) {
				return err
			}
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

func newFake() *fake {
	return &fake{blobs: map[string]string{}, watching: make(chan struct{}, 10), state: make(chan wire.JobState, 10)}
}

// serve starts a manager at an address and returns where, and how it ends.
func serve(t *testing.T, f rpc.ManagerServer, address string) (string, func()) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	rpc.RegisterManagerServer(s, f)
	go s.Serve(l)
	t.Cleanup(s.Stop)
	return l.Addr().String(), s.Stop
}

func dial(t *testing.T, address string) *Client {
	t.Helper()
	c, err := Dial(address, Options{User: "eve", Connect: time.Minute, Reconnect: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestNoManagerIsSaidWithTheRemedy(t *testing.T) {
	t.Setenv(AddressVariable, "")
	if c, err := Dial("", Options{}); err != nil || c.Address() != LocalAddress {
		t.Errorf("no address: %v", err)
	}
	const nobody = "127.0.0.1:1"
	c, err := Dial(nobody, Options{Connect: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Jobs(t.Context(), true); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), nobody) {
		t.Errorf("nobody there: %v", err)
	}
}

// An address at which no manager can answer is refused at once, without waiting.
func TestAddressesThatAreNone(t *testing.T) {
	for _, address := range []string{"m1", "m1:", "m1:99999", "[::1", "http://m1:7070", "1:2:3"} {
		if _, err := Dial(address, Options{}); err == nil || !strings.Contains(err.Error(), "write HOST:PORT, such as 127.0.0.1:7070") {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"m1:7070", "[::1]:7070", ":7070", "m1:http", "unix:/run/x"} {
		c, err := Dial(address, Options{User: "ann"})
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		c.Close()
	}
}

func TestManagerThatNeverAnswers(t *testing.T) {
	address, _ := serve(t, newFake(), "127.0.0.1:0")
	c, err := Dial(address, Options{Connect: 60 * time.Millisecond, Call: 30 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Jobs(t.Context(), true); !errors.Is(err, ErrUnreachable) {
		t.Errorf("%v", err)
	}
}

func TestRefusalInTheManagersWords(t *testing.T) {
	address, _ := serve(t, newFake(), "127.0.0.1:0")
	_, err := dial(t, address).Status(t.Context(), 9, false)
	if !hasCode(err, codes.NotFound) || err.Error() != "there is no job-9" {
		t.Errorf("%v", err)
	}
}

// Logs answers of attempt 1 that its launcher is away, of attempt 2 in mid-log.
func (f *fake) Logs(q *wire.LogsRequest, stream grpc.ServerStreamingServer[wire.LogChunk]) error {
	if q.Attempt == 2 {
		if err := stream.Send(&wire.LogChunk{Data: []byte("a line\n")}); err != nil {
			return err
		}
	}
	s, err := status.New(codes.Unavailable, "launcher oak is away").WithDetails(&wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_LOST, Message: "launcher oak is away"})
	if err != nil {
		return err
	}
	return s.Err()
}

// An absent launcher is reported at once, in the manager's words: the client does not look for a
// manager.
func TestLogsOfALauncherThatIsAway(t *testing.T) {
	address, _ := serve(t, newFake(), "127.0.0.1:0")
	c, err := Dial(address, Options{Wait: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for attempt := range uint64(2) {
		err := c.Logs(t.Context(), &wire.LogsRequest{Attempt: attempt + 1}, func(*wire.LogChunk) error { return nil })
		if err == nil || errors.Is(err, ErrUnreachable) || err.Error() != "launcher oak is away" {
			t.Errorf("of attempt %d: %v", attempt+1, err)
		}
	}
}

// DiffSettings answers that a text of two lines changes one, and that the policy, where it is asked, does not
// like it. Another text has a mistake, for which it must not be asked.
func (f *fake) DiffSettings(_ context.Context, q *wire.SettingsText) (*wire.SettingsDiff, error) {
	lines, mistake := []*wire.DiffLine{{Kind: "added", New: 2, Text: "two"}}, func(text string) []*wire.SettingsProblem {
		return []*wire.SettingsProblem{{Text: text}}
	}
	switch {
	case string(q.Text) != "one\ntwo\n" && q.Check:
		return nil, status.Error(codes.Internal, "the policy is asked about what is no configuration")
	case string(q.Text) != "one\ntwo\n":
		return &wire.SettingsDiff{Problems: mistake("it is none")}, nil
	case q.Check:
		return &wire.SettingsDiff{Problems: mistake("the policy does not like it")}, nil
	}
	return &wire.SettingsDiff{Lines: lines}, nil
}

// A comparison has the policy's objections, so that a wrong text does not pass for right.
func TestDiffHasThePolicysWord(t *testing.T) {
	address, _ := serve(t, newFake(), "127.0.0.1:0")
	c := dial(t, address)
	d, err := c.DiffSettings(t.Context(), []byte("one\ntwo\n"), 0)
	if err != nil || len(d.Lines) != 1 || len(d.Problems) != 1 || d.Problems[0].Text != "the policy does not like it" {
		t.Errorf("%v, %v", d, err)
	}
	if d, err = c.DiffSettings(t.Context(), []byte("one\n"), 0); err != nil || len(d.Problems) != 1 || d.Problems[0].Text != "it is none" {
		t.Errorf("%v, %v", d, err)
	}
}

// All jobs are listed, however many answers that takes: each once, ended jobs in the order of their
// ends. A job that ended between two answers is one of those.
func TestJobsComeInMoreThanOneAnswer(t *testing.T) {
	f := newFake()
	of := func(job uint64, ended int64) *wire.JobSummary { return &wire.JobSummary{Job: job, Ended: ended} }
	f.jobs = map[uint64]*wire.JobsReply{
		0: {Jobs: []*wire.JobSummary{of(9, 30), of(8, 70), of(2, 0), of(7, 0)}, Before: 8},
		8: {Jobs: []*wire.JobSummary{of(6, 20), of(5, 50)}, Before: 5},
		5: {Jobs: []*wire.JobSummary{of(3, 10), of(2, 90)}},
	}
	address, _ := serve(t, f, "127.0.0.1:0")
	c := dial(t, address)
	jobs, err := c.Jobs(t.Context(), true)
	var got []uint64
	for _, j := range jobs {
		got = append(got, j.Job)
	}
	if want := []uint64{3, 6, 9, 5, 8, 2, 7}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%d %v, want %d", got, err, want)
	}
	if jobs, err := c.NewestJobs(t.Context(), true); err != nil || len(jobs) != 4 {
		t.Errorf("%v %v", jobs, err)
	}
}

func submission(t *testing.T, outputs ...string) Submission {
	program := t.TempDir() + "/program"
	if err := os.WriteFile(program, []byte(strings.Repeat("binary", 500_000)), 0o777); err != nil {
		t.Fatal(err)
	}
	return Submission{Spec: &wire.JobSpec{Name: "x", Outputs: outputs}, Plan: []byte("plan"), Program: program}
}

func TestSubmitSendsWhatIsMissing(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	f := newFake()
	address, _ := serve(t, f, "127.0.0.1:0")
	c := dial(t, address)
	dir := t.TempDir()
	s := submission(t, dir+"/out")
	for _, out := range []string{"/out", "/out2"} {
		s.Spec.Outputs[0] = dir + out
		id, err := c.Submit(t.Context(), s)
		if err != nil || id.Job != 7 {
			t.Fatal(id, err)
		}
		if _, err := os.Stat(dir + out + ".job-7." + plan.Cluster("here") + ".tmp"); err != nil {
			t.Error(err)
		}
	}
	if f.uploads != 2 || f.blobs[f.spec.Plan] != "plan" || len(f.blobs[f.spec.Program]) != 3_000_000 || f.spec.Principal.Name != "eve" {
		t.Errorf("%d uploads, spec %v", f.uploads, f.spec)
	}
	if f.asked != 2 {
		t.Errorf("two submissions asked for %d blobs, want the program alone: the plan is small", f.asked)
	}
	s.Plan = []byte(strings.Repeat("p", blobUnaskedMax+1))
	s.Spec.Outputs = nil
	for range 2 {
		if _, err := c.Submit(t.Context(), s); err != nil || f.uploads != 3 {
			t.Errorf("with a large plan %d uploads, want 3: %v", f.uploads, err)
		}
	}
	// The remembered hash must not outlive a new build of the program.
	os.WriteFile(s.Program, []byte("new"), 0o777)
	s.Spec.Outputs = nil
	if _, err := c.Submit(t.Context(), s); err != nil || f.blobs[f.spec.Program] != "new" {
		t.Errorf("new build: %v", err)
	}
}

// A program that goes bad on the manager's disk between its upload and the submission
// is sent again, within bounds.
func TestSubmitSendsAgainWhatWentBad(t *testing.T) {
	f := newFake()
	address, _ := serve(t, f, "127.0.0.1:0")
	c := dial(t, address)
	dir := t.TempDir()
	f.rot = submitTriesMax - 1
	if id, err := c.Submit(t.Context(), submission(t, dir+"/a")); err != nil || id.Job != 7 || f.uploads != 1+submitTriesMax {
		t.Errorf("job-%d, %d uploads: %v", id.Job, f.uploads, err)
	}
	os.Remove(dir + "/a.job-7." + plan.Cluster("here") + ".tmp")
	f.rot = submitTriesMax
	if _, err := c.Submit(t.Context(), submission(t, dir+"/a")); !hasCode(err, codes.FailedPrecondition) || f.rot != 0 {
		t.Errorf("a disk that keeps nothing: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A job's folders are those beside its outputs and those of its stored channels. Folders of another
// cluster's job with the same number stay.
func TestRemoveFolders(t *testing.T) {
	dir := t.TempDir()
	here, elsewhere := plan.Cluster("here"), plan.Cluster("elsewhere")
	others := []string{
		dir + "/job-8." + here + ".channels", dir + "/out.job-8." + here + ".tmp", dir + "/out",
		dir + "/job-7." + elsewhere + ".channels", dir + "/out.job-7." + elsewhere + ".tmp",
	}
	for _, folder := range append([]string{dir + "/job-7." + here + ".channels/a1", dir + "/out.job-7." + here + ".tmp/part"}, others...) {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	spec := &wire.JobSpec{Outputs: []string{dir + "/out"}, Graph: &wire.Graph{Connections: []*wire.Connection{{}, {Store: dir}, {Store: dir}}}}
	if err := RemoveFolders(t.Context(), spec, plan.Owner{Cluster: here, Job: 7}); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(dir + "/*"); !slices.Equal(left, slices.Sorted(slices.Values(others))) {
		t.Errorf("left: %v", left)
	}
}

// Another user may foresee a job's number and make its folders before. They are not used: the
// submitter makes its own, under unforeseeable names, and reports their owners.
func TestFoldersThatOthersMadeAreNotUsed(t *testing.T) {
	f := newFake()
	f.folders = true
	address, _ := serve(t, f, "127.0.0.1:0")
	c := dial(t, address)
	dir, here := t.TempDir(), plan.Cluster("here")
	theirs := []string{dir + "/job-7." + here + ".channels", dir + "/out.job-7." + here + ".tmp"}
	for _, folder := range theirs {
		if err := errors.Join(os.Mkdir(folder, 0o777), os.Chmod(folder, 0o777), os.Chown(folder, 1, 1)); err != nil {
			t.Fatal(err)
		}
	}
	s := submission(t, dir+"/out")
	s.Spec.Graph = &wire.Graph{Connections: []*wire.Connection{{Store: dir}, {Store: dir}}}
	job, err := c.Submit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	about := f.spec.GetFolders()
	if len(job.Secret) < 12 || about.GetSecret() != job.Secret || !slices.Equal(about.GetOwners(), []string{fmt.Sprint("uid:", os.Geteuid())}) {
		t.Errorf("secret %q, and it tells %v", job.Secret, about)
	}
	for _, folder := range []string{job.Temporary(dir + "/out"), job.Channels(dir)} {
		if err := plan.CheckFolder(t.Context(), folder, about.GetOwners()); err != nil || slices.Contains(theirs, folder) {
			t.Errorf("%s: %v", folder, err)
		}
	}
	if again, err := c.Submit(t.Context(), s); err != nil || again.Secret == job.Secret {
		t.Errorf("two submissions have secrets %q and %q: %v", job.Secret, again.Secret, err)
	}
	if err := RemoveFolders(t.Context(), s.Spec, job); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(dir + "/*" + job.Secret + "*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestRefusedJobLeavesNothing(t *testing.T) {
	f := newFake()
	f.refuse = "the graph has a cycle"
	address, _ := serve(t, f, "127.0.0.1:0")
	c := dial(t, address)
	dir := t.TempDir()
	if _, err := c.Submit(t.Context(), submission(t, dir+"/a", dir+"/b")); err == nil || err.Error() != f.refuse {
		t.Errorf("%v", err)
	}
	if _, err := c.Submit(t.Context(), submission(t, dir+"/a", dir+"/none/b")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "make it first") {
		t.Errorf("no parent: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	uploads := f.uploads
	s := submission(t, dir)
	s.Plan = []byte("other")
	if _, err := c.Submit(t.Context(), s); !errors.Is(err, fs.ErrExist) || f.uploads != uploads {
		t.Errorf("existing output: %v, %d uploads", err, f.uploads-uploads)
	}
}

func TestWatchOutlivesTheManager(t *testing.T) {
	f := newFake()
	address, stop := serve(t, f, "127.0.0.1:0")
	c := dial(t, address)
	seen := make(chan wire.JobState, 10)
	type end struct {
		s   *wire.JobStatus
		err error
	}
	ended := make(chan end)
	go func() {
		s, err := c.Watch(context.Background(), 7, func(s *wire.JobStatus) { seen <- s.Summary.State })
		ended <- end{s, err}
	}()
	<-f.watching
	f.state <- wire.JobState_JOB_STATE_RUNNING
	if s := <-seen; s != wire.JobState_JOB_STATE_RUNNING {
		t.Fatal(s)
	}
	stop()
	serve(t, f, address)
	<-f.watching
	if err := c.Kill(t.Context(), 7, "enough"); err != nil || f.killed != "enough" {
		t.Errorf("kill: %v", err)
	}
	f.state <- wire.JobState_JOB_STATE_KILLED
	if e := <-ended; e.err != nil || StateName(e.s.Summary.State) != "killed" {
		t.Errorf("%v %v", e.s, e.err)
	}
}

// A manager that lost its data gives numbers again. A client that follows a job must not take
// another job's success for that of its own.
func TestWatchTellsAnotherJobOfItsNumber(t *testing.T) {
	f := newFake()
	f.begun = 1
	address, stop := serve(t, f, "127.0.0.1:0")
	c := dial(t, address)
	states := make(chan wire.JobState, 10)
	ended := make(chan error)
	go func() {
		_, err := c.Watch(context.Background(), 7, func(s *wire.JobStatus) { states <- s.Summary.State })
		ended <- err
	}()
	<-f.watching
	f.state <- wire.JobState_JOB_STATE_RUNNING
	<-states
	stop()
	other := newFake()
	other.begun = 2
	serve(t, other, address)
	other.state <- wire.JobState_JOB_STATE_SUCCEEDED
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "job-7 is another job now") {
		t.Errorf("another job's success was taken: %v", err)
	}
	if len(states) != 0 {
		t.Errorf("told %v of another job", <-states)
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	f := newFake()
	address, _ := serve(t, f, "127.0.0.1:0")
	c := dial(t, address)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := c.Watch(ctx, 7, nil)
		ended <- err
	}()
	<-f.watching
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// The submitter writes to HDFS as the user in HADOOP_USER_NAME, so its job's workers must use the
// same user.
func TestUserOfHadoop(t *testing.T) {
	t.Setenv(storage.UserVariable, "alice")
	for given, want := range map[string]string{"": "alice", "eve": "eve"} {
		c, err := Dial("127.0.0.1:1", Options{User: given})
		if err != nil {
			t.Fatal(err)
		}
		if c.principal.Name != want {
			t.Errorf("with user %q: %q asks, want %q", given, c.principal.Name, want)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// After a lost answer a submission that the policy has not admitted yet is not taken for
// accepted: the client waits for its word, and a refusal is one.
func TestALostAnswerOfAJobThatIsNotAdmitted(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("program"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, admitted := range []bool{true, false} {
		f := newFake()
		sent, asked := 0, 0
		f.loses = func() error {
			if sent++; sent == 1 {
				return status.Error(codes.Unavailable, "the connection broke")
			}
			return status.Error(codes.FailedPrecondition, "the policy refuses it")
		}
		f.shows = func(uint64) (*wire.JobStatus, error) {
			state := wire.JobState_JOB_STATE_ASKED
			switch asked++; {
			case asked > 3 && admitted:
				state = wire.JobState_JOB_STATE_RUNNING
			case asked > 3:
				return nil, status.Error(codes.NotFound, "there is no such job")
			}
			return &wire.JobStatus{Summary: &wire.JobSummary{State: state, Submitted: 1}}, nil
		}
		address, _ := serve(t, f, "127.0.0.1:0")
		c, err := Dial(address, Options{User: "me", Reconnect: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		job, err := c.Submit(t.Context(), Submission{Spec: &wire.JobSpec{Name: "j"}, Plan: []byte("plan"), Program: program})
		switch {
		case admitted && (err != nil || job.Job != 7 || sent != 1):
			t.Errorf("an admitted job: %v, %v; submitted %d times", job, err, sent)
		case !admitted && (err == nil || !strings.Contains(err.Error(), "the policy refuses it")):
			t.Errorf("a refused job: %v, %v", job, err)
		case asked < 4:
			t.Errorf("it asked %d times, and the policy had not decided", asked)
		}
	}
}

package manager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/core/changes"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history"
	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/proctest"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// Jobs that the model has forgotten are shown from history, each with all its attempts and its graph, however
// often the manager is killed and its log's files are dropped.
func TestHistoryOutlivesKills(t *testing.T) {
	b := newTestbed(t)
	b.cfg.Core.JobsKept, b.cfg.LogFileBytes, b.cfg.LogKeep = 1, 32<<10, 2
	const kills, jobs, nodes = 3, 4, 40
	var all []uint64
	for life := range uint64(kills + 1) {
		b.start()
		l := b.launcher("oak", life+1, false)
		for range jobs {
			job := b.submit(nodes)
			if s := b.follow(job); !succeeded(s) {
				t.Fatal(s)
			}
			all = append(all, job)
		}
		b.historyOf(all, nodes)
		if life == kills {
			break
		}
		left := b.killed()
		l.cancel()
		b.stop()
		b.cfg.Data, b.cfg.History.Folder = left, ""
	}
	b.stop()
	b.start()
	b.historyOf(all, nodes)
	b.listedInParts(all)
}

// listedInParts compares lists of a few jobs each, one after another, with the list of all.
func (b *testbed) listedInParts(all []uint64) {
	b.t.Helper()
	var listed []uint64
	for q := (&wire.JobsRequest{All: true, Limit: 3}); ; {
		r, err := b.api.Jobs(b.ctx(), q)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, j := range slices.Backward(r.Jobs) {
			listed = append(listed, j.Job)
		}
		if len(r.Jobs) > 3 || len(listed) > len(all) {
			b.t.Fatalf("%d jobs come at once, %d in all", len(r.Jobs), len(listed))
		}
		if q.Before = r.Before; q.Before == 0 {
			break
		}
	}
	slices.Reverse(listed)
	if !slices.Equal(listed, all) { // they ended in the order of their numbers
		b.t.Errorf("listed in parts are %d, want %d", listed, all)
	}
}

// The logs of all attempts of a job are forwarded in order, however many there are, for a live and
// for an ended job. If not all attempts are kept the answer says so.
func TestLogsOfManyAttempts(t *testing.T) {
	b := newTestbed(t)
	const nodes, kept = 1300, 1200 // 200 of them, and the slowest 1000 of the others
	b.cfg.Core.JobsKept, b.cfg.History.AttemptsMax = 1, kept-1000
	b.start()
	l := b.launcher("oak", 1, false)
	go func() {
		_ = http.Serve(l.http, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, r.URL.Path) }))
	}()
	job := b.submit(nodes)
	stream, err := b.api.Logs(b.ctx(), &wire.LogsRequest{Job: job, Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	follow := printedBy(t, stream)
	if s := b.follow(job); !succeeded(s) {
		t.Fatal(s)
	}
	other := b.submit(1) // the model forgets the first
	if s := b.follow(other); !succeeded(s) {
		t.Fatal(s)
	}
	stream, err = b.api.Logs(b.ctx(), &wire.LogsRequest{Job: job})
	if err != nil {
		t.Fatal(err)
	}
	if text := printedBy(t, stream); !strings.HasSuffix(text, "[1200 of 1300 attempts are kept; the logs of the others are not shown (manager.history.attemptsMax)]\n") || strings.Count(text, "/logs/") != kept {
		t.Errorf("of a job that ended there is\n%s", text)
	}
	if strings.Count(follow, "/logs/") != nodes {
		t.Errorf("of a job that lives there is\n%s", follow)
	}
}

// A launcher that is lost in the middle of a log, without even an end of the connection, ends the
// followed log, with its name in the error. A job's logs continue with the next attempt, also if
// that one's launcher has no log of it at first.
func TestLogsGoOnWithoutALauncher(t *testing.T) {
	b := newTestbed(t)
	b.start()
	asked, early := make(chan struct{}), atomic.Bool{}
	prints := func(l *fakeLauncher) {
		_ = http.Serve(l.http, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if l.join.Name == "elm" && early.CompareAndSwap(false, true) { // it was launched, and has not begun
				http.NotFound(w, r)
				close(asked)
				return
			}
			fmt.Fprintf(w, "%s on %s", r.URL.Path, l.join.Name)
			_ = http.NewResponseController(w).Flush()
			if l.join.Name == "oak" {
				<-r.Context().Done() // it stands still
			}
		}))
	}
	oak := b.launcher("oak", 1, true)
	go prints(oak)
	job := b.submit(1)
	first := <-oak.started
	of := func(q *wire.LogsRequest) grpc.ServerStreamingClient[wire.LogChunk] {
		q.Follow = true
		stream, err := b.api.Logs(b.ctx(), q)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := stream.Recv(); err != nil || string(c.Data) != fmt.Sprintf("/logs/%d on oak", first) {
			t.Fatalf("%v, %v", c, err)
		}
		return stream
	}
	one, all := of(&wire.LogsRequest{Attempt: first}), of(&wire.LogsRequest{Job: job})
	elm := b.launcher("elm", 1, true)
	go prints(elm)
	oak.http.Close()
	oak.cancel()
	second := <-elm.started
	if c, err := one.Recv(); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "launcher oak broke off the log of attempt") || len(status.Convert(err).Details()) == 0 {
		t.Errorf("of the attempt alone: %v, %v", c, err)
	}
	<-asked
	if err := elm.finish(second); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("\n[launcher oak broke off the log of attempt-%d: it was lost]\n/logs/%d on elm", first, second)
	if text := printedBy(t, all); text != want {
		t.Errorf("of the job: %q, want %q", text, want)
	}
}

// The log of an attempt is found by the attempt's number alone also when its job has ended, of which the manager
// remembers the newest attempts only, and after a restart.
func TestLogsOfAnyAttemptOfAJobThatEnded(t *testing.T) {
	b := newTestbed(t)
	b.start()
	prints := func(l *fakeLauncher) {
		_ = http.Serve(l.http, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) }))
	}
	oak := b.launcher("oak", 1, false)
	go prints(oak)
	b.follow(b.submit(3))
	job := b.submit(250)
	b.follow(job)
	b.follow(b.submit(3))
	s, err := b.api.Status(b.ctx(), &wire.StatusRequest{Job: job, Attempts: true})
	if err != nil || len(s.Attempts) != 250 {
		t.Fatalf("%d attempts, error %v", len(s.GetAttempts()), err)
	}
	for range 2 {
		for _, i := range []int{0, 10, 249} {
			id := s.Attempts[i].Attempt
			stream, err := b.api.Logs(b.ctx(), &wire.LogsRequest{Attempt: id})
			if err != nil {
				t.Fatal(err)
			}
			if text := printedBy(t, stream); text != fmt.Sprint("/logs/", id) {
				t.Errorf("the log of attempt %d is %q", id, text)
			}
		}
		b.stop()
		b.start()
		oak = b.launcher("oak", 2, false)
		go prints(oak)
	}
	stream, err := b.api.Logs(b.ctx(), &wire.LogsRequest{Attempt: 1 << 60})
	if err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.NotFound {
		t.Errorf("of one that there is not: %v", err)
	}
}

// printedBy is all that comes of logs, which are in order.
func printedBy(t *testing.T, stream grpc.ServerStreamingClient[wire.LogChunk]) string {
	t.Helper()
	var text strings.Builder
	for last := uint64(0); ; {
		c, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return text.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		if c.Attempt < last && c.Attempt != 0 {
			t.Errorf("attempt %d comes behind %d", c.Attempt, last)
		}
		last = c.Attempt
		text.Write(c.Data)
	}
}

// A manager on a new machine, which has only the store of the lost one's history, gives no number
// that an earlier job has: each shows its own attempts. The same holds if the store can't be read
// at the start.
func TestJobsOfALostMachineKeepTheirNumbers(t *testing.T) {
	b := newTestbed(t)
	folder := t.TempDir()
	store := &awayStore{}
	storage.Register("keeper-away", store)
	b.cfg.History.Store = "keeper-away://" + folder
	var all []uint64
	copies := func() int {
		found, err := filepath.Glob(filepath.Join(folder, "jobs", "*.history.*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	const nodes, lives = 3, 3
	for life := range uint64(lives) {
		b.cfg.Data, b.cfg.History.Folder = t.TempDir(), ""
		store.is.Store(life == lives-1)
		before := uint64(time.Now().UnixMilli()) // a lost machine's jobs that lived have numbers below, and are in no history
		b.start()
		l := b.launcher("oak", life+1, false)
		job := b.submit(nodes)
		if s := b.follow(job); !succeeded(s) {
			t.Fatal(s)
		}
		if life == 0 && job != 1 || life > 0 && job <= before {
			t.Errorf("in life %d a job gets the number %d, behind %d", life, job, all)
		}
		if all = append(all, job); life == 0 {
			proctest.Until(t, waitMax, "the job is in the store", func() bool { return copies() == 1 })
		}
		if life == 1 {
			proctest.Until(t, waitMax, "the job of the lost machine is here", func() bool {
				list, err := b.api.Jobs(b.ctx(), &wire.JobsRequest{All: true})
				return err == nil && len(list.Jobs) == len(all)
			})
			b.historyOf(all, nodes)
		}
		l.cancel()
		b.stop()
	}
}

// awayStore is a folder that can't be reached at times.
type awayStore struct {
	storage.Local
	is atomic.Bool
}

func (a *awayStore) path(url string) (string, error) {
	if a.is.Load() {
		return "", storage.ErrUnavailable
	}
	return strings.TrimPrefix(url, "keeper-away://"), nil
}

func (a *awayStore) Open(ctx context.Context, url string, offset, length int64) (io.ReadCloser, error) {
	path, err := a.path(url)
	if err != nil {
		return nil, err
	}
	return a.Local.Open(ctx, path, offset, length)
}

func (a *awayStore) Create(ctx context.Context, url string) (storage.File, error) {
	path, err := a.path(url)
	if err != nil {
		return nil, err
	}
	return a.Local.Create(ctx, path)
}

func (a *awayStore) Mkdir(ctx context.Context, url string) error {
	path, err := a.path(url)
	if err != nil {
		return err
	}
	return a.Local.Mkdir(ctx, path)
}

func (a *awayStore) List(ctx context.Context, url string) ([]storage.Info, error) {
	path, err := a.path(url)
	if err != nil {
		return nil, err
	}
	return a.Local.List(ctx, path)
}

// killed copies the files that the manager would leave behind if it were killed now.
func (b *testbed) killed() string {
	b.t.Helper()
	left := b.t.TempDir()
	key, err := os.ReadFile(filepath.Join(b.cfg.Data, "key"))
	if err == nil {
		err = os.WriteFile(filepath.Join(left, "key"), key, 0o600)
	}
	for _, folder := range []string{"log", "history", "programs"} {
		if err == nil {
			err = os.CopyFS(filepath.Join(left, folder), os.DirFS(filepath.Join(b.cfg.Data, folder)))
		}
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return left
}

// historyOf compares the displayed history of jobs with the real one: each node ran once.
func (b *testbed) historyOf(jobs []uint64, nodes int) {
	b.t.Helper()
	list, err := b.api.Jobs(b.ctx(), &wire.JobsRequest{All: true})
	if err != nil {
		b.t.Fatal(err)
	}
	listed := map[uint64]bool{}
	for _, j := range list.Jobs {
		if listed[j.Job] {
			b.t.Errorf("job %d is listed twice", j.Job)
		}
		listed[j.Job] = true
	}
	var shown restapi.JobList
	if b.rest("GET", "/jobs?limit=1000", nil, "").into(http.StatusOK, &shown); shown.Total != len(jobs) || len(shown.Jobs) != len(jobs) {
		b.t.Errorf("over REST there are %d of %d jobs, want %d", len(shown.Jobs), shown.Total, len(jobs))
	}
	for _, job := range jobs {
		s, err := b.api.Status(b.ctx(), &wire.StatusRequest{Job: job, Attempts: true})
		if err != nil {
			b.t.Fatal(err)
		}
		ran := map[uint32]bool{}
		for _, a := range s.Attempts {
			if a.State != "finished" || a.Stage != "work" || a.Launcher != "oak" || a.Ended == 0 {
				b.t.Errorf("job %d: %v", job, a)
			}
			ran[a.Index] = true
		}
		var over restapi.AttemptList
		b.rest("GET", fmt.Sprintf("/jobs/job-%d/attempts?limit=1000", job), nil, "").into(http.StatusOK, &over)
		var g restapi.Graph
		b.rest("GET", fmt.Sprintf("/jobs/job-%d/graph", job), nil, "").into(http.StatusOK, &g)
		if over.Total != nodes || len(over.Attempts) != nodes || len(g.Stages) != 1 {
			b.t.Errorf("job %d has over REST %d of %d attempts of %d nodes, %d stages", job, len(over.Attempts), over.Total, nodes, len(g.Stages))
		}
		if !listed[job] || !succeeded(s) || len(ran) != nodes || len(s.Attempts) != nodes {
			b.t.Errorf("job %d, listed: %t, has %d attempts of %d nodes: %v %q", job, listed[job], len(s.Attempts), len(ran), s.Summary, s.Notes)
		}
	}
}

// The event log gets room from history while it stands still, where both are on one disk, and not otherwise.
func TestRoomForTheLog(t *testing.T) {
	for _, x := range []struct {
		what, log string
		looks     int // at which the log is found to stand still
		want      int
	}{{"the log goes on", ".", 0, 9}, {"it stands still", ".", 1, 1}, {"it has a disk of its own", "/proc", 1, 9}, {"there is no log", "none", 1, 9}} {
		data := t.TempDir()
		h, err := history.Open(history.Options{Folder: filepath.Join(data, "history"), Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		h.BeginAt(0, &core.Changes{})
		for id := range uint64(9) {
			h.TakeChanges(id+1, &core.Changes{ChangeSet: changes.ChangeSet{Ended: []*wire.JobStatus{{Summary: &wire.JobSummary{Job: id + 1, Submitted: 1, Ended: time.Now().UnixNano(), State: wire.JobState_JOB_STATE_SUCCEEDED}}}}})
		}
		if err := h.Sync(t.Context(), 9); err != nil {
			t.Fatal(err)
		}
		log := x.log
		if !filepath.IsAbs(log) {
			log = filepath.Join(data, log)
		}
		keeper := &historyFeeder{h, history.Options{Folder: filepath.Join(data, "history"), Log: slog.New(slog.DiscardHandler)}}
		keeper.makeRoom(t.Context(), log, func() error {
			if x.looks--; x.looks >= 0 {
				return errors.New("the disk is full")
			}
			return nil
		})
		if n := h.State().Jobs; n != x.want {
			t.Errorf("%s: %d jobs are left, want %d", x.what, n, x.want)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

package launchers

import (
	"context"
	"io"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/internal/metrics"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// start is the command to start an attempt.
func start(attempt, job uint64) *wire.Command {
	return &wire.Command{Do: &wire.Command_Start{Start: &wire.StartAttempt{Attempt: attempt, Job: job, User: "ann", Program: "program", Plan: "plan"}}}
}

// tickets has one for each job.
type tickets struct{}

func (tickets) Of(scheduler.JobID, string) ([]byte, uint64) { return []byte("ticket"), 1 }
func (tickets) OfJob(scheduler.JobID) ([]byte, uint64)      { return []byte("ticket"), 1 }

// twoLaunchers are a table with launcher one, which got the command to start attempt 5 of job 3,
// and launcher two, which has no work and claims to have some of job 3.
func twoLaunchers(t *testing.T) (l *Table, one, two station) {
	t.Helper()
	l = NewTable(time.Second, time.Minute)
	l.Carry(tickets{})
	one, two = newStation("one", 1), newStation("two", 1)
	two.join.Jobs, two.join.Attempts = []uint64{3}, []*wire.AttemptInventory{{Attempt: 5}}
	for i, s := range []station{one, two} {
		if err := l.grant(s.session); err != nil {
			t.Fatal(err)
		}
		l.welcomed(core.Welcome{Name: s.join.Name, Incarnation: 1, Launcher: scheduler.LauncherID(i + 1)}, &wire.Welcome{})
	}
	l.Send(1, start(5, 3))
	return l, one, two
}

// A launcher's message about an attempt, job or program counts only when the manager assigned it.
func TestALauncherSpeaksForItselfAlone(t *testing.T) {
	counted := func(m *metrics.Metrics) float64 {
		families, err := m.Registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, f := range families {
			if f.GetName() == "hamadryad_channel_bytes_total" {
				for _, x := range f.Metric {
					sum += x.GetCounter().GetValue()
				}
			}
		}
		return sum
	}
	ended := &wire.Report{Incarnation: 1, What: &wire.Report_Ended{Ended: &wire.AttemptEnded{Attempt: 5, Work: &wire.Work{ChannelBytes: []int64{7}}}}}
	for _, c := range []struct {
		what   string
		report *wire.Report
		shows  func(s *Server, of *session, offended int) bool
	}{
		{
			"progress", &wire.Report{Incarnation: 1, What: &wire.Report_Progress{Progress: &wire.AttemptProgress{Attempt: 5, Progress: 0.5}}},
			func(_ *Server, of *session, _ int) bool { done, _ := of.progressOf(5); return done == 0.5 },
		},
		{"work", ended, func(s *Server, _ *session, _ int) bool { return counted(s.Stats) != 0 }},
		{
			"an offence of a worker", &wire.Report{Incarnation: 1, What: &wire.Report_Offence{Offence: &wire.WorkerOffence{Job: 3, Attempt: 5}}},
			func(_ *Server, _ *session, offended int) bool { return offended > 0 },
		},
		{
			"an offence between two attempts", &wire.Report{Incarnation: 1, What: &wire.Report_Offence{Offence: &wire.WorkerOffence{Job: 3}}},
			func(_ *Server, _ *session, offended int) bool { return offended > 0 },
		},
	} {
		for _, foreign := range []bool{false, true} {
			l, one, two := twoLaunchers(t)
			offended := 0
			s := &Server{Table: l, Wants: func(scheduler.Ability) bool { return true }, Stats: metrics.New(), Offended: func(context.Context, string, *wire.WorkerOffence) { offended++ }}
			of := one.session
			if foreign {
				of = two.session
			}
			s.inputs(t.Context(), &wire.FromLauncher{Reports: []*wire.Report{c.report}}, of)
			if c.shows(s, of, offended) == foreign {
				t.Errorf("%s, of another's attempt: %t: that is wrong", c.what, foreign)
			}
		}
	}
	t.Run("work counts once", func(t *testing.T) {
		l, one, _ := twoLaunchers(t)
		s := &Server{Table: l, Wants: func(scheduler.Ability) bool { return true }, Stats: metrics.New()}
		for range 3 {
			s.inputs(t.Context(), &wire.FromLauncher{Reports: []*wire.Report{ended}}, one.session)
		}
		if n := counted(s.Stats); n != 7 {
			t.Errorf("%v bytes are counted of an end that was told three times", n)
		}
	})
}

// A job's ticket goes to the launchers that run it, and not to one that claims to have work of the
// job; after a restart of the manager the core knows the assignments.
func TestTicketsGoWhereWorkIs(t *testing.T) {
	l, one, two := twoLaunchers(t)
	carried := func(s station) (jobs []uint64) {
		for m := s.next(); m != nil; m = s.next() {
			for _, c := range m.Commands {
				if x := c.GetTickets(); x != nil {
					jobs = append(jobs, x.Job)
				}
			}
		}
		return jobs
	}
	if got := carried(two); len(got) > 0 {
		t.Errorf("launcher two has tickets of jobs %v", got)
	}
	if got := carried(one); !slices.Equal(got, []uint64{3}) {
		t.Errorf("launcher one has tickets of jobs %v", got)
	}
	again := newStation("three", 1)
	if err := l.grant(again.session); err != nil {
		t.Fatal(err)
	}
	l.welcomed(core.Welcome{Name: "three", Incarnation: 1, Launcher: 9, Assigned: []core.Assigned{{Attempt: 8, Job: 4}}}, &wire.Welcome{})
	if got := carried(again); !slices.Equal(got, []uint64{4}) {
		t.Errorf("launcher three has tickets of jobs %v", got)
	}
}

// A launcher that proved its name fetches programs and plans of its own jobs alone, until they are dropped.
func TestALauncherFetchesWhatItRuns(t *testing.T) {
	l, _, _ := twoLaunchers(t)
	restarted := &launcherRecord{name: "expected", id: 7}
	l.byName["expected"] = restarted
	for _, c := range []struct {
		launcher, hash string
		may            bool
	}{
		{"one", "program", true},
		{"one", "plan", true},
		{"one", "another", false},
		{"one", "", false},
		{"two", "program", false},
		{"nobody", "program", false},
		{"expected", "program", true}, // its command came from the manager before this one
	} {
		if err := l.mayFetch(c.launcher, c.hash); (err == nil) != c.may {
			t.Errorf("launcher %s, %q: %v", c.launcher, c.hash, err)
		}
	}
	l.Send(1, &wire.Command{Do: &wire.Command_DropJob{DropJob: 3}})
	if l.mayFetch("one", "program") == nil {
		t.Error("a launcher fetches the program of a job that it dropped")
	}
}

// Ends of logs are kept of attempts that ran on the launcher which sends them, also when they are over.
func TestEndsOfLogsAreOfOnesOwnAttempts(t *testing.T) {
	l, _, _ := twoLaunchers(t)
	l.Send(1, start(6, 3))
	l.Send(1, &wire.Command{Do: &wire.Command_Forget{Forget: 6}})
	kept, looked := map[uint64]bool{}, map[uint64]bool{}
	s := &Server{
		Table: l, Terms: &wire.Welcome{}, Sampled: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Keep: func(_ context.Context, _ scheduler.JobID, list []*wire.LogTail) error {
			for _, x := range list {
				kept[x.Attempt] = true
			}
			return nil
		},
		RanOn: func(_ context.Context, _ scheduler.JobID, list []*wire.LogTail) ([]*wire.LogTail, error) {
			for _, x := range list {
				looked[x.Attempt] = true
			}
			return slices.DeleteFunc(list, func(x *wire.LogTail) bool { return x.Attempt != 90 }), nil
		},
	}
	send := func(launcher string, job uint64, attempts ...uint64) {
		m := &wire.LogTails{}
		for _, a := range attempts {
			m.Tails = append(m.Tails, &wire.LogTail{Job: job, Attempt: a, Launcher: launcher})
		}
		if _, err := s.KeepTails(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	send("two", 3, 5, 6)
	send("one", 4, 5)
	if len(kept) > 0 || !looked[5] || !looked[6] {
		t.Errorf("of others' attempts %v are kept, and %v looked for", kept, looked)
	}
	clear(looked)
	send("one", 3, 5, 6, 90)
	if !kept[5] || !kept[6] || !kept[90] || looked[5] || looked[6] {
		t.Errorf("of its own attempts %v are kept, and %v looked for", kept, looked)
	}
}

// A join with ids that no manager can have given is refused: the core would have no ids left.
func TestJoinsThatCannotBe(t *testing.T) {
	good := func() *wire.Join {
		return &wire.Join{Name: "a", Incarnation: 1, Memory: 1 << 40, Term: 1 << 30, Seen: 1 << 40, Jobs: []uint64{1, 1 << 35}}
	}
	if err := checkJoin(good()); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*wire.Join){
		"a manager of term": func(j *wire.Join) { j.Term = math.MaxUint64 },
		"attempt":           func(j *wire.Join) { j.Seen = math.MaxUint64 - 1 },
		"of job":            func(j *wire.Join) { j.Jobs = []uint64{1, 1 << 62} },
		"launcher.memory":   func(j *wire.Join) { j.Memory = math.MaxInt64 },
		"memory and of":     func(j *wire.Join) { j.Swap = math.MaxInt64 },
	} {
		j := good()
		change(j)
		if err := checkJoin(j); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// proven is a stream of a launcher that proved its name.
type proven struct {
	grpc.ServerStreamingServer[wire.BlobChunk]
	ctx context.Context
}

func (p proven) Context() context.Context { return p.ctx }

// FetchBlob asks the table by the name that was proved.
func TestFetchBlobAsksWhoItIs(t *testing.T) {
	l, _, _ := twoLaunchers(t)
	s := &Server{Table: l}
	ctx := auth.With(t.Context(), auth.Principal{Kind: auth.Launcher, Name: "two", Proof: auth.Certificate})
	err := s.FetchBlob(&wire.BlobQuery{Hash: "program"}, proven{ctx: ctx})
	if err == nil || !strings.Contains(err.Error(), `no job that runs on launcher "two"`) {
		t.Error(err)
	}
}

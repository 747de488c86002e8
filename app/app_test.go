package app

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// fake is a manager whose one job ends as end says, or when it is killed.
type fake struct {
	rpc.UnimplementedManagerServer
	end     *wire.JobStatus // nil: runs until it is killed
	spec    *wire.JobSpec
	running chan struct{}
	killed  chan string
}

func (f *fake) Prepare(context.Context, *wire.PrepareRequest) (*wire.PrepareReply, error) {
	return &wire.PrepareReply{Job: 7}, nil
}

func (f *fake) HasBlob(context.Context, *wire.BlobQuery) (*wire.BlobAnswer, error) {
	return &wire.BlobAnswer{Present: true}, nil
}

func (f *fake) PutBlob(stream grpc.ClientStreamingServer[wire.BlobChunk, wire.Empty]) error {
	return stream.SendAndClose(&wire.Empty{})
}

func (f *fake) Submit(_ context.Context, r *wire.SubmitRequest) (*wire.SubmitReply, error) {
	f.spec = r.Spec
	return &wire.SubmitReply{}, nil
}

func (f *fake) Kill(_ context.Context, r *wire.JobRef) (*wire.Empty, error) {
	f.killed <- r.Reason
	return &wire.Empty{}, nil
}

func (f *fake) Watch(_ *wire.StatusRequest, stream grpc.ServerStreamingServer[wire.JobStatus]) error {
	end := f.end
	if end == nil {
		if err := stream.Send(statusOf(wire.JobState_JOB_STATE_RUNNING)); err != nil {
			return err
		}
		close(f.running)
		reason := <-f.killed
		end = statusOf(wire.JobState_JOB_STATE_KILLED)
		end.Failure = &wire.Failure{Message: "killed: " + reason}
	}
	end.Summary.Name = f.spec.Name
	return stream.Send(end)
}

func statusOf(state wire.JobState) *wire.JobStatus {
	return &wire.JobStatus{
		Summary:  &wire.JobSummary{Job: 7, State: state, Groups: 4, GroupsFinished: 1, GroupsRunning: 2},
		Stages:   []*wire.StageStatus{{Name: "map", Nodes: 4, Finished: 1, Running: 2}},
		Counters: []*wire.Counter{{Name: "HITS", Value: 42}},
	}
}

func definitions(names ...string) []job.Definition {
	var all []job.Definition
	for _, name := range names {
		all = append(all, job.Definition{Name: name, Help: "does " + name, Build: func(g *job.Graph, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("give an argument")
			}
			g.Property("from", "program")
			g.Stage("map", 4, func(context.Context, *job.Node) error { return nil })
			return nil
		}})
	}
	return all
}

// run runs a program's command line against a manager and returns code and text.
func run(t *testing.T, ctx context.Context, f *fake, p program, args ...string) (int, string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	f.running, f.killed = make(chan struct{}), make(chan string, 1)
	rpc.RegisterManagerServer(s, f)
	go s.Serve(l)
	defer s.Stop()
	t.Setenv(client.AddressVariable, l.Addr().String())
	var out bytes.Buffer
	if p.errors = &out; p.flags == nil {
		p.flags = flag.NewFlagSet("", flag.ContinueOnError)
	}
	code := p.run(ctx, append([]string{"/bin/prog"}, args...))
	return code, out.String()
}

func TestExitCodesAndMessages(t *testing.T) {
	succeeded := &fake{end: statusOf(wire.JobState_JOB_STATE_SUCCEEDED)}
	failed := &fake{end: statusOf(wire.JobState_JOB_STATE_FAILED)}
	failed.end.Failure = &wire.Failure{Message: "boom", Stage: "map", Index: 3, Record: "/in:12", Stack: "main.f\n"}
	for _, c := range []struct {
		f    *fake
		defs []string
		args string
		code int
		want []string
	}{
		{succeeded, []string{"one"}, "x", ExitDone, []string{"job-7 one succeeded in", "HITS 42"}},
		{succeeded, []string{"one", "two"}, "two x", ExitDone, []string{"job-7 two succeeded in"}},
		{succeeded, []string{"one"}, "--quiet x", ExitDone, nil},
		{failed, []string{"one"}, "x", ExitFailed, []string{"job-7 (one) failed: stage map, node 3: boom", "at record: /in:12", "main.f", "hamadryad logs job-7"}},
		{succeeded, []string{"one"}, "", ExitUsage, []string{"job one: give an argument"}},
		{succeeded, []string{"one", "two"}, "three", ExitUsage, []string{`no job "three"`}},
		{succeeded, []string{"one", "one"}, "one", ExitUsage, []string{`two jobs of this program are called "one"`}},
		{succeeded, []string{"one"}, "--property a x", ExitUsage, []string{"NAME=VALUE"}},
		{succeeded, []string{"one"}, "--help", ExitDone, []string{"hamadryad local -- /bin/prog", "one            does one", "-pool", client.ExitHelp()}},
	} {
		code, text := run(t, t.Context(), c.f, program{defs: definitions(c.defs...)}, strings.Fields(c.args)...)
		if code != c.code {
			t.Errorf("%q: exit code %d, want %d\n%s", c.args, code, c.code, text)
		}
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%q: no %q in\n%s", c.args, want, text)
			}
		}
		if strings.Contains(c.args, "quiet") && text != "" {
			t.Errorf("quiet said %q", text)
		}
	}
}

func TestFlagsReachTheJob(t *testing.T) {
	f := &fake{end: statusOf(wire.JobState_JOB_STATE_SUCCEEDED)}
	run(t, t.Context(), f, program{defs: definitions("one")}, "--name", "nightly", "--pool", "research", "--priority", "-3", "--property", "z=1", "--property", "budget=a=b", "--attempts", "9", "--no-speculation", "x")
	s := f.spec
	if s.Name != "nightly" || s.Pool != "research" || s.Priority != -3 || s.AttemptsMax != 9 || !s.NoSpeculation {
		t.Errorf("%v", s)
	}
	if got := fmt.Sprint(s.Properties); len(s.Properties) != 3 || s.Properties[0].Name != "budget" || s.Properties[0].Value != "a=b" || s.Properties[2].Name != "z" {
		t.Error(got)
	}
}

func TestLimitsReachTheJob(t *testing.T) {
	f := &fake{end: statusOf(wire.JobState_JOB_STATE_SUCCEEDED)}
	run(t, t.Context(), f, program{defs: definitions("one")}, "--time-limit", "2h", "--deadline", "2196-11-30T08:00+01:00", "--fail-at-deadline", "x")
	want := &wire.JobLimits{TimeLimitNs: int64(2 * time.Hour), Deadline: time.Date(2196, 11, 30, 7, 0, 0, 0, time.UTC).UnixNano(), FailAtDeadline: true}
	if !proto.Equal(f.spec.GetLimits(), want) {
		t.Errorf("%v, want %v", f.spec.GetLimits(), want)
	}
	before := time.Now()
	run(t, t.Context(), f, program{defs: definitions("one")}, "--deadline", "6h", "x")
	if at := time.Unix(0, f.spec.GetLimits().GetDeadline()); at.Before(before.Add(6*time.Hour)) || at.After(time.Now().Add(6*time.Hour)) {
		t.Errorf("a deadline in 6h is %v", at)
	}
	for args, want := range map[string]string{
		"--time-limit 0s x":              "write a duration above 0",
		"--time-limit soon x":            "write a duration above 0",
		"--deadline 2006-01-02T15:04Z x": "has passed: set a later time",
		"--deadline -1h x":               "has passed: set a later time",
		"--deadline 2196-11-30T08:00 x":  "write a time with its zone",
		"--fail-at-deadline x":           "--fail-at-deadline needs --deadline",
	} {
		if code, text := run(t, t.Context(), f, program{defs: definitions("one")}, strings.Fields(args)...); code != ExitUsage || !strings.Contains(text, want) {
			t.Errorf("%s: exit code %d, want %d, with %q in\n%s", args, code, ExitUsage, want, text)
		}
	}
}

// A person's number of attempts wins over the program's, and that of a stage over that of the job.
func TestAttemptsReachTheStages(t *testing.T) {
	graph := func() *wire.Graph {
		return &wire.Graph{Stages: []*wire.Stage{{Name: "map", AttemptsMax: 3}, {Name: "reduce", AttemptsMax: 1}}}
	}
	for args, want := range map[string][2]uint32{"": {3, 1}, "map=7": {7, 1}, "5": {0, 0}, "0": {3, 1}, "5 map=7": {7, 0}} {
		var f attemptsFlag
		for _, arg := range strings.Fields(args) {
			if err := f.Set(arg); err != nil {
				t.Fatal(err)
			}
		}
		g := graph()
		if err := plan.GiveAttempts(g, plan.Attempts(f)); err != nil || g.Stages[0].AttemptsMax != want[0] || g.Stages[1].AttemptsMax != want[1] {
			t.Errorf("%q: %v, %v; want %v", args, g.Stages, err, want)
		}
	}
	if err := plan.GiveAttempts(graph(), plan.Attempts{"mop": 2}); err == nil || !strings.Contains(err.Error(), "its stages are map, reduce") {
		t.Error(err)
	}
	for _, arg := range []string{"map=0", "map=", "-1", "many"} {
		if err := new(attemptsFlag).Set(arg); err == nil {
			t.Errorf("%q is taken", arg)
		}
	}
}

func TestDependenciesReachTheJob(t *testing.T) {
	f := &fake{end: statusOf(wire.JobState_JOB_STATE_SUCCEEDED)}
	run(t, t.Context(), f, program{defs: definitions("one")}, "--after", "job-3", "--after", "job-4:any", "--after", "job-5:ok", "x")
	want := []*wire.JobDependency{{Job: 3}, {Job: 4, Any: true}, {Job: 5}}
	if !slices.EqualFunc(f.spec.GetAfter(), want, func(a, b *wire.JobDependency) bool { return proto.Equal(a, b) }) {
		t.Errorf("%v, want %v", f.spec.GetAfter(), want)
	}
	for args, want := range map[string]string{
		"--after 3 x":                       "write job-3 for the job",
		"--after job-3:done x":              "write it as JOB, JOB:ok or JOB:any",
		"--after job-3: x":                  "write it as JOB, JOB:ok or JOB:any",
		"--after job-3 --after job-3:any x": "job-3 is named twice",
		"--after job-3,job-4 x":             "is no job",
	} {
		if code, text := run(t, t.Context(), f, program{defs: definitions("one")}, strings.Fields(args)...); code != ExitUsage || !strings.Contains(text, want) {
			t.Errorf("%s: exit code %d, want %d, with %q in\n%s", args, code, ExitUsage, want, text)
		}
	}
}

func TestFirstInterruptKillsTheJob(t *testing.T) {
	f := &fake{}
	ctx, cancel := context.WithCancelCause(t.Context())
	var once sync.Once
	p := program{defs: definitions("one"), drive: func(ctx context.Context, c *Client) error {
		once.Do(func() {
			go func() {
				<-f.running
				cancel(errInterrupted)
			}()
		})
		_, err := c.Run(ctx, "one", c.Args())
		return err
	}}
	code, text := run(t, ctx, f, p, "x")
	if code != ExitInterrupted || !strings.Contains(text, "killed: interrupted") {
		t.Errorf("exit code %d\n%s", code, text)
	}
}

func TestDriveGetsTheResult(t *testing.T) {
	f := &fake{end: statusOf(wire.JobState_JOB_STATE_SUCCEEDED)}
	p := program{defs: definitions("one"), drive: func(ctx context.Context, c *Client) error {
		for range 3 {
			r, err := c.Run(ctx, "one", c.Args())
			if err != nil {
				return err
			}
			if r.Counter("HITS") != 42 || r.Counter("none") != 0 || r.State != "succeeded" {
				return fmt.Errorf("result %+v", r)
			}
		}
		return nil
	}}
	if code, text := run(t, t.Context(), f, p, "x"); code != ExitDone {
		t.Errorf("%d %s", code, text)
	}
}

// Hadoop's settings mean the same in any program's job, separate from -D or joined to it, also by
// their older names. Unusable values are refused, and so are unknown settings.
func TestHadoopSettings(t *testing.T) {
	f := &fake{end: statusOf(wire.JobState_JOB_STATE_SUCCEEDED)}
	code, text := run(t, context.Background(), f, program{defs: definitions("one")}, "--name", "-Dnot=split", "-D", "mapreduce.job.queue.name=ann",
		"-Dmapred.job.timestamp=1238605061523", "-Dmapred.job.signature=ph5uL%2FMDIeGOKHa%2FotIbKwUpWoU%3D", "-Dmapred.job.priority=HIGH",
		"-Dmapreduce.map.maxattempts=3", "-Dmapreduce.reduce.maxattempts=2", "-Dmapreduce.map.speculative=false", "x", "-Dmy.own=1")
	want := map[string]string{"from": "program", "mapred.job.timestamp": "1238605061523", "mapred.job.signature": "ph5uL%2FMDIeGOKHa%2FotIbKwUpWoU%3D"}
	got := map[string]string{}
	for _, p := range f.spec.GetProperties() {
		got[p.Name] = p.Value
	}
	if code != ExitDone || !maps.Equal(got, want) {
		t.Errorf("%d %s: properties %v, want %v", code, text, got, want)
	}
	if s := f.spec; s.Pool != "ann" || s.Name != "-Dnot=split" || s.Priority != 1 || s.AttemptsMax != 3 || !s.NoSpeculation {
		t.Errorf("%v", s)
	}
	for arg, want := range map[string]string{
		"-Dmapreduce.job.reduces=2":        "no setting mapreduce.job.reduces is known here",
		"-Dmapred.job.priority=SOON":       "use VERY_LOW, LOW, NORMAL, HIGH or VERY_HIGH, or a number",
		"-Dmapreduce.map.maxattempts=0":    "a whole number from 1",
		"-Dmapreduce.map.speculative=no":   "use true or false",
		"-Dmapreduce.job.queuename=":       "it can't be empty",
		"-Dmapreduce.map.memory.mb=plenty": "write a number of MiB",
	} {
		if code, text := run(t, context.Background(), f, program{defs: definitions("one")}, arg, "x"); code != ExitUsage || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %s", arg, code, text, want)
		}
	}
}

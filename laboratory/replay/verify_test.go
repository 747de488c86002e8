package replay

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/faultsim"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/laboratory/cluster"
	"github.com/hamadryad/hamadryad/laboratory/simulation"
	"github.com/hamadryad/hamadryad/laboratory/workload"
	"github.com/hamadryad/hamadryad/laboratory/workload/synthetic"
	"github.com/hamadryad/hamadryad/plugins/drf"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority"
	"github.com/hamadryad/hamadryad/plugins/fair"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/plugins/hfsp"
	"github.com/hamadryad/hamadryad/plugins/preemptivefair"
	"github.com/hamadryad/hamadryad/policytest/policies"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire"
)

// writer writes a log as a manager does.
type writer struct {
	t      *testing.T
	folder string
	log    *eventlog.Log
	change func(number int, b *wire.Batch) // may be nil
	n      int
}

func newWriter(t *testing.T) *writer { return &writer{t: t, folder: t.TempDir()} }

func (w *writer) begin(checkpoint []byte, version int) {
	w.t.Helper()
	var err error
	w.log, err = eventlog.Open(eventlog.Options{Folder: w.folder, NoSync: true, Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = w.log.Begin(eventlog.Header{Core: version}, func(to io.Writer) error { _, err := to.Write(checkpoint); return err })
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *writer) batch(c *core.Core, b *wire.Batch) error {
	if w.log == nil {
		w.begin(c.Checkpoint(), core.Version)
	}
	b = proto.CloneOf(b)
	if w.n++; w.change != nil {
		w.change(w.n, b)
	}
	data, err := proto.Marshal(b)
	if err == nil {
		_, err = w.log.Append(data)
	}
	return err
}

func (w *writer) end() {
	w.t.Helper()
	if w.log == nil {
		return
	}
	if err := w.log.Close(); err != nil {
		w.t.Fatal(err)
	}
	w.log = nil
}

// seeds is how many histories a test plays.
const seeds = 3

// kinds are the policies by name.
var kinds = map[string]func() scheduler.TaskScheduler{
	"fifo": fifo.New, "fair": fair.New, "preemptive-fair": preemptivefair.New, "hfsp": hfsp.New, "dynamic-priority": dynamicpriority.New, "drf": drf.New,
}

// played writes the log of a small cluster under a policy.
func played(t *testing.T, name string, seed uint64, config scheduler.Config, change func(int, *wire.Batch)) *Recording {
	t.Helper()
	if name == "fair" && len(config.Text) == 0 {
		config.Text = []byte("placement: {undeclared: create}\n") // the jobs' pools
	}
	spec := synthetic.Default()
	spec.Jobs, spec.Seed = 12, seed
	spec.Users.Count, spec.Pools.Count = 4, 3
	for i := range spec.Classes {
		spec.Classes[i].Priority = int32(i)
	}
	jobs, err := spec.Generate()
	if err != nil {
		t.Fatal(err)
	}
	on := cluster.Default(6, map[string]int{"map": 2, "reduce": 1})
	on.Seed = seed
	on.Groups[0].FailEvery, on.Groups[0].BackAfter = time.Hour, time.Minute
	w := newWriter(t)
	w.change = change
	_, err = simulation.Play(t.Context(), simulation.Options{
		Workload: small(jobs), Cluster: on, Host: policy.InProcess(kinds[name]()), Config: config, Name: name, Record: w.batch,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.end()
	r, err := Open(w.folder)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// small leaves few tasks of each stage.
func small(w *workload.Workload) *workload.Workload {
	for i := range w.Jobs {
		w.Jobs[i].Submit /= 4
		for k := range w.Jobs[i].Stages {
			s := &w.Jobs[i].Stages[k]
			s.Tasks = s.Tasks[:min(len(s.Tasks), 12)]
		}
	}
	w.Imputed = 0
	return w
}

// asRecorded asks a policy of the name that the log has, with the settings that it has.
func asRecorded(_ context.Context, of Started) (policy.Host, scheduler.Config, error) {
	return policy.InProcess(kinds[of.Policy]()), of.Settings, nil
}

func verify(t *testing.T, r *Recording, host func(context.Context, Started) (policy.Host, scheduler.Config, error)) *Verification {
	t.Helper()
	v, err := Verify(t.Context(), r, VerifyOptions{Host: host})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func text(t *testing.T, v *Verification) string {
	t.Helper()
	var b bytes.Buffer
	if err := v.Text(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A policy decides in each round of its own log as it did then.
func TestTheSamePolicyDecidesTheSame(t *testing.T) {
	for name := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= seeds; seed++ {
				v := verify(t, played(t, name, seed, scheduler.Config{}, nil), asRecorded)
				sum := v.Sum()
				if !v.Same() || sum.Rounds < 50 || sum.Unanswered > 1 || sum.NotAsked+v.Unknown > 0 || len(v.Lives) != 1 || !v.Lives[0].SettingsKnown {
					t.Errorf("seed %d:\n%s", seed, text(t, v))
				}
			}
		})
	}
}

// An answer that was altered is found, with its round, and so are another policy and other
// settings.
func TestWhatIsNotTheSameIsFound(t *testing.T) {
	settings := scheduler.Config{Text: []byte("locality: {mode: none}\nplacement: {undeclared: create}\n"), File: "site.yaml", Line: 3}
	altered := uint64(0)
	r := played(t, "fair", 1, settings, func(_ int, b *wire.Batch) {
		for _, in := range b.Inputs {
			a := in.GetPolicyAnswer()
			if a.GetRound() < 40 || altered != 0 {
				continue
			}
			d, err := schedwire.DecodeDecisions(a.Decisions)
			if err != nil {
				t.Fatal(err)
			}
			d.Waiting = append(d.Waiting, scheduler.Waiting{Job: 1, Reason: scheduler.WaitTurn, Detail: "altered"})
			if a.Decisions, err = schedwire.EncodeDecisions(&d); err != nil {
				t.Fatal(err)
			}
			altered = a.Round
		}
	})
	v := verify(t, r, asRecorded)
	if got := text(t, v); v.Same() || v.Sum().Different != 1 || v.Differences[0].Round != altered ||
		!strings.Contains(got, fmt.Sprintf("round %d of ", altered)) || !strings.Contains(got, "reasons to wait") || !strings.Contains(got, "recorded job-1 waits its turn altered, answered nothing") {
		t.Errorf("round %d was altered:\n%s", altered, got)
	}
	for what, host := range map[string]func(context.Context, Started) (policy.Host, scheduler.Config, error){
		"another policy": func(context.Context, Started) (policy.Host, scheduler.Config, error) {
			return policy.InProcess(hfsp.New()), scheduler.Config{}, nil
		},
		"other settings": func(_ context.Context, of Started) (policy.Host, scheduler.Config, error) {
			if string(of.Settings.Text) != string(settings.Text) || of.Settings.Line != settings.Line {
				t.Errorf("the log says that the settings were %+v", of.Settings)
			}
			return policy.InProcess(fair.New()), scheduler.Config{Text: []byte("allocations: {pools: {pool-1: {weight: 7}}}\n")}, nil
		},
		"settings that it rejects": func(context.Context, Started) (policy.Host, scheduler.Config, error) {
			return policy.InProcess(fair.New()), scheduler.Config{Text: []byte("nonsense: 1\n")}, nil
		},
	} {
		v := verify(t, r, host)
		if got := text(t, v); v.Same() || len(v.Differences) == 0 && v.Lives[0].Broke == "" {
			t.Errorf("%s:\n%s", what, got)
		}
	}
}

// rewritten is the log of a simulated history in which anything goes wrong.
type rewritten struct {
	*writer
	at []byte // the checkpoint that the log comes to
}

func (r *rewritten) replayed(from []byte, batches [][]byte, to []byte) error {
	switch {
	case r.log == nil:
		r.begin(from, core.Version)
	case !bytes.Equal(r.at, from): // the history lost its end
		r.end()
		r.folder = r.t.TempDir()
		r.begin(from, core.Version)
	default:
		if err := r.log.Rotate(func(w io.Writer) error { _, err := w.Write(from); return err }); err != nil {
			return err
		}
		r.log.Settle()
	}
	for _, b := range batches {
		if _, err := r.log.Append(b); err != nil {
			return err
		}
	}
	r.at = to
	return nil
}

// Policies fail and replace each other, and the manager dies: each generation of a policy decides
// as recorded. Rounds without an answer, and those of a generation whose start is lost, are counted
// separately.
func TestHistoriesInWhichAnythingGoesWrong(t *testing.T) {
	list := []faultsim.Policy{{Name: "fifo", New: fifo.New}, {Name: "suspend", New: policies.Suspend}, {Name: "gang", New: policies.Gang}, {Name: "hfsp", New: hfsp.New}, {Name: "fair", New: fair.New}}
	rounds, lives, unanswered := 0, 0, 0
	for seed := uint64(1); seed <= 3*seeds; seed++ { // short ones: what publishes needs no round, nor do schedules
		r := &rewritten{writer: newWriter(t)}
		s := faultsim.New(faultsim.Options{Seed: seed, ReplayEvery: 400, Replayed: r.replayed, Policies: list})
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
		r.end()
		log, err := Open(r.folder)
		if err != nil {
			t.Fatal(err)
		}
		v := verify(t, log, func(_ context.Context, of Started) (policy.Host, scheduler.Config, error) {
			for _, p := range list {
				if p.Name == of.Policy {
					return policy.InProcess(p.New()), of.Settings, nil
				}
			}
			return nil, scheduler.Config{}, fmt.Errorf("there is no policy %q", of.Policy)
		})
		sum := v.Sum()
		if !v.Same() || v.Extent.Gaps > 0 || sum.NotAsked > 0 {
			t.Errorf("seed %d:\n%s", seed, text(t, v))
		}
		rounds, lives, unanswered = rounds+sum.Rounds, lives+len(v.Lives), unanswered+sum.Unanswered
	}
	if rounds < 1000 || lives < 10 || unanswered == 0 {
		t.Errorf("%d rounds of %d lives were compared, and %d had no answer", rounds, lives, unanswered)
	}
}

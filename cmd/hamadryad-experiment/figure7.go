package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/hamadryad/hamadryad/cmd/hamadryad-experiment/internal/timeline"
	"github.com/hamadryad/hamadryad/cmd/hamadryad-experiment/internal/workload"
	"github.com/hamadryad/hamadryad/engine/policy"
)

// The published workload: j1 has taken all eight slots when j2 to j5 come, which need
// five of them.
const (
	figure7Launchers = 4
	figure7Slots     = 2
	figure7Large     = 500 * time.Second // a task of j1
	figure7Small     = 400 * time.Second // a task of the others, which is shorter
	figure7Slack     = 2 * time.Second   // allowed on top, for starting, stopping and telling
)

// figure7Mode is how j1 gives way, with what follows by hand.
type figure7Mode struct {
	name, settings string
	mean           time.Duration // sojourn time
	killed         int
}

var figure7Modes = []figure7Mode{
	// Five of j1's tasks stop from 150 s to 550 s; three end at 640 s, and then the last three begin.
	{"eager", "preempt-reduces: suspend\n", 520 * time.Second, 0},
	// The others begin at 640 s, when j1's first tasks end.
	{"wait", "preempt-reduces: wait\n", 912 * time.Second, 0},
	// Five begin anew at 550 s, and the last three at 640 s. Samples would not be killed: three, so that five are none.
	{"kill", "preempt-reduces: kill\nsamples: 3\n", 520 * time.Second, 5},
}

// figure7Jobs are the parties, and the jobs in the order of their coming.
var figure7Jobs = [...]string{"j1", "j2", "j3", "j4", "j5"}

func figure7(ctx context.Context, l *lab) error {
	fmt.Fprintf(l.log, "%d launchers of %d slots, in virtual time: j1 of 11 reduces of %v comes at 140 s, j2 of two of %v and j3, j4, j5 of one at 150 s\n\n",
		figure7Launchers, figure7Slots, figure7Large, figure7Small)
	c := claims{lab: l}
	for _, m := range figure7Modes {
		r, line, err := l.figure7Run(ctx, m.settings)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if err := l.show(line, "figure7-"+m.name, "HFSP, figure 7: slots of five jobs, "+m.name, figure7Launchers*figure7Slots, 50*time.Second); err != nil {
			return err
		}
		c.that((r.mean-m.mean).Abs() <= figure7Slack, "%s: the mean sojourn time is %.2f min; %.2f follow by hand", m.name, r.mean.Minutes(), m.mean.Minutes())
		c.that(r.Preempted == m.killed, "%s: %d attempts are killed; %d follow by hand", m.name, r.Preempted, m.killed)
	}
	fmt.Fprintln(l.log, "The publication says about 9 min, 15 min, and 6 attempts killed. It says neither how long tasks are exactly nor when slots are told to be free;\n"+
		"with five tasks that come and eight slots that are taken, five is what has to give way.")
	return c.err()
}

type figure7Result struct {
	workload.Result
	mean time.Duration
}

// figure7Run plays the workload with the policy's own program.
func (l *lab) figure7Run(ctx context.Context, settings string) (r figure7Result, line timeline.Line, err error) {
	host, err := policy.Launch(ctx, policy.Options{Path: filepath.Join(l.bin, "hamadryad-policy-hfsp"), Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return r, line, err
	}
	tasks := func(n int, d time.Duration) (list []time.Duration) {
		for range n {
			list = append(list, d)
		}
		return list
	}
	w := workload.Workload{Launchers: figure7Launchers, Slots: figure7Slots, CanSuspend: true}
	w.Jobs = append(w.Jobs, workload.Job{Pool: "j1", At: 140 * time.Second, Reduces: tasks(11, figure7Large)})
	for i, n := range []int{2, 1, 1, 1} {
		w.Jobs = append(w.Jobs, workload.Job{Pool: figure7Jobs[i+1], At: 150 * time.Second, Reduces: tasks(n, figure7Small)})
	}
	w.Ended = func(_ int, took time.Duration) { r.mean += took / time.Duration(len(w.Jobs)) }
	var held holdings
	w.Holds = held.take
	r.Result, err = workload.Play(ctx, w, host, settings)
	return r, timeline.New(figure7Jobs[:], held.spans), err
}

// holdings are the slots that each of figure7Jobs holds over time.
type holdings struct {
	began [len(figure7Jobs)][]time.Duration // those that are held, the newest last
	spans []timeline.Span
}

// take takes in how many slots each holds from a time on.
func (h *holdings) take(at time.Duration, slots []int) {
	for i, n := range slots {
		for len(h.began[i]) < n {
			h.began[i] = append(h.began[i], at)
		}
		for k := len(h.began[i]); k > n; k-- {
			h.spans = append(h.spans, timeline.Span{Party: figure7Jobs[i], Slots: 1, Start: h.began[i][k-1], End: at})
			h.began[i] = h.began[i][:k-1]
		}
	}
}

package jobtest_test

import (
	"context"
	"errors"
	"flag"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/internal/anyjob"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

var (
	seeds = flag.Int("seeds", 30, "how many random graphs run")
	from  = flag.Int("from", 1, "the first one's seed")
)

// A run ends whatever a graph joins by whatever channels, and in whatever order its nodes read and
// write.
func TestAnyGraphEnds(t *testing.T) {
	for seed := *from; seed < *from+*seeds; seed++ {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		result, err := jobtest.Run(ctx, anyjob.Definition, []string{strconv.Itoa(seed)}, jobtest.Options{})
		cancel()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if result.Counters["sent"] != result.Counters["got"] {
			t.Errorf("seed %d: %v", seed, result.Counters)
		}
	}
}

// diamond has a writer that fills one port while its reader drains the other first.
func diamond(kind job.ChannelKind) job.Definition {
	return job.Definition{Name: "diamond", Build: func(g *job.Graph, _ []string) error {
		x := g.Stage("x", 1, func(ctx context.Context, n *job.Node) error {
			big, err := n.Emitter(ctx, "big")
			if err != nil {
				return err
			}
			for range 8 {
				if err := big(nil, make([]byte, 1<<20)); err != nil {
					return err
				}
			}
			small, err := n.Emitter(ctx, "small")
			if err != nil {
				return err
			}
			return small(nil, []byte("s"))
		})
		y := g.Stage("y", 1, func(ctx context.Context, n *job.Node) error {
			for _, port := range []string{"small", "big"} {
				if err := n.Each(ctx, port, func([]byte) error { n.Count(port, 1); return nil }); err != nil {
					return err
				}
			}
			return nil
		})
		g.OneToOne(x.Out("big"), y.In("big"), job.Channel{Kind: kind})
		g.OneToOne(x.Out("small"), y.In("small"), job.Channel{Kind: kind})
		return nil
	}}
}

// A test is bounded as a cluster is: nodes that wait for each other go on up to a bound, and
// then the error names them, and what they wait for.
func TestNodesThatWaitForEachOtherAreNamed(t *testing.T) {
	for _, kind := range []job.ChannelKind{job.TCP, job.SHM, job.File} {
		result, err := jobtest.Run(t.Context(), diamond(kind), nil, jobtest.Options{})
		if err != nil || result.Counters["big"] != 8 {
			t.Errorf("by %v: %v, %v", kind, result, err)
		}
		_, err = jobtest.Run(t.Context(), diamond(kind), nil, jobtest.Options{Spill: 4 << 20})
		want := `x.0 is blocked writing output "big" to input "big" of y.0, while that reads input "small"`
		if kind == job.File && err != nil || kind != job.File && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("by %v with a bound: %v", kind, err)
		}
	}
}

// one is a job of one node.
func one(program job.Program) job.Definition {
	return job.Definition{Name: "one", Build: func(g *job.Graph, _ []string) error {
		g.Stage("x", 1, program).Timeout(100 * time.Millisecond)
		return nil
	}}
}

// A program that ends its goroutine did not return.
func TestGoexitFails(t *testing.T) {
	_, err := jobtest.Run(t.Context(), one(func(context.Context, *job.Node) error { runtime.Goexit(); return nil }), nil, jobtest.Options{})
	var failed *jobtest.Error
	if !errors.As(err, &failed) || failed.Stage != "x" || !strings.Contains(err.Error(), "runtime.Goexit") {
		t.Error(err)
	}
}

// A program that never looks at its context does not keep the test: its stage's timeout ends
// the job, and the error says who did not return.
func TestAProgramThatNeverReturns(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	_, err := jobtest.Run(t.Context(), one(func(context.Context, *job.Node) error { <-stop; return nil }), nil, jobtest.Options{})
	if err == nil || !strings.Contains(err.Error(), "timeout of its stage") || !strings.Contains(err.Error(), "did not return within") {
		t.Error(err)
	}
}

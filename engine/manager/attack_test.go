package manager

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hamadryad/hamadryad/engine/wire"
)

const (
	// attackers knock again as soon as they are answered.
	attackers = 1000
	// attackWindow is how long rounds are counted, with and without them in turn.
	attackWindow = time.Second
	// taskTime and attackSlots make the load: so many tasks at a time, of that length.
	taskTime    = 10 * time.Millisecond
	attackSlots = 8
)

// The windows of a benchmark, in turn. In the first nobody knocks. In the second attackers knock at
// another server in this process, which accepts them at the same slow rate and does nothing. So the
// attackers' cost for the machine is separated from their cost for the manager. In the third they
// knock at the manager.
const (
	quiet = iota
	elsewhere
	attacked
	windows
)

// BenchmarkRoundsUnderAttack has short tasks run, and a thousand clients without a right to
// anything ask for changes, in windows with and without them in turn. It reports the medians of the
// rounds in a second and of what a round takes, and the medians of the ratios to the window before:
//
//	go test ./engine/manager -run '^$' -bench UnderAttack -benchtime 20x
func BenchmarkRoundsUnderAttack(b *testing.B) {
	bed := newPriced(b)
	bed.paced()
	if err := bed.handInOf(1_000_000, "bob", "", proofOf("bob", "key_of_bob", later())...); err != nil {
		b.Fatal(err)
	}
	eventually(b, "work runs", func() bool { n, _ := bed.rounds(); return n > 100 })
	idle := lazyServer(b)
	var of [windows][2][]float64 // rounds in a second, and the microseconds of each
	answers := 0.0
	for b.Loop() {
		for w := range windows {
			stop := func() float64 { return 0 }
			switch w {
			case elsewhere:
				stop = attack(b, idle)
			case attacked:
				stop = attack(b, bed.http)
			}
			time.Sleep(attackWindow) // until all have come
			n, took := bed.rounds()
			began := time.Now()
			time.Sleep(attackWindow)
			after, tookAfter := bed.rounds()
			of[w][0] = append(of[w][0], (after-n)/time.Since(began).Seconds())
			of[w][1] = append(of[w][1], (tookAfter-took)/(after-n)*1e6)
			if rate := stop(); w == attacked {
				answers += rate
			}
		}
	}
	for i, unit := range []string{"rounds/s", "µs/round"} {
		for w, name := range []string{"quiet", "elsewhere", "attacked"} {
			b.ReportMetric(median(of[w][i]), name+"-"+unit)
		}
		b.ReportMetric(median(ratios(of[attacked][i], of[quiet][i])), "to-quiet-"+unit)
		b.ReportMetric(median(ratios(of[attacked][i], of[elsewhere][i])), "to-elsewhere-"+unit)
	}
	b.ReportMetric(answers/float64(b.N), "answers/s")
}

// attack has clients knock at an address until stop is called, which returns how many were
// answered in a second.
func attack(b *testing.B, address string) (stop func() float64) {
	ctx, cancel := context.WithCancel(b.Context())
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: attackers}}
	kinds := assaults(assault{name: "unsigned", query: "infos"})
	var all sync.WaitGroup
	var answered atomic.Int64
	began := time.Now()
	for i := range attackers {
		all.Go(func() {
			for k := i; ctx.Err() == nil; k++ {
				code, text := knock(ctx, client, address, kinds[k%len(kinds)])
				if code == http.StatusOK {
					b.Errorf("one gets in: %s", text)
				}
				if code != 0 {
					answered.Add(1)
				}
			}
		})
	}
	return func() float64 {
		rate := float64(answered.Load()) / time.Since(began).Seconds()
		cancel()
		all.Wait()
		client.CloseIdleConnections()
		return rate
	}
}

// lazyServer answers one in a millisecond.
func lazyServer(b *testing.B) string {
	var one sync.Mutex
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		one.Lock()
		time.Sleep(time.Millisecond)
		one.Unlock()
		http.Error(w, "ACCESS DENIED", http.StatusInternalServerError)
	}))
	b.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func ratios(of, to []float64) (all []float64) {
	for i := range of {
		all = append(all, of[i]/to[i])
	}
	return all
}

func median(of []float64) float64 {
	of = slices.Sorted(slices.Values(of))
	return of[len(of)/2]
}

// rounds are how many there were, and the seconds that they took.
func (b *testbed) rounds() (n, seconds float64) {
	b.t.Helper()
	_, text := b.ask(http.MethodGet, "/metrics", "", "")
	for line := range strings.Lines(text) {
		_, _ = fmt.Sscanf(line, "hamadryad_round_seconds_count %g", &n)
		_, _ = fmt.Sscanf(line, "hamadryad_round_seconds_sum %g", &seconds)
	}
	return n, seconds
}

// paced adds a launcher whose tasks take some time.
func (b *testbed) paced() {
	b.t.Helper()
	l, err := b.tryJoin("a", 1, true, func(j *wire.Join) { j.Slots[0].Count = attackSlots })
	if err != nil {
		b.t.Fatal(err)
	}
	go func() {
		for a := range l.started {
			time.AfterFunc(taskTime, func() { _ = l.finish(a) })
		}
	}()
}

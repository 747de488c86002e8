package faultsim

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hamadryad/hamadryad/plugins/drf"
	"github.com/hamadryad/hamadryad/plugins/dynamicpriority"
	"github.com/hamadryad/hamadryad/plugins/fair"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/plugins/hfsp"
	"github.com/hamadryad/hamadryad/plugins/preemptivefair"
	"github.com/hamadryad/hamadryad/policytest/faultypolicies"
	"github.com/hamadryad/hamadryad/policytest/policies"
)

var (
	seedFlag   = flag.Uint64("seed", 0, "run this one seed, and print what happened last before it fails, or with -v all")
	fromFlag   = flag.Uint64("from", 1, "first seed")
	manyFlag   = flag.Int("seeds", 0, "how many seeds; 0 is the usual number")
	policyFlag = flag.String("policy", "", "play with this one of the policies alone")
	replayFlag = flag.Int("replay", 0, "with -seed: replay the log each so many steps; 0 is the usual number")
)

// usable are the faulty policies that answer at all: what hangs or answers
// too much is the policy host's to stop.
var usable = []string{
	"does nothing", "launches twice", "launches half a bundle", "unknown ids", "beyond the offer", "preempts for ever",
	"answers for an old round", "crashes", "forgetful", "lax settings", "ignores requests", "admits nobody",
}

func allPolicies() []Policy {
	list := []Policy{
		{Name: "suspend", New: policies.Suspend},
		{Name: "gang", New: policies.Gang},
		{Name: "reserve", New: policies.Reserve},
		{Name: "load", New: policies.Load},
		{Name: "delay", New: policies.Delay},
		{Name: "admit", New: policies.Admit},
		{Name: "pages", New: policies.Pages},
		{Name: "remember", New: policies.Remember},
		{Name: "fifo", New: fifo.New},
		{Name: "hfsp", New: hfsp.New},
		{Name: "dynamic-priority", New: dynamicpriority.New},
		{Name: "fair", New: fair.New},
		{Name: "preemptive-fair", New: preemptivefair.New},
		{Name: "drf", New: drf.New},
		{Name: "wild", New: newWild},
		{Name: "wild too", New: newWild},
		{Name: "wild ahead", New: newWildAhead},
	}
	for _, a := range faultypolicies.All() {
		if slices.Contains(usable, a.Name) {
			list = append(list, Policy{Name: a.Name, New: a.New, Bad: true})
		}
	}
	return list
}

// policiesOf is the policies that a seed draws from: mostly good ones.
func policiesOf(seed uint64) []Policy {
	all := allPolicies()
	if *policyFlag != "" {
		return slices.DeleteFunc(all, func(p Policy) bool { return p.Name != *policyFlag })
	}
	if seed%4 == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(p Policy) bool { return p.Bad })
}

// TestSeeds plays many histories. Each is its own test of all that a Sim checks.
func TestSeeds(t *testing.T) {
	if *seedFlag != 0 {
		runOne(t, *seedFlag)
		return
	}
	many := *manyFlag
	if many == 0 {
		many = seedsUsual
	}
	seen := runSeeds(t, *fromFlag, many)
	if many >= coverSeeds && *policyFlag == "" && !t.Failed() {
		needSeen(t, seen)
	}
}

// coverSeeds is from how many seeds on every fault must have happened; what fewer
// see is chance.
const coverSeeds = 1000

// runOne plays one seed and shows what happened.
func runOne(t *testing.T, seed uint64) {
	var last []string
	s := New(Options{Seed: seed, Policies: policiesOf(seed), ReplayEvery: *replayFlag, Trace: func(format string, args ...any) {
		line := fmt.Sprintf(format, args...)
		if testing.Verbose() {
			fmt.Println(line)
			return
		}
		if len(last) == linesKept {
			last = last[1:]
		}
		last = append(last, line)
	}})
	if err := s.Run(); err != nil {
		t.Fatalf("%s\nseed %d: %v", strings.Join(last, "\n"), seed, err)
	}
}

// linesKept is how many of the last batches and actions are shown of a seed that
// fails.
const linesKept = 200

func runSeeds(t *testing.T, from uint64, many int) map[string]int {
	seen := map[string]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan uint64)
	for range 2 {
		wg.Go(func() {
			for seed := range next {
				s := New(Options{Seed: seed, Policies: policiesOf(seed)})
				err := s.Run()
				mu.Lock()
				for k, n := range s.Seen {
					seen[k] += n
				}
				mu.Unlock()
				if err != nil {
					t.Errorf("seed %d: %v\nto see the last of it, or with -v all: go test ./engine/faultsim -run TestSeeds -seed=%d", seed, err, seed)
				}
			}
		})
	}
	for i := range many {
		if t.Failed() {
			break
		}
		next <- from + uint64(i)
	}
	close(next)
	wg.Wait()
	return seen
}

// needSeen checks that the events that the seeds are for do happen.
func needSeen(t *testing.T, seen map[string]int) {
	for _, k := range []string{
		"replays", "manager restarts", "logs that lost their end", "lost jobs", "starts of dropped jobs", "incarnations", "broken streams", "lost launchers", "crashes", "freezes", "late reports",
		"doubled reports", "reordered reports", "lost reports", "refused joins", "attempts given up", "lost commands", "doubled commands",
		"killed while publishing", "parts kept", "aggregating stages", "attempts of aggregating nodes", "inputs lost", "damaged outputs", "full disks", "broken peers", "stragglers", "updates that ask to be confirmed", "further files", "refused suspensions", "refused resumptions", "preempted for the suspended", "refused submissions", "starts after other jobs", "jobs that waited in vain", "wrong submissions", "policy fifo", "policy failures",
		"attempts started ahead", "AttemptTookSlots", "attempts held ahead that were not given back", "attempts held ahead that were lost",
		"accepted launch", "accepted preempt", "accepted resume", "accepted admit", "accepted speculate",
		"BundleWithdrawn", "BundleReopened", "BundleGivenUp", "arrays that failed", "kills of elements", "retries of elements", "SpeculationOffered", "SpeculationWithdrawn", "AttemptSuspended", "AttemptResumed", "AttemptStopping", "SuspensionFailed", "LauncherDraining", "LauncherLoad",
		"refused: not ready", "refused: no capacity", "refused: launcher unavailable", "refused: protected", "refused: nothing gained", "refused: user at limit", "UserLimitSet",
		"due times", "due times that passed", "strange due times", "sleeps of the clock", "schedules added or replaced", "schedule: pause", "schedule: remove", "schedule: run", "runners that died", "runners that froze", "runs lost with an answer", "commands started again", "jobs of runs", "refused jobs of runs",
		"JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED", "JOB_STATE_KILLED",
	} {
		if seen[k] == 0 {
			t.Errorf("%q never happened in any seed", k)
		}
	}
	if testing.Verbose() {
		for _, k := range slices.Sorted(maps.Keys(seen)) {
			t.Logf("%8d %s", seen[k], k)
		}
	}
}

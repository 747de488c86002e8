package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
)

const (
	// shadowTasks are the tasks of one run, after shadowTasksWarm others.
	shadowTasks     = 5_000
	shadowTasksWarm = 500
	// shadowsFollowMax bounds the wait until all shadows of a new configuration follow.
	shadowsFollowMax = time.Minute
)

// shadowSets are the shadows beside fifo. Rows compare each with the first, which has none.
var shadowSets = [][]string{nil, {"fair"}, {"fair", "hfsp", "preemptive-fair"}}

// shadowCosts measures what shadows cost. All sets of shadows run on the same cluster, in turn: its
// configuration changes between two jobs. The cluster has one slot, so each task is launched when
// the one before has ended. This takes about one processor, and shadows have the others.
func shadowCosts(ctx context.Context, b *bench) error {
	s, err := startSite(ctx, b, false, shape{launchers: 1, slots: 1})
	defer s.stop()
	if err != nil {
		return err
	}
	all := make([][]shadowed, len(shadowSets))
	for run := range b.runs {
		for i := range shadowSets {
			set := (i + run) % len(shadowSets)
			figures, err := s.shadowed(ctx, b, shadowSets[set])
			if err != nil {
				return fmt.Errorf("%d shadows: %w", len(shadowSets[set]), err)
			}
			all[set] = append(all[set], figures)
		}
	}
	for i, names := range shadowSets[1:] {
		for _, r := range []struct {
			row, unit string
			get       func(shadowed) float64
		}{
			{"noop-tasks", "tasks/s", func(x shadowed) float64 { return x.perSecond }},
			{"manager-cpu", "µs", func(x shadowed) float64 { return x.manager }},
			{"whole-cpu", "µs", func(x shadowed) float64 { return x.whole }},
			{"round", "ms", func(x shadowed) float64 { return x.round }},
		} {
			row := fmt.Sprintf("shadows-%d-%s", len(names), r.row)
			err = errors.Join(err, b.out.add(row, r.unit, pick(all[i+1], r.get), pick(all[0], r.get), "no shadow"))
		}
	}
	return err
}

// shadowed are the figures of one run.
type shadowed struct {
	perSecond float64 // tasks
	manager   float64 // µs of the manager's processor time for a task
	whole     float64 // the same of the manager, its policies, the launcher and its worker
	round     float64 // ms from asking the policy in force to its answer, mean
}

// shadowed has shadows follow, and runs tasks.
func (s *site) shadowed(ctx context.Context, b *bench, names []string) (x shadowed, err error) {
	text := fmt.Sprintf("policy: {name: fifo, shadow: [%s]}\n", strings.Join(names, ", "))
	if err := os.WriteFile(s.file+".new", []byte(text), 0o600); err != nil {
		return x, err
	}
	if err := os.Rename(s.file+".new", s.file); err != nil { // the manager never reads half of it
		return x, err
	}
	if err := s.shadowsFollow(ctx, len(names)); err != nil {
		return x, err
	}
	if _, err := s.program(ctx, b, "noop", "--quiet", fmt.Sprint(shadowTasksWarm)); err != nil {
		return x, err
	}
	managerBefore, wholeBefore := processTime(s.processes[0]), s.processTimes()
	secondsBefore, roundsBefore, err := s.roundTimes(ctx)
	if err != nil {
		return x, err
	}
	took, err := s.program(ctx, b, "noop", "--quiet", fmt.Sprint(shadowTasks))
	if err != nil {
		return x, err
	}
	seconds, rounds, err := s.roundTimes(ctx)
	if err != nil {
		return x, err
	}
	ofTask := func(d time.Duration) float64 { return float64(d.Microseconds()) / shadowTasks }
	return shadowed{
		perSecond: shadowTasks / took.Seconds(),
		manager:   ofTask(processTime(s.processes[0]) - managerBefore),
		whole:     ofTask(s.processTimes() - wholeBefore),
		round:     1000 * (seconds - secondsBefore) / (rounds - roundsBefore),
	}, s.shadowsFollow(ctx, len(names))
}

// processTimes is the processor time of the site's processes and their descendants.
func (s *site) processTimes() (all time.Duration) {
	for _, started := range s.processes {
		for _, pid := range descendants(started) {
			all += processTime(pid)
		}
	}
	return all
}

// shadowsFollow waits until so many shadows follow, and no other is left.
func (s *site) shadowsFollow(ctx context.Context, want int) error {
	ctx, cancel := context.WithTimeout(ctx, shadowsFollowMax)
	defer cancel()
	for {
		data, err := s.get(ctx, "api/v1/policy")
		if err != nil {
			return err
		}
		var policy struct {
			Shadows []struct{ State, Problem string }
		}
		if err := json.Unmarshal(data, &policy); err != nil {
			return err
		}
		follow := len(policy.Shadows) == want
		for _, x := range policy.Shadows {
			follow = follow && x.State == policyhost.ShadowFollowing
			if x.Problem != "" {
				return fmt.Errorf("a shadow failed: %s", x.Problem)
			}
		}
		if follow {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%d shadows do not follow: %s", want, data)
		}
	}
}

// roundTimes are the time of all rounds of the policy in force, and their number.
func (s *site) roundTimes(ctx context.Context) (seconds, rounds float64, err error) {
	data, err := s.get(ctx, "metrics")
	if err != nil {
		return 0, 0, err
	}
	figure := func(name string) float64 {
		for line := range bytes.Lines(data) {
			if value, is := strings.CutPrefix(string(line), name+" "); is {
				x, wrong := strconv.ParseFloat(strings.TrimSpace(value), 64)
				err = errors.Join(err, wrong)
				return x
			}
		}
		err = errors.Join(err, fmt.Errorf("the manager has no metric %s", name))
		return 0
	}
	return figure("hamadryad_round_seconds_sum"), figure("hamadryad_round_seconds_count"), err
}

// get reads a page of the manager's.
func (s *site) get(ctx context.Context, path string) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.http+"/"+path, nil)
	if err != nil {
		return nil, err
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", path, r.Status)
	}
	return io.ReadAll(r.Body)
}

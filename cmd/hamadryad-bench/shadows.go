package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
)

const (
	// shadowTasks are the tasks of one run, after shadowTasksWarm others.
	shadowTasks     = 5_000
	shadowTasksWarm = 500
	// shadowsFollowMax bounds the wait until all shadows of a new configuration follow.
	shadowsFollowMax = time.Minute
)

// shadowSets are the shadows beside fifo. Rows compare each with the first, which has none. The last
// three misbehave: the first of these never answers a round, and one takes more memory than it may.
// Both are started again until they are dropped. The third takes 300 ms for a round.
var shadowSets = []struct {
	row   string
	names []string
	fail  bool
}{
	{row: "0"},
	{row: "1", names: []string{"fair"}},
	{row: "3", names: []string{"fair", "hfsp", "preemptive-fair"}},
	{row: "hung", names: []string{"hang-at-1"}, fail: true},
	{row: "leaking", names: []string{"hog"}, fail: true},
	{row: "slow", names: []string{"slow"}},
}

// badPlugin is the package of the program that misbehaves as its name says.
const badPlugin = "github.com/hamadryad/hamadryad/engine/policy/plugintest/badplugin"

// shadowPolicies makes a folder with the programs of all policies of shadowSets.
func shadowPolicies(ctx context.Context, b *bench) (folder string, err error) {
	if folder, err = os.MkdirTemp("", "hamadryad-bench"); err != nil {
		return "", err
	}
	bad := filepath.Join(folder, "badplugin")
	if text, err := exec.CommandContext(ctx, "go", "build", "-o", bad, badPlugin).CombinedOutput(); err != nil {
		return folder, fmt.Errorf("building %s, which needs the source: %w\n%s", badPlugin, err, text)
	}
	names := []string{"fifo"}
	for _, set := range shadowSets {
		names = append(names, set.names...)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		program := filepath.Join(b.bin, config.PolicyPrefix+name)
		if _, err := os.Stat(program); err != nil {
			program = bad
		}
		if err := os.Symlink(program, filepath.Join(folder, config.PolicyPrefix+name)); err != nil {
			return folder, err
		}
	}
	return folder, nil
}

// shadowCosts measures what shadows cost. All sets of shadows run on the same cluster, in turn: its
// configuration changes between two jobs. The cluster has one slot, so each task is launched when
// the one before has ended. This takes about one processor, and shadows have the others.
func shadowCosts(ctx context.Context, b *bench) error {
	policies, err := shadowPolicies(ctx, b)
	defer os.RemoveAll(policies)
	if err != nil {
		return err
	}
	s, err := startSite(ctx, b, false, shape{launchers: 1, slots: 1})
	defer s.stop()
	if err != nil {
		return err
	}
	all := make([][]shadowed, len(shadowSets))
	for run := range b.runs {
		for i := range shadowSets {
			set := (i + run) % len(shadowSets)
			figures, err := s.shadowed(ctx, b, policies, set)
			if err != nil {
				return fmt.Errorf("shadows-%s: %w", shadowSets[set].row, err)
			}
			all[set] = append(all[set], figures)
		}
	}
	for i, set := range shadowSets[1:] {
		for _, r := range []struct {
			row, unit string
			get       func(shadowed) float64
		}{
			{"noop-tasks", "tasks/s", func(x shadowed) float64 { return x.perSecond }},
			{"manager-cpu", "µs", func(x shadowed) float64 { return x.manager }},
			{"whole-cpu", "µs", func(x shadowed) float64 { return x.whole }},
			{"round", "ms", func(x shadowed) float64 { return x.round }},
		} {
			row := fmt.Sprintf("shadows-%s-%s", set.row, r.row)
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

// shadowed has the shadows of a set follow, and runs tasks.
func (s *site) shadowed(ctx context.Context, b *bench, policies string, set int) (x shadowed, err error) {
	names, fail := shadowSets[set].names, shadowSets[set].fail
	text := fmt.Sprintf("policy: {name: fifo, folder: %s, memory: 400MB, shadow: [%s]}\n", policies, strings.Join(names, ", "))
	if err := os.WriteFile(s.file+".new", []byte(text), 0o600); err != nil {
		return x, err
	}
	if err := os.Rename(s.file+".new", s.file); err != nil { // the manager never reads half of it
		return x, err
	}
	if err := s.shadowsFollow(ctx, names, fail); err != nil {
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
	}, s.shadowsFollow(ctx, names, fail)
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

// shadowsFollow waits until these shadows follow, or fail if they may, and no other is left.
func (s *site) shadowsFollow(ctx context.Context, names []string, fail bool) error {
	ctx, cancel := context.WithTimeout(ctx, shadowsFollowMax)
	defer cancel()
	for {
		data, err := s.get(ctx, "api/v1/policy")
		if err != nil {
			return err
		}
		var policy struct {
			Shadows []struct{ Name, State, Problem string }
		}
		if err := json.Unmarshal(data, &policy); err != nil {
			return err
		}
		follow := len(policy.Shadows) == len(names)
		for i, x := range policy.Shadows {
			named := i < len(names) && x.Name == names[i] // else the configuration is not read yet
			follow = follow && named && (x.State == policyhost.ShadowFollowing || x.Problem != "")
			if named && x.Problem != "" && !fail {
				return fmt.Errorf("a shadow failed: %s", x.Problem)
			}
		}
		if follow {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("the shadows %v do not follow: %s", names, data)
		}
	}
}

// roundTimes are the time of all rounds of the policy in force, and their number.
func (s *site) roundTimes(ctx context.Context) (seconds, rounds float64, err error) {
	x, err := sumsAt(ctx, s.http, "hamadryad_round_seconds")
	return x["hamadryad_round_seconds"].seconds, x["hamadryad_round_seconds"].count, err
}

// durations are those that a metric counted.
type durations struct{ seconds, count float64 }

// sumsAt reads metrics of durations from a process at an address.
func sumsAt(ctx context.Context, address string, names ...string) (map[string]durations, error) {
	data, err := pageAt(ctx, address, "metrics")
	if err != nil {
		return nil, err
	}
	figures := map[string]string{}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		figures[name] = value
	}
	sums := map[string]durations{}
	for _, name := range names {
		seconds, wrong := strconv.ParseFloat(figures[name+"_sum"], 64)
		count, wrongCount := strconv.ParseFloat(figures[name+"_count"], 64)
		if wrong != nil || wrongCount != nil {
			return nil, fmt.Errorf("the process at %s has no metric %s", address, name)
		}
		sums[name] = durations{seconds, count}
	}
	return sums, nil
}

// get reads a page of the manager's.
func (s *site) get(ctx context.Context, path string) ([]byte, error) {
	return pageAt(ctx, s.http, path)
}

// pageAt reads a page of a process at an address.
func pageAt(ctx context.Context, address, path string) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/"+path, nil)
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

package main

import (
	"context"
	"errors"
	"fmt"
)

// slotShape is the cluster on which a slot's time is measured, slotTasks the tasks of a run, and
// slotRate the stated rate of the row about tasks that do nothing.
var slotShape = shape{launchers: 1, slots: 2}

const (
	slotTasks = 4_000
	slotRate  = 4_000
)

// The metrics that say where a slot's time goes.
const (
	busySeconds    = "hamadryad_launcher_worker_busy_seconds"
	idleSeconds    = "hamadryad_launcher_worker_idle_seconds"
	gatherSeconds  = "hamadryad_core_gather_seconds"
	stepSeconds    = "hamadryad_core_step_seconds"
	roundSeconds   = "hamadryad_round_seconds"
	durableSeconds = "hamadryad_core_durable_seconds"
	syncSeconds    = "hamadryad_log_sync_seconds"
)

// slotTimes are where the time of a slot goes, in milliseconds a task.
type slotTimes struct {
	whole    float64 // from one task to the next
	worker   float64 // the worker has the task, from the launcher's message to its report of the end
	ahead    float64 // of a hundred tasks, those that the launcher held ahead: no worker waits for them
	idle     float64 // the worker waits for another task
	gather   float64 // of a step: its first input waits for others
	step     float64 // of the core
	round    float64 // of the policy
	durable  float64 // what a step decided waits for the disk, other than most launches; no slot waits for it
	sync     float64 // one write of the log to the disk
	messages float64 // the rest of idle: the report and the launch on their way, and waits for a round in flight
}

// slotParts measures where the time between two tasks of a slot goes. Its tasks do nothing.
func slotParts(ctx context.Context, b *bench) error {
	s, err := startSite(ctx, b, false, slotShape)
	defer s.stop()
	if err != nil {
		return err
	}
	var all []slotTimes
	for range b.runs {
		x, err := s.slotTimes(ctx, b)
		if err != nil {
			return err
		}
		all = append(all, x)
	}
	stated := []float64{1000 * float64(slotShape.launchers*slotShape.slots) / slotRate}
	err = b.out.add("slot", "ms/task", pick(all, func(x slotTimes) float64 { return x.whole }), stated, "stated")
	whole := pick(all, func(x slotTimes) float64 { return x.whole })
	for _, part := range []struct {
		row string
		get func(slotTimes) float64
	}{
		{"worker", func(x slotTimes) float64 { return x.worker }},
		{"idle", func(x slotTimes) float64 { return x.idle }},
		{"gather", func(x slotTimes) float64 { return x.gather }},
		{"step", func(x slotTimes) float64 { return x.step }},
		{"round", func(x slotTimes) float64 { return x.round }},
		{"durable", func(x slotTimes) float64 { return x.durable }},
		{"sync", func(x slotTimes) float64 { return x.sync }},
		{"messages", func(x slotTimes) float64 { return x.messages }},
	} {
		err = errors.Join(err, b.out.add("slot-"+part.row, "ms", pick(all, part.get), whole, "slot"))
	}
	return errors.Join(err, b.out.add("slot-ahead", "% of tasks", pick(all, func(x slotTimes) float64 { return x.ahead }), []float64{100}, "all tasks"))
}

// slotTimes runs tasks, and returns where their slots' time went.
func (s *site) slotTimes(ctx context.Context, b *bench) (x slotTimes, err error) {
	before, err := s.slotSums(ctx)
	if err != nil {
		return x, err
	}
	took, err := s.program(ctx, b, "noop", "--quiet", fmt.Sprint(slotTasks))
	if err != nil {
		return x, err
	}
	after, err := s.slotSums(ctx)
	if err != nil {
		return x, err
	}
	mean := func(name string) float64 {
		n := after[name].count - before[name].count
		if n == 0 {
			return 0
		}
		return 1000 * (after[name].seconds - before[name].seconds) / n
	}
	slots := float64(slotShape.launchers * slotShape.slots)
	x = slotTimes{
		whole: 1000 * took.Seconds() * slots / slotTasks, worker: mean(busySeconds), idle: mean(idleSeconds), gather: mean(gatherSeconds),
		step: mean(stepSeconds), round: mean(roundSeconds), durable: mean(durableSeconds), sync: mean(syncSeconds),
	}
	x.ahead = 100 * (1 - (after[idleSeconds].count-before[idleSeconds].count)/slotTasks)
	x.messages = x.idle - x.gather - 2*x.step - x.round // of the end's step, and of the launch's
	return x, nil
}

// slotSums reads the metrics of the manager and of the launcher.
func (s *site) slotSums(ctx context.Context) (map[string]durations, error) {
	sums, err := sumsAt(ctx, s.http, gatherSeconds, stepSeconds, roundSeconds, durableSeconds, syncSeconds)
	if err != nil {
		return nil, err
	}
	more, err := sumsAt(ctx, s.node, busySeconds, idleSeconds)
	for name, x := range more {
		sums[name] = x
	}
	return sums, err
}

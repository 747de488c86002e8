package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// againstOpen is the baseline of all rows of access control.
const againstOpen = "auth.mode: off"

// submissionsCount is how many jobs a run of access-submission hands in to each cluster;
// the median is the run's value.
const submissionsCount = 200

// accessCosts compares a cluster with certificates, roles, lists and audit with a cluster without
// access control. Both run all the time, and work in turn.
func accessCosts(ctx context.Context, b *bench) error {
	for _, part := range []struct {
		name string
		run  func(context.Context, *bench, *pair) error
	}{
		{"access-noop-tasks", accessNoop},
		{"access-submission", accessSubmission},
		{"access-wordcount-500mb", accessWordCount},
		{"access-sort-1gb", accessSort},
	} {
		if !wanted(part.name, b.names) {
			continue
		}
		p, err := startPair(ctx, b)
		if err == nil {
			err = part.run(ctx, b, p)
		}
		p.stop()
		if err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// pair is a cluster without access control and one with it.
type pair struct{ open, closed *site }

func startPair(ctx context.Context, b *bench) (*pair, error) {
	open, errOpen := startSite(ctx, b, false, usualShape)
	closed, errClosed := startSite(ctx, b, true, usualShape)
	return &pair{open, closed}, errors.Join(errOpen, errClosed)
}

func (p *pair) stop() {
	p.open.stop()
	p.closed.stop()
}

// each does the same on both, alternating the first one from run to run.
func (p *pair) each(run int, do func(s *site) error) error {
	both := []*site{p.open, p.closed}
	for i := range both {
		if err := do(both[(i+run)%2]); err != nil {
			return err
		}
	}
	return nil
}

func accessNoop(ctx context.Context, b *bench, p *pair) error {
	rates := map[*site][]float64{}
	for run := range b.runs {
		err := p.each(run, func(s *site) error {
			took, err := s.program(ctx, b, "noop", fmt.Sprint(noopTasksCount))
			rates[s] = append(rates[s], noopTasksCount/took.Seconds())
			return err
		})
		if err != nil {
			return err
		}
	}
	return b.out.add("access-noop-tasks", "tasks/s", rates[p.closed], rates[p.open], againstOpen)
}

// accessSubmission measures Client.Submit over an established connection.
func accessSubmission(ctx context.Context, b *bench, p *pair) error {
	submission, err := smallest(filepath.Join(b.bin, "noop"))
	if err != nil {
		return err
	}
	times := map[*site][]float64{}
	for run := range b.runs {
		err := p.each(run, func(s *site) error {
			all, err := s.submit(ctx, submission)
			times[s] = append(times[s], median(all))
			return err
		})
		if err != nil {
			return err
		}
	}
	return b.out.add("access-submission", "ms", times[p.closed], times[p.open], againstOpen)
}

// smallest is a job of one task.
func smallest(program string) (client.Submission, error) {
	const name = "noop"
	g, err := job.Build(job.Definition{Name: name, Build: func(g *job.Graph, _ []string) error {
		g.Stage(name, 1, func(context.Context, *job.Node) error { return nil })
		return nil
	}}, nil, nil)
	if err != nil {
		return client.Submission{}, err
	}
	graph, err := plan.Graph(g)
	if err != nil {
		return client.Submission{}, err
	}
	encoded, err := plan.Encode(&plan.Submission{Name: name, Args: []string{"1"}})
	return client.Submission{Plan: encoded, Program: program, Spec: &wire.JobSpec{Name: name, Graph: graph, Fingerprint: plan.Fingerprint(graph)}}, err
}

// submit submits jobs, each after the end of the previous one, and returns the milliseconds of each
// submission.
func (s *site) submit(ctx context.Context, one client.Submission) (times []float64, err error) {
	c, err := client.Dial(s.address, client.Options{Auth: s.user})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for i := range submissionsCount + 1 {
		began := time.Now()
		id, err := c.Submit(ctx, one)
		took := time.Since(began)
		if err == nil {
			_, err = c.Watch(ctx, id.Job, func(*wire.JobStatus) {})
		}
		if err != nil {
			return nil, err
		}
		if i > 0 { // the first connects, and brings the program
			times = append(times, float64(took.Microseconds())/1000)
		}
	}
	return times, nil
}

func accessWordCount(ctx context.Context, b *bench, p *pair) error {
	in, err := b.text(ctx, wordCountBytes)
	if err != nil {
		return err
	}
	if _, err := b.handCount(ctx, in); err != nil { // for the right counts
		return err
	}
	return b.inTurn(p, "access-wordcount-500mb", func(s *site, out string) (time.Duration, error) {
		took, err := s.program(ctx, b, "wordcount-bytes", in, out)
		if err == nil {
			err = sameLines(out, in+".counts")
		}
		return took, err
	})
}

func accessSort(ctx context.Context, b *bench, p *pair) error {
	in, err := b.records(ctx, gb)
	if err != nil {
		return err
	}
	dir, done, err := b.folder()
	if err != nil {
		return err
	}
	defer done()
	sorted := filepath.Join(dir, "sorted")
	if _, err := program(ctx, false, "sort", "--parallel=2", "-S1G", "-T", dir, "-o", sorted, in); err != nil {
		return err
	}
	return b.inTurn(p, "access-sort-1gb", func(s *site, out string) (time.Duration, error) {
		took, err := s.program(ctx, b, "terasort", in, out)
		if err == nil {
			err = sameBytes(out, sorted)
		}
		return took, err
	})
}

// inTurn adds a row with the seconds of an action that makes an output folder.
func (b *bench) inTurn(p *pair, name string, do func(s *site, out string) (time.Duration, error)) error {
	times := map[*site][]float64{}
	for run := range b.runs {
		err := p.each(run, func(s *site) error {
			dir, done, err := b.folder()
			if err != nil {
				return err
			}
			defer done()
			took, err := do(s, filepath.Join(dir, "out"))
			times[s] = append(times[s], took.Seconds())
			return err
		})
		if err != nil {
			return err
		}
	}
	return b.out.add(name, "s", times[p.closed], times[p.open], againstOpen)
}

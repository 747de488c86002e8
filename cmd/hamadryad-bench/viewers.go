package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// viewersCount is how many look at the pages, each with a browser of their own.
	viewersCount = 50
	// viewersPause is how long the pages' script waits from one refresh to the next.
	viewersPause = time.Second
)

// viewed are the pages that viewers look at, one after the other; %s is the newest job.
var viewed = []string{"", "jobs", "jobs/%s", "jobs/%s", "launchers"}

// viewersCost holds work while people look at the pages against the same while nobody does. What the
// viewers' own side takes on this machine is part of the cost.
func viewersCost(ctx context.Context, b *bench) error {
	return errors.Join(b.viewedTasks(ctx), b.viewedAssignments(ctx))
}

// viewedTasks measures tasks that do nothing, on a cluster.
func (b *bench) viewedTasks(ctx context.Context) error {
	const row = "viewers-noop-tasks"
	if !wanted(row, b.names) {
		return nil
	}
	s, err := startSite(ctx, b, false)
	defer s.stop()
	if err != nil {
		return err
	}
	return b.viewed(row, "tasks/s", func(look bool) (pace, seen, error) {
		c, stop := &crowd{site: "http://" + s.http + "/"}, func() {}
		if look {
			stop = c.look(ctx)
		}
		took, err := s.program(ctx, b, "noop", fmt.Sprint(noopTasksCount))
		stop()
		return pace{perSecond: noopTasksCount / took.Seconds()}, c.count(), errors.Join(err, c.wrong())
	})
}

// viewedAssignments measures assignments through the plug-in, as the rows assign-... do, while the facts
// of each go to history and to what the pages show.
func (b *bench) viewedAssignments(ctx context.Context) error {
	s := assignShape{launchers: 500, pools: 100, jobs: 1000}
	for _, name := range strings.Split(b.policies, ",") {
		row := fmt.Sprintf("viewers-assign-%s-%v", name, s)
		if !wanted(row, b.names) {
			continue
		}
		if err := b.viewed(row, "1/s", func(look bool) (pace, seen, error) { return b.viewedRun(ctx, name, s, look) }); err != nil {
			return fmt.Errorf("%s: %w", row, err)
		}
	}
	return nil
}

// viewedRun returns the assignments a second in the steady state, in which all viewers have a page
// already, or nobody looks.
func (b *bench) viewedRun(ctx context.Context, name string, s assignShape, look bool) (pace, seen, error) {
	const ends, rounds, first = 1000, 600, 200 // first: at most, until all viewers have a page
	around := surroundings(name, true)
	around.shown = true
	a, err := b.newAssigner(ctx, name, true, around)
	if err != nil {
		return pace{}, seen{}, err
	}
	defer a.close()
	if err := a.fill(s, s.launchers*assignSlots+assignPending+ends*(first+rounds+assignWarm.rounds)); err != nil {
		return pace{}, seen{}, err
	}
	runtime.GC()
	c := &crowd{site: "http://" + a.window.address + "/"}
	if look {
		stop := c.look(ctx)
		defer stop()
		for c.pages.Load() < viewersCount && c.wrong() == nil && ctx.Err() == nil {
			if _, err := a.pace(ends, 1); err != nil {
				return pace{}, seen{}, err
			}
		}
	}
	if _, err := a.pace(ends, assignWarm.rounds); err != nil {
		return pace{}, seen{}, fmt.Errorf("warming up: %w", err)
	}
	before := c.count()
	p, err := a.pace(ends, rounds)
	after := c.count()
	return p, seen{after.pages - before.pages, after.bytes - before.bytes}, errors.Join(err, c.wrong())
}

// viewed measures both sides in turn, and says what the viewers took.
func (b *bench) viewed(row, unit string, measure func(look bool) (pace, seen, error)) error {
	var with, without []pace
	var all seen
	for run := range b.runs {
		for i := range 2 {
			look := (run+i)%2 == 0
			p, took, err := measure(look)
			if err != nil {
				return err
			}
			if look {
				with = append(with, p)
				all.pages, all.bytes = all.pages+took.pages, all.bytes+took.bytes
			} else {
				without = append(without, p)
			}
		}
	}
	n := int64(b.runs)
	fmt.Printf("%d viewers took %d pages, %d kB in each run\n", viewersCount, all.pages/n, all.bytes/n/1000)
	speed, cpu := func(p pace) float64 { return p.perSecond }, func(p pace) float64 { return p.cpu }
	err := b.out.add(row, unit, pick(with, speed), pick(without, speed), "nobody looks")
	if with[0].cpu > 0 {
		err = errors.Join(err, b.out.add(row+"-cpu", "µs", pick(with, cpu), pick(without, cpu), "nobody looks; processor time of both processes and the viewers"))
	}
	return err
}

// seen is what viewers took.
type seen struct{ pages, bytes int64 }

// crowd is who looks.
type crowd struct {
	site         string
	pages, bytes atomic.Int64
	failed       sync.Map // what went wrong, by its text
}

func (c *crowd) count() seen { return seen{c.pages.Load(), c.bytes.Load()} }

// wrong is what went wrong, if anything did.
func (c *crowd) wrong() (err error) {
	c.failed.Range(func(text, _ any) bool {
		err = fmt.Errorf("a viewer: %v", text)
		return false
	})
	return err
}

// look has all look until the function that it returns is called.
func (c *crowd) look(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for i := range viewersCount {
		all.Go(func() {
			if err := c.viewer(ctx, viewed[i%len(viewed)]); err != nil && ctx.Err() == nil {
				c.failed.Store(err.Error(), true)
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// viewer is what a browser does that has a page open: it hears what changed, and takes the page again.
func (c *crowd) viewer(ctx context.Context, page string) error {
	browser := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2}}
	defer browser.CloseIdleConnections()
	events, err := c.get(ctx, browser, "api/v1/events")
	if err != nil {
		return err
	}
	defer events.Close()
	lines := bufio.NewScanner(events)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "id: ") { // one event has several topics
			continue
		}
		name := page
		if strings.Contains(page, "%s") {
			job, err := c.newest(ctx, browser)
			if err != nil {
				return err
			}
			name = fmt.Sprintf(page, job)
		}
		body, err := c.get(ctx, browser, name)
		if err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, body)
		body.Close()
		if err != nil {
			return err
		}
		c.pages.Add(1)
		c.bytes.Add(n)
		select {
		case <-time.After(viewersPause):
		case <-ctx.Done():
			return nil
		}
	}
	return lines.Err()
}

func (c *crowd) get(ctx context.Context, browser *http.Client, path string) (io.ReadCloser, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, c.site+path, nil)
	if err != nil {
		return nil, err
	}
	r, err := browser.Do(q)
	if err != nil {
		return nil, err
	}
	if r.StatusCode != http.StatusOK {
		r.Body.Close()
		return nil, fmt.Errorf("%s: %s", path, r.Status)
	}
	return r.Body, nil
}

// newest is the newest job.
func (c *crowd) newest(ctx context.Context, browser *http.Client) (string, error) {
	body, err := c.get(ctx, browser, "api/v1/jobs?limit=1")
	if err != nil {
		return "", err
	}
	defer body.Close()
	var list struct{ Jobs []struct{ ID string } }
	if err := json.NewDecoder(body).Decode(&list); err != nil {
		return "", err
	}
	if len(list.Jobs) == 0 {
		return "", fmt.Errorf("there is no job")
	}
	return list.Jobs[0].ID, nil
}

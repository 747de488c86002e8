package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// viewersCount is the number of viewers of the pages, each with a separate browser.
	viewersCount = 50
	// viewersPause is how long the pages' script waits between two refreshes.
	viewersPause = time.Second
	// viewersTime is how long assignments are measured with viewers, and as long without: each
	// viewer has loaded the page twice by then.
	viewersTime = 20 * time.Second
)

// viewed are the viewers' pages, one after the other; %s is the newest job.
var viewed = []string{"", "jobs", "jobs/%s", "jobs/%s", "launchers"}

// viewersCost compares work with viewers of the pages with the same work without. The viewers' own
// processor time on this machine is part of the cost.
func viewersCost(ctx context.Context, b *bench) error {
	return errors.Join(b.viewedTasks(ctx), b.viewedAssignments(ctx))
}

// viewedTasks measures tasks that do nothing, on a cluster.
func (b *bench) viewedTasks(ctx context.Context) error {
	const row = "viewers-noop-tasks"
	if !wanted(row, b.names) {
		return nil
	}
	s, err := startSite(ctx, b, false, usualShape)
	defer s.stop()
	if err != nil {
		return err
	}
	return b.viewed(row, "tasks/s", func(order [2]bool) (both sides, err error) {
		for _, look := range order {
			c, stop := &crowd{site: "http://" + s.http + "/"}, func() {}
			if look {
				stop = c.look(ctx)
			}
			took, err := s.program(ctx, b, "noop", fmt.Sprint(noopTasksCount))
			stop()
			if err = errors.Join(err, c.wrong()); err != nil {
				return both, err
			}
			both.take(look, pace{perSecond: noopTasksCount / took.Seconds()}, c.count())
		}
		return both, nil
	})
}

// viewedAssignments measures assignments through the plug-in, as the rows assign-... do, while the
// change rows go to history and to the pages.
func (b *bench) viewedAssignments(ctx context.Context) error {
	s := assignShape{launchers: 500, pools: 100, jobs: 1000}
	for _, name := range strings.Split(b.policies, ",") {
		row := fmt.Sprintf("viewers-assign-%s-%v", name, s)
		if !wanted(row, b.names) {
			continue
		}
		if err := b.viewed(row, "1/s", func(order [2]bool) (sides, error) { return b.viewedRun(ctx, name, s, order) }); err != nil {
			return fmt.Errorf("%s: %w", row, err)
		}
	}
	return nil
}

// viewedRun measures assignments in the steady state of one cluster, where all viewers have a page
// already, or there are none. It measures both in an order and then in the reverse order, so that a
// cluster's slowdown over time affects both.
func (b *bench) viewedRun(ctx context.Context, name string, s assignShape, order [2]bool) (both sides, err error) {
	around := surroundings(name, true)
	around.shown = true
	a, err := b.newAssigner(ctx, name, true, around)
	if err != nil {
		return both, err
	}
	defer a.close()
	const ends, rounds = 1000, 20
	if err := a.fill(s, s.launchers*assignSlots+assignPending+ends*rounds); err != nil {
		return both, err
	}
	work := func() (pace, error) { // with new jobs in place of ended ones, in all pools in turn
		for range rounds {
			if err := a.submit(poolName(both.jobs%s.pools), ends); err != nil {
				return pace{}, err
			}
			both.jobs++
		}
		return a.pace(ends, rounds)
	}
	var with, without []pace
	for _, look := range []bool{order[0], order[1], order[1], order[0]} {
		c, stop := &crowd{site: "http://" + a.window.Address() + "/"}, func() {}
		if look {
			stop = c.look(ctx)
		}
		for warm := time.Now().Add(viewersTime / 4); err == nil && (time.Now().Before(warm) || look && c.pages.Load() < viewersCount && c.wrong() == nil); {
			_, err = work()
		}
		before, took := c.count(), []pace{}
		for end := time.Now().Add(viewersTime); err == nil && time.Now().Before(end); {
			var p pace
			p, err = work()
			took = append(took, p)
		}
		after := c.count()
		stop()
		if err = errors.Join(err, c.wrong(), ctx.Err()); err != nil {
			return both, err
		}
		if look {
			with, both.pages, both.bytes = append(with, took...), both.pages+after.pages-before.pages, both.bytes+after.bytes-before.bytes
		} else {
			without = append(without, took...)
		}
	}
	both.with, both.without = joinedPace(with), joinedPace(without)
	return both, nil
}

// joinedPace is the pace of several stretches with equally many assignments.
func joinedPace(of []pace) (all pace) {
	for _, p := range of {
		all.perSecond += 1 / p.perSecond
		all.cpu += p.cpu / float64(len(of))
	}
	all.perSecond = float64(len(of)) / all.perSecond
	return all
}

// sides are a run with viewers and one without, and the viewers' use.
type sides struct {
	with, without pace
	seen
	jobs int // submitted meanwhile
}

func (s *sides) take(look bool, p pace, took seen) {
	if look {
		s.with, s.seen = p, took
	} else {
		s.without = p
	}
}

// viewed measures both sides in turn. It reports the viewers' use, and the ratios of the two sides
// of each run: where a machine's speed varies, they say more than the sides' medians.
func (b *bench) viewed(row, unit string, measure func(order [2]bool) (sides, error)) error {
	var all []sides
	for run := range b.runs {
		both, err := measure([2]bool{run%2 == 0, run%2 != 0})
		if err != nil {
			return err
		}
		all = append(all, both)
	}
	with := func(get func(pace) float64) []float64 {
		return pick(all, func(s sides) float64 { return get(s.with) })
	}
	without := func(get func(pace) float64) []float64 {
		return pick(all, func(s sides) float64 { return get(s.without) })
	}
	speed, cpu := func(p pace) float64 { return p.perSecond }, func(p pace) float64 { return p.cpu }
	fmt.Printf("%d viewers took %.0f pages, %.0f kB in a run; run by run the ratio is %.3f in the median\n", viewersCount,
		median(pick(all, func(s sides) float64 { return float64(s.pages) })), median(pick(all, func(s sides) float64 { return float64(s.bytes) / 1000 })),
		median(pick(all, func(s sides) float64 { return s.with.perSecond / s.without.perSecond })))
	err := b.out.add(row, unit, with(speed), without(speed), "nobody looks")
	if all[0].with.cpu > 0 {
		err = errors.Join(err, b.out.add(row+"-cpu", "µs", with(cpu), without(cpu), "nobody looks; processor time of both processes and the viewers"))
	}
	return err
}

// seen is the viewers' use.
type seen struct{ pages, bytes int64 }

// crowd is the viewers.
type crowd struct {
	site         string
	pages, bytes atomic.Int64
	failed       sync.Map // errors, by their text
}

func (c *crowd) count() seen { return seen{c.pages.Load(), c.bytes.Load()} }

// wrong is the viewers' errors, if any.
func (c *crowd) wrong() (err error) {
	c.failed.Range(func(text, _ any) bool {
		err = fmt.Errorf("a viewer: %v", text)
		return false
	})
	return err
}

// look starts all viewers, until the function that it returns is called.
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

// viewer acts as a browser with an open page: it receives change events, and reloads the page.
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

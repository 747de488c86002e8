package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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

// viewersCost holds tasks that do nothing, while people look at the pages, against the same while
// nobody does. What the viewers' own side takes on this machine is part of the cost.
func viewersCost(ctx context.Context, b *bench) error {
	s, err := startSite(ctx, b, false)
	defer s.stop()
	if err != nil {
		return err
	}
	var with, without []float64
	var asked, bytes float64
	for run := range b.runs {
		for i := range 2 {
			look := (run+i)%2 == 0
			seen, stop := &crowd{site: "http://" + s.http + "/"}, func() {}
			if look {
				stop = seen.look(ctx)
			}
			took, err := s.program(ctx, b, "noop", fmt.Sprint(noopTasksCount))
			stop()
			if err == nil {
				err = seen.wrong()
			}
			if err != nil {
				return err
			}
			rate := noopTasksCount / took.Seconds()
			if !look {
				without = append(without, rate)
				continue
			}
			with = append(with, rate)
			asked += float64(seen.pages.Load()) / took.Seconds()
			bytes += float64(seen.bytes.Load()) / took.Seconds()
		}
	}
	n := float64(b.runs)
	fmt.Printf("%d viewers took %.1f pages a second, %.0f kB a second\n", viewersCount, asked/n, bytes/n/1000)
	return b.out.add("viewers-noop-tasks", "tasks/s", with, without, "nobody looks")
}

// crowd is who looks.
type crowd struct {
	site         string
	pages, bytes atomic.Int64
	failed       sync.Map // what went wrong, by its text
}

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

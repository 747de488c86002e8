package client

import (
	"fmt"
	"sync"
	"time"
)

// WaitVariable is the environment variable with the time to wait for a manager that does not
// answer, such as 10m.
const WaitVariable = "HAMADRYAD_WAIT"

// silenceMax is how long a call may be without an answer before it is reported to a person. A wait
// that ends less than silenceLeast later is not reported.
const (
	silenceMax   = 2 * time.Second
	silenceLeast = 2 * time.Second
)

func waitOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("$%s is %.64q: say for how long to wait for a manager that does not answer, such as 30s or 10m", WaitVariable, text)
	}
	return d, nil
}

// silence reports once, when a call has had no answer for silenceMax, that there is none, since
// when, and until when the client waits.
type silence struct {
	c     *Client
	began time.Time

	mu    sync.Mutex
	timer *time.Timer // nil: no report is due
	until time.Time
	over  bool
}

func (c *Client) listen(began time.Time) *silence { return &silence{c: c, began: began} }

// say schedules the report, unless an answer comes before; the last until counts.
func (s *silence) say(until time.Time) {
	if s.c.options.Waiting == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = until
	if s.timer == nil && !s.over {
		s.timer = time.AfterFunc(time.Until(s.began.Add(silenceMax)), s.tell)
	}
}

func (s *silence) tell() {
	s.mu.Lock()
	over, until := s.over, s.until
	s.over = true
	s.mu.Unlock()
	until = s.c.waitsUntil(s.began, until)
	if over || time.Until(until) < silenceLeast {
		return
	}
	s.c.options.Waiting(fmt.Sprintf("the manager at %s has not answered since %s; it is waited for until %s, or as long as $%s says (hamadryad --wait)",
		s.c.address, s.began.Format(time.TimeOnly), until.Format(time.TimeOnly), WaitVariable))
}

// end is called when the call has ended.
func (s *silence) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if s.timer != nil {
		s.timer.Stop()
	}
}

// waitsUntil is until when a call waits. For a manager that has never answered, and without a
// connection, Connect bounds the wait.
func (c *Client) waitsUntil(began, until time.Time) time.Time {
	if c.heard.Load() || !c.conn.Absent() {
		return until
	}
	if soon := began.Add(c.options.Connect); soon.Before(until) {
		return soon
	}
	return until
}

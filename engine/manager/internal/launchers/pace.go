package launchers

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Rate limits of one launcher's stream: a burst, and then a rate per second. Nothing above them is
// lost: the stream is read slower, and the launcher has to wait. A launcher that runs 5,000 tasks
// in a second stays far below.
const (
	reportsPerSecond = 20_000
	reportsBurst     = 200_000
	bytesPerSecond   = 16 << 20
	bytesBurst       = 128 << 20
	// joinReports is the number of reports that a join counts as, beside its bytes: the core
	// compares the launcher's whole inventory.
	joinReports = 1_000
	// paceLogEvery is the least time between two lines about one launcher.
	paceLogEvery = time.Minute
	// pauseMax bounds one pause, so that received messages still count as signs of life.
	pauseMax = 5 * time.Second
	// fetchesMax is how many programs and plans are sent to one launcher at once. Further ones
	// wait.
	fetchesMax = 8
)

// pace is by how much a launcher exceeds its rates. It outlives the launcher's streams. Safe for
// concurrent use.
type pace struct {
	mu             sync.Mutex
	reports, bytes meter
	logged         time.Time
	fetches        chan struct{} // has an entry for each program or plan being sent to it
}

func newPace() *pace {
	return &pace{
		reports: meter{perSecond: reportsPerSecond, burst: reportsBurst}, bytes: meter{perSecond: bytesPerSecond, burst: bytesBurst},
		fetches: make(chan struct{}, fetchesMax),
	}
}

// pace is the rate limit of a launcher by its name. A name unknown to the table has a fresh one:
// where launchers prove their names, its requests are refused anyway.
func (l *Table) pace(name string) *pace {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.byName[name]
	if r == nil {
		return newPace()
	}
	if r.pace == nil {
		r.pace = newPace()
	}
	return r.pace
}

// fetch waits until one more program or plan may be sent. The caller calls done after the transfer.
func (p *pace) fetch(ctx context.Context) (done func(), err error) {
	select {
	case p.fetches <- struct{}{}:
		return func() { <-p.fetches }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// meter is a rate limit. It keeps the time at which everything taken so far would have been due.
type meter struct {
	perSecond, burst int64
	due              time.Time
}

// takeBytes counts n, and returns how long to wait before more is taken.
func (m *meter) takeBytes(n int64, now time.Time) time.Duration {
	if m.due.Before(now) {
		m.due = now
	}
	m.due = m.due.Add(time.Duration(float64(n) / float64(m.perSecond) * float64(time.Second)))
	return m.due.Sub(now) - time.Duration(m.burst)*time.Second/time.Duration(m.perSecond)
}

// wait counts received messages, and waits while they exceed the launcher's rates.
func (p *pace) wait(ctx context.Context, log *slog.Logger, launcher string, reports, bytes int) error {
	now := time.Now()
	p.mu.Lock()
	pause := min(max(p.reports.takeBytes(int64(reports), now), p.bytes.takeBytes(int64(bytes), now)), pauseMax)
	say := pause > 0 && now.Sub(p.logged) >= paceLogEvery
	if say {
		p.logged = now
	}
	p.mu.Unlock()
	if pause <= 0 {
		return nil
	}
	if say {
		log.Warn("a launcher sends more than it may: it is read slower, and its jobs wait for that; look after its machine", "launcher", launcher,
			"reportsPerSecond", reportsPerSecond, "bytesPerSecond", bytesPerSecond)
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

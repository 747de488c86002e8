package schedules

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// calendar is a core and a keeper of its schedules, in virtual time that begins at a moment.
type calendar struct {
	t      *testing.T
	begin  time.Time // the moment
	start  time.Time // of the bubble then
	core   *core.Core
	keeper *Keeper
	inputs chan *wire.Input
	client uint64
	told   []*wire.ScheduleDue
	runs   map[uint64]*wire.Run // of the schedule, by number
	stop   context.CancelFunc
	ended  chan struct{}
}

func newCalendar(t *testing.T, begin string) *calendar {
	at, err := time.Parse(time.RFC3339, begin)
	if err != nil {
		t.Fatal(err)
	}
	c := &calendar{t: t, begin: at, start: time.Now(), core: core.New(core.DefaultSettings()), inputs: make(chan *wire.Input), runs: map[uint64]*wire.Run{}}
	c.step(wire.NewInput(&wire.ManagerStart{Term: 1}))
	c.run()
	return c
}

func (c *calendar) now() scheduler.Time {
	return scheduler.Time(c.begin.Add(time.Since(c.start)).UnixNano())
}

// run starts the keeper, as a manager does.
func (c *calendar) run() {
	ctx, stop := context.WithCancel(c.t.Context())
	c.keeper = New(c.core.Schedules(), c.now, func(ctx context.Context, in *wire.Input) error {
		select {
		case c.inputs <- in:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, slog.New(slog.DiscardHandler))
	c.stop, c.ended = stop, make(chan struct{})
	go func() {
		defer close(c.ended)
		c.keeper.Run(ctx)
	}()
}

// halt ends the keeper.
func (c *calendar) halt() {
	c.stop()
	<-c.ended
}

func (c *calendar) step(in *wire.Input) {
	for _, a := range c.core.Step(&wire.Batch{At: int64(c.now()), Inputs: []*wire.Input{in}}) {
		switch a := a.(type) {
		case core.SchedulesChanged:
			for _, s := range a.Schedules {
				for _, r := range s.Runs {
					c.runs[r.Number] = r
				}
			}
			if c.keeper != nil {
				c.keeper.Apply(a)
			}
		case core.Reply:
			if a.Failure != nil {
				c.t.Fatal(a.Failure.Message)
			}
			if a.Run.GetKey() != nil { // the command takes no time
				c.client++
				c.step(wire.NewInput(&wire.EndRun{Client: c.client, Principal: &wire.Principal{Name: "u"}, Key: a.Run.Key, Succeeded: true}))
			}
		}
	}
	if err := c.core.Check(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *calendar) add(cron, zone string) {
	c.client++
	c.step(wire.NewInput(&wire.AddSchedule{Client: c.client, Principal: &wire.Principal{Name: "u"}, Name: "s", Definition: &wire.ScheduleDefinition{
		Cron: cron, Zone: zone, StartDeadlineNs: int64(time.Hour), Command: []string{"run"}, Folder: "/",
	}}))
}

// pass lets time pass. A runner takes each run at once.
func (c *calendar) pass(d time.Duration) {
	end := time.After(d)
	for {
		select {
		case in := <-c.inputs:
			c.told = append(c.told, in.GetScheduleDue())
			c.step(in)
			c.client++
			c.step(wire.NewInput(&wire.TakeRun{Client: c.client, Principal: &wire.Principal{Name: "u"}, Runner: "r"}))
		case <-end:
			return
		}
	}
}

// due are the due times of all runs, in a zone.
func (c *calendar) due(zone string) (list []string) {
	in, err := time.LoadLocation(zone)
	if err != nil {
		c.t.Fatal(err)
	}
	for n := uint64(1); n <= uint64(len(c.runs)); n++ {
		list = append(list, time.Unix(0, c.runs[n].Due).In(in).Format("02 15:04 -0700"))
	}
	return list
}

// The keeper tells the core of each due time when it comes, also on the days on which clocks are
// set.
func TestKeeperOverDaylightSaving(t *testing.T) {
	for _, x := range []struct{ begin, cron, want string }{
		// Clocks in Berlin go from 02:00 to 03:00 on 29 March, and from 03:00 to 02:00 on 25 October.
		{"2026-03-28T12:00:00Z", "30 2 * * *", "29 03:00 +0200, 30 02:30 +0200"},
		{"2026-03-28T22:00:00Z", "0 */2 * * *", "29 00:00 +0100, 29 04:00 +0200, 29 06:00 +0200"},
		{"2026-10-24T12:00:00Z", "30 2 * * *", "25 02:30 +0200, 26 02:30 +0100"},
		{"2026-10-24T23:30:00Z", "0,30 * * * *", "25 02:00 +0200, 25 02:30 +0200, 25 02:00 +0100, 25 02:30 +0100, 25 03:00 +0100"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCalendar(t, x.begin)
			c.add(x.cron, "Europe/Berlin")
			want := strings.Split(x.want, ", ")
			for n := 0; len(c.runs) < len(want) && n < 100; n++ {
				c.pass(30 * time.Minute)
			}
			c.halt()
			if got := c.due("Europe/Berlin"); !slices.Equal(got, want) {
				t.Errorf("%s from %s: %v, want %v", x.cron, x.begin, got, want)
			}
			for i, m := range c.told {
				if m.Passed != 0 || i > 0 && m.Due <= c.told[i-1].Due {
					t.Errorf("told %v", m)
				}
			}
			if s := c.keeper.Counts(); s.Due != uint64(len(want)) || s.Starts != s.Due || s.Succeeded != s.Due || s.Skipped+s.Missed != 0 || s.Late != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// After a time without a manager the last due time alone gets a run, and the others are missed. A
// manager that starts again within an interval tells no due time twice.
func TestKeeperAfterARestartOnTheDayWhenClocksAreSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCalendar(t, "2026-10-24T22:10:00Z") // 00:10 in Berlin
		c.add("0 * * * *", "Europe/Berlin")
		c.pass(time.Hour) // 01:00
		c.halt()
		c.run()
		c.pass(10 * time.Minute)
		if len(c.runs) != 1 {
			t.Fatalf("runs at %v", c.due("Europe/Berlin"))
		}
		c.halt()
		time.Sleep(3 * time.Hour) // 02:00, 02:00 again and 03:00 pass
		c.run()
		c.pass(time.Hour) // and 04:00
		c.halt()
		want := []string{"25 01:00 +0200", "25 03:00 +0100", "25 04:00 +0100"}
		if got := c.due("Europe/Berlin"); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		if s := c.core.Schedules()[0]; s.Missed != 2 || s.Skipped != 0 {
			t.Errorf("%d missed, %d skipped", s.Missed, s.Skipped)
		}
		if s := c.keeper.Counts(); s.Due != 4 || s.Missed != 2 || s.Starts != 2 || s.InForce != 1 {
			t.Errorf("since the last start: %+v", s)
		}
	})
}

// A run that no runner takes waits, is late, and is missed when its start deadline is over.
func TestRunsWithoutARunnerAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCalendar(t, "2026-06-01T00:30:00Z")
		c.add("0 1 * * *", "UTC")
		time.Sleep(30 * time.Minute)
		c.step(<-c.inputs)
		time.Sleep(20 * time.Minute)
		if s := c.keeper.Counts(); s.Waiting != 1 || s.Late != 20*time.Minute || s.Due != 1 || s.Starts != 0 {
			t.Errorf("%+v", s)
		}
		time.Sleep(time.Hour)
		c.step(wire.Tick())
		if s := c.keeper.Counts(); s.Waiting != 0 || s.Late != 0 || s.Untaken != 1 {
			t.Errorf("%+v", s)
		}
		c.halt()
	})
}

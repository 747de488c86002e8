package query

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/faultsim"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/plugins/fifo"
	"github.com/hamadryad/hamadryad/plugins/hfsp"
	"github.com/hamadryad/hamadryad/policytest/policies"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

var seeds = flag.Int("seeds", 6, "how many histories the model is held against the core in")

// A model that gets each step's changes answers like the core, and like a model made of the core's
// whole state, in histories with any fault.
func TestLikeTheCore(t *testing.T) {
	choice := []faultsim.Policy{
		{Name: "fifo", New: fifo.New},
		{Name: "hfsp", New: hfsp.New},
		{Name: "suspend", New: policies.Suspend},
		{Name: "gang", New: policies.Gang},
		{Name: "admit", New: policies.Admit},
	}
	for seed := range *seeds {
		t.Run(fmt.Sprint(seed+1), func(t *testing.T) {
			t.Parallel()
			o := oracle{t: t}
			s := faultsim.New(faultsim.Options{Seed: uint64(seed + 1), Policies: choice, OnFacts: o.told})
			if err := s.Run(); err != nil {
				t.Error(err)
			}
			o.begin(s.Core)
		})
	}
}

// oracle compares a model with its core.
type oracle struct {
	t     *testing.T
	core  *core.Core
	model *Model
	steps int
}

// oracleEvery is at which steps, one in so many, the answers are compared, and wholeEvery that a
// model is made of all.
const (
	oracleEvery = 16
	wholeEvery  = 4 * oracleEvery
)

// announcedMax is up to which number jobs are looked for among those that are announced.
const announcedMax = 50

func (o *oracle) told(c *core.Core, f core.Changes) error {
	if o.core != c {
		o.begin(c)
		return nil
	}
	o.model.Enqueue(f)
	if o.steps++; o.steps%oracleEvery != 0 {
		return nil
	}
	if err := o.compare(o.model, c); err != nil || o.steps%wholeEvery != 0 {
		return err
	}
	return o.whole(c)
}

// begin continues with another core, of which a new model is made.
func (o *oracle) begin(c *core.Core) {
	if o.model != nil {
		o.model.Close()
	}
	o.core, o.model = c, of(c)
	o.t.Cleanup(o.model.Close)
}

func of(c *core.Core) *Model {
	set := c.Settings()
	return NewModel(Bounds{JobsKept: set.JobsKept, AttemptsKept: set.AttemptsKept}, c.AllChanges())
}

// whole compares a model of everything with the core.
func (o *oracle) whole(c *core.Core) error {
	m := of(c)
	defer m.Close()
	if err := o.compare(m, c); err != nil {
		return fmt.Errorf("made of all: %w", err)
	}
	got, want := indexed(o.t, o.model, c), indexed(o.t, m, c)
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			return fmt.Errorf("found is\n%+v, by one that is made of all\n%+v", got[i], want[i])
		}
	}
	return nil
}

// indexed returns all that a model finds by pool, user and launcher, and all that waits. A model
// that applied each step's changes must equal one built from the whole state.
func indexed(t *testing.T, m *Model, c *core.Core) (found []any) {
	ctx := t.Context()
	add := func(x any, err error) {
		if err != nil {
			t.Error(err)
		}
		found = append(found, x)
	}
	jobs, _, err := m.find(ctx, true, &Filter{})
	add(len(jobs), err)
	for _, j := range jobs {
		for _, f := range []Filter{{Pool: &j.Pool}, {User: &j.User}, {States: []wire.JobState{j.State}}, {Name: j.Name}} {
			fit, _, err := m.find(ctx, true, &f)
			ids := []uint64{}
			for _, x := range fit {
				ids = append(ids, x.Job)
			}
			add(ids, err)
		}
	}
	for _, l := range c.Launchers() {
		id := scheduler.LauncherID(l.Launcher)
		on, err := m.OnLauncher(ctx, id)
		add(on, err)
		of, err := m.jobsOn(ctx, id)
		add(of, err)
	}
	waiting, err := m.Waiting(ctx)
	add(len(waiting), err)
	for i := range waiting {
		w := &waiting[i]
		add(fmt.Sprint(w.Summary.Job, w.Since, w.Ready, w.Width, w.Needs, w.Memory, w.Reasons(true), w.Reasons(false)), nil)
	}
	m.readLocked(func() {
		add(fmt.Sprint(m.up, m.slots, m.announced, m.decides), nil)
		add(fmt.Sprint(m.launchers.IDs()), nil)
	})
	return found
}

func (o *oracle) compare(m *Model, c *core.Core) error {
	ctx := o.t.Context()
	stats, _, err := m.Stats(ctx)
	if want := c.Stats(); err != nil || stats.Outcomes != want.Outcomes || stats.Rounds != want.Rounds || stats.Jobs != want.Jobs {
		return fmt.Errorf("it counts %v, the core %v: %w", stats, want, err)
	}
	jobs, _, err := m.find(ctx, true, &Filter{})
	err = cmp.Or(err, same("jobs", jobs, c.Jobs(true)))
	launchers, _ := m.Launchers(ctx)
	if err = cmp.Or(err, same("launchers", launchers, c.Launchers())); err != nil {
		return err
	}
	for id := range scheduler.JobID(announcedMax) {
		if may, err := m.MayCome(ctx, id); err != nil || c.Awaits(id) && !may {
			return fmt.Errorf("%v is announced, and may not come: %w", id, err)
		}
	}
	for _, j := range jobs {
		if err := o.compareJob(m, c, scheduler.JobID(j.Job)); err != nil {
			return fmt.Errorf("%v: %w", scheduler.JobID(j.Job), err)
		}
	}
	return nil
}

func (o *oracle) compareJob(m *Model, c *core.Core, id scheduler.JobID) error {
	got, known, err := m.JobStatus(o.t.Context(), id, true)
	want, _ := c.JobStatus(id, true)
	if err != nil || !known {
		return fmt.Errorf("it is known: %t, %w", known, err)
	}
	for _, a := range want.Attempts {
		of, known, _ := m.JobOfAttempt(o.t.Context(), scheduler.AttemptID(a.Attempt))
		if there, _ := c.JobOfAttempt(scheduler.AttemptID(a.Attempt)); !known || of != there {
			return fmt.Errorf("attempt %d is of %v, known: %t", a.Attempt, of, known)
		}
	}
	if !wire.JobOver(want.GetSummary().GetState()) {
		kept := c.Settings().AttemptsKept
		got.Attempts, want = inOrder(got.Attempts, kept), proto.CloneOf(want)
		want.Attempts = inOrder(want.Attempts, kept)
	}
	if !proto.Equal(got, want) {
		return fmt.Errorf("it is\n%v, want\n%v\n%w", got, want, difference(got, want))
	}
	return nil
}

// inOrder has attempts that ended in one step in order of id: the core has them as they came. When
// as many are there as are kept, those of the first of these steps may be others, and are left out.
func inOrder(list []*wire.AttemptStatus, kept int) []*wire.AttemptStatus {
	ended := slices.IndexFunc(list, func(a *wire.AttemptStatus) bool { return a.Ended == 0 })
	if ended < 0 {
		ended = len(list)
	}
	over := slices.SortedFunc(slices.Values(list[:ended]), func(x, y *wire.AttemptStatus) int {
		return cmp.Or(cmp.Compare(x.Ended, y.Ended), cmp.Compare(x.Attempt, y.Attempt))
	})
	if len(over) >= kept {
		first := over[0].Ended
		over = slices.DeleteFunc(over, func(a *wire.AttemptStatus) bool { return a.Ended == first })
	}
	return slices.Concat(over, list[ended:])
}

func same[M proto.Message](what string, got, want []M) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d %s, want %d", len(got), what, len(want))
	}
	for i := range got {
		if !proto.Equal(got[i], want[i]) {
			return fmt.Errorf("of %s: %v, want %v", what, got[i], want[i])
		}
	}
	return nil
}

// difference names the fields that differ.
func difference(got, want *wire.JobStatus) error {
	var err error
	x, y := reflect.ValueOf(got).Elem(), reflect.ValueOf(want).Elem()
	for i := range x.NumField() {
		if f := x.Type().Field(i); f.IsExported() && fmt.Sprint(x.Field(i)) != fmt.Sprint(y.Field(i)) {
			err = errors.Join(err, fmt.Errorf("%s: %v, want %v", f.Name, x.Field(i), y.Field(i)))
		}
	}
	return err
}

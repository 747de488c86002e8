package schedwire

import (
	"slices"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// addAhead appends a flag to a column of n rows, the last of which is its own. The column is empty
// while no flag is set.
func addAhead(column []bool, n int, ahead bool) []bool {
	if !ahead && len(column) == 0 {
		return nil
	}
	for len(column) < n-1 {
		column = append(column, false)
	}
	return append(column, ahead)
}

// putAhead is addAhead for a packed list. A flag is one byte.
func (f fields) putAhead(field, n int, ahead bool) {
	if !ahead && len(f[field]) == 0 {
		return
	}
	for len(f[field]) < n-1 {
		f.putBool(field, false)
	}
	f.putBool(field, ahead)
}

// anyAhead reports whether something may be launched ahead.
func anyAhead(offers []scheduler.Offer) bool {
	return slices.ContainsFunc(offers, func(o scheduler.Offer) bool { return len(o.Ahead) > 0 })
}

func (c *AheadRooms) add(list []scheduler.AheadRoom) {
	c.Rows = append(c.Rows, uint32(len(list)))
	for _, x := range list {
		c.Job, c.Stage, c.Count = append(c.Job, uint64(x.Job)), append(c.Stage, uint32(x.Stage)), append(c.Count, int64(x.Count))
		c.PerLaunch = append(c.PerLaunch, int64(x.PerLaunch))
	}
}

// aheadRows are the rows of a message AheadRooms.
type aheadRows struct {
	spans spans
	m     *AheadRooms
}

func readAhead(r *reader, n int, m *AheadRooms) aheadRows {
	if len(m.GetPerLaunch()) > 0 {
		r.same("offers ahead for a launch", len(m.GetCount()), len(m.GetPerLaunch()))
	}
	return aheadRows{r.spans("offers ahead", n, m.GetRows(), len(m.GetJob()), len(m.GetStage()), len(m.GetCount())), m}
}

func (a *aheadRows) next() []scheduler.AheadRoom {
	from, to := a.spans.next()
	if from == to {
		return nil
	}
	list := make([]scheduler.AheadRoom, 0, to-from)
	for i := from; i < to; i++ {
		x := scheduler.AheadRoom{Job: scheduler.JobID(a.m.Job[i]), Stage: scheduler.StageID(a.m.Stage[i]), Count: int(a.m.Count[i])}
		if len(a.m.PerLaunch) > 0 {
			x.PerLaunch = int(a.m.PerLaunch[i])
		}
		list = append(list, x)
	}
	return list
}

// addAhead appends what may be launched ahead on one launcher.
func (e *directEncoder) addAhead(list []scheduler.AheadRoom) {
	f := fields(e.ahead[:])
	f.put(1, uint64(len(list)))
	for _, x := range list {
		f.put(2, uint64(x.Job))
		f.put(3, uint64(x.Stage))
		f.put(4, uint64(x.Count))
		f.put(5, uint64(x.PerLaunch))
	}
}

// ahead reads what may be launched ahead on one launcher.
func (d *directDecoder) ahead(c *rowColumns) []scheduler.AheadRoom {
	n, _ := c.row(d)
	if n == 0 {
		return nil
	}
	list := make([]scheduler.AheadRoom, n)
	for i := range list {
		list[i] = scheduler.AheadRoom{
			Job: scheduler.JobID(c.columns[2].next()), Stage: scheduler.StageID(d.uint32(&c.columns[3])), Count: int(c.columns[4].next()),
		}
		if len(c.columns[5].data) > 0 {
			list[i].PerLaunch = int(c.columns[5].next())
		}
	}
	return list
}

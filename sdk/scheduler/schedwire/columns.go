package schedwire

import (
	"math"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// The column groups that several messages share. Each has an add function that appends one row and
// an iterator that returns the rows in order.

func (c *Ids) size() int { return len(c.GetId()) }

// addIDs appends one row of ids.
func addIDs[T ~uint64](c **Ids, ids []T) {
	if *c == nil {
		*c = &Ids{}
	}
	(*c).Rows = count((*c).Rows, len(ids))
	for _, id := range ids {
		(*c).Id = append((*c).Id, uint64(id))
	}
}

// dropRows omits the row counts if all rows are empty.
func (c *Ids) dropRows() *Ids {
	if c.size() == 0 {
		return nil
	}
	return c
}

type idRows[T ~uint64] struct {
	spans spans
	ids   []uint64
	mem   *arena[T]
}

func readIDs[T ~uint64](r *reader, where string, n int, c *Ids, mem *arena[T]) idRows[T] {
	return idRows[T]{r.spans(where, n, c.GetRows(), c.size()), c.GetId(), mem}
}

func (c *idRows[T]) next() []T {
	left := c.spans.rest(len(c.ids))
	from, to := c.spans.next()
	out := c.mem.take(to-from, left)
	for i := range out {
		out[i] = T(c.ids[from+i])
	}
	return out
}

func (c *SlotCounts) add(w *writer, slots []scheduler.SlotCount) {
	c.Rows = count(c.Rows, len(slots))
	for _, s := range slots {
		c.Kind = append(c.Kind, w.str(s.Kind))
		c.Count = append(c.Count, int64(s.Count))
	}
}

type slotRows struct {
	r     *reader
	spans spans
	c     *SlotCounts
}

func readSlots(r *reader, where string, n int, c *SlotCounts) slotRows {
	return slotRows{r, r.spans(where, n, c.GetRows(), len(c.GetKind()), len(c.GetCount())), c}
}

func (c *slotRows) next() []scheduler.SlotCount {
	left := c.spans.rest(len(c.c.GetKind()))
	from, to := c.spans.next()
	out := c.r.mem.slots.take(to-from, left)
	for i := range out {
		out[i] = scheduler.SlotCount{Kind: c.r.str(c.c.Kind[from+i]), Count: int(c.c.Count[from+i])}
	}
	return out
}

// addResources appends a row of amounts. Rows before the first amount were empty: it fills them in.
func addResources(c **ResourceCounts, w *writer, row int, r scheduler.Resources) {
	counts := r.Counts()
	if *c == nil {
		if len(counts) == 0 {
			return
		}
		*c = &ResourceCounts{}
	}
	for len((*c).Rows) < row {
		(*c).Rows = append((*c).Rows, 0)
	}
	(*c).Rows = count((*c).Rows, len(counts))
	for _, x := range counts {
		(*c).Kind = append((*c).Kind, w.str(x.Kind))
		(*c).Count = append((*c).Count, int64(x.Count))
	}
}

type resourceRows struct {
	r     *reader
	spans spans
	c     *ResourceCounts
}

// readResources reads n rows. The column may have fewer rows: the rest are empty.
func readResources(r *reader, where string, n int, c *ResourceCounts) resourceRows {
	rows := c.GetRows()
	if len(rows) > n {
		r.fail(where, "row counts for %d rows where there are %d", len(rows), n)
	}
	return resourceRows{r, r.spans(where, len(rows), rows, len(c.GetKind()), len(c.GetCount())), c}
}

func (c *resourceRows) next() scheduler.Resources {
	from, to := c.spans.next()
	if from == to {
		return scheduler.Resources{}
	}
	if to-from > scheduler.ResourceKindsMax {
		c.r.fail("resources", "a row of %d kinds where at most %d are allowed", to-from, scheduler.ResourceKindsMax)
		return scheduler.Resources{}
	}
	var few [scheduler.ResourceKindsMax]scheduler.ResourceCount
	for i := from; i < to; i++ {
		few[i-from] = scheduler.ResourceCount{Kind: c.r.str(c.c.Kind[i]), Count: int(c.c.Count[i])}
	}
	return scheduler.NewResources(few[:to-from]...)
}

func (c *Properties) add(w *writer, list []scheduler.Property) {
	c.Rows = count(c.Rows, len(list))
	for _, p := range list {
		c.Name = append(c.Name, w.str(p.Name))
		c.Value = append(c.Value, w.str(p.Value))
	}
}

type propertyRows struct {
	r     *reader
	spans spans
	c     *Properties
}

func readProperties(r *reader, where string, n int, c *Properties) propertyRows {
	return propertyRows{r, r.spans(where, n, c.GetRows(), len(c.GetName()), len(c.GetValue())), c}
}

func (c *propertyRows) next() []scheduler.Property {
	from, to := c.spans.next()
	if from == to {
		return nil
	}
	out := make([]scheduler.Property, to-from)
	for i := range out {
		out[i] = scheduler.Property{Name: c.r.str(c.c.Name[from+i]), Value: c.r.str(c.c.Value[from+i])}
	}
	return out
}

func (c *Stages) add(w *writer, stages []scheduler.Stage) {
	c.Rows = count(c.Rows, len(stages))
	for i := range stages {
		s := &stages[i]
		if int(s.ID) != i {
			w.fail("stage %d stands at place %d of its job's list; a stage's id is its place", s.ID, i)
		}
		c.Name = append(c.Name, w.str(s.Name))
		c.Groups = append(c.Groups, int64(s.Groups))
		c.Kind = append(c.Kind, w.str(s.Kind))
		c.Slots = append(c.Slots, int64(s.Slots))
		c.Shuffles = append(c.Shuffles, s.Shuffles)
		c.NoSuspend = append(c.NoSuspend, s.NoSuspend)
		c.Expected = append(c.Expected, int64(s.Expected))
		c.ExpectedBy = append(c.ExpectedBy, EstimateSource(checked(w, "source of an estimate", s.ExpectedBy, scheduler.EstimateNone, scheduler.EstimatePastRun)))
		addStageIDs(&c.After, s.After)
	}
}

// addStageIDs appends one row of stages.
func addStageIDs(c **Ids, list []scheduler.StageID) {
	ids := make([]uint64, len(list))
	for i, s := range list {
		ids[i] = uint64(s)
	}
	addIDs(c, ids)
}

type stageRows struct {
	r     *reader
	spans spans
	c     *Stages
	after idRows[uint64]
}

func readStages(r *reader, where string, n int, c *Stages) stageRows {
	all := len(c.GetName())
	if len(c.GetNoSuspend()) > 0 { // an earlier manager omits it
		r.same(where+" that are not suspended", all, len(c.NoSuspend))
	}
	if len(c.GetExpected()) > 0 || len(c.GetExpectedBy()) > 0 {
		r.same(where+" with expected times", all, len(c.GetExpected()), len(c.GetExpectedBy()))
	}
	return stageRows{
		r, r.spans(where, n, c.GetRows(), all, len(c.GetGroups()), len(c.GetKind()), len(c.GetSlots()), len(c.GetShuffles())), c,
		readIDs(r, where+" that others read", all, c.GetAfter(), &r.mem.stages),
	}
}

// stageIDs returns the next row of stages.
func (c *stageRows) stageIDs() []scheduler.StageID {
	var list []scheduler.StageID
	for _, id := range c.after.next() {
		if id > math.MaxUint32 {
			c.r.fail("stages that others read", "stage %d", id)
			return nil
		}
		list = append(list, scheduler.StageID(id))
	}
	return list
}

func (c *stageRows) next() []scheduler.Stage {
	from, to := c.spans.next()
	if from == to {
		return nil
	}
	out := make([]scheduler.Stage, to-from)
	for i := range out {
		j := from + i
		out[i] = scheduler.Stage{
			ID: scheduler.StageID(i), Name: c.r.str(c.c.Name[j]), Groups: int(c.c.Groups[j]),
			Kind: c.r.str(c.c.Kind[j]), Slots: int(c.c.Slots[j]), Shuffles: c.c.Shuffles[j],
			NoSuspend: len(c.c.NoSuspend) > 0 && c.c.NoSuspend[j], After: c.stageIDs(),
		}
		if len(c.c.Expected) > j && len(c.c.ExpectedBy) > j {
			out[i].Expected = time.Duration(c.c.Expected[j])
			out[i].ExpectedBy = scheduler.EstimateSource(known(c.r, "source of an estimate", c.c.ExpectedBy[j], EstimateSource_ESTIMATE_SOURCE_UNSPECIFIED, EstimateSource_ESTIMATE_SOURCE_PAST_RUN))
		}
	}
	return out
}

func (c *Jobs) add(w *writer, j *scheduler.Job) {
	c.Id = append(c.Id, uint64(j.ID))
	c.Name = append(c.Name, w.str(j.Name))
	c.User = append(c.User, w.str(j.User))
	c.Pool = append(c.Pool, w.str(j.Pool))
	c.Priority = append(c.Priority, int32(j.Priority))
	c.TimeLimit = addSparse(c.TimeLimit, len(c.Submitted), int64(j.TimeLimit))
	c.Deadline = addSparse(c.Deadline, len(c.Submitted), int64(j.Deadline))
	c.Submitted = append(c.Submitted, int64(j.Submitted))
	c.Properties.add(w, j.Properties)
	c.Stages.add(w, j.Stages)
}

// addSparse appends a row's value to a column whose rows are mostly 0. Zeros at its end are left out.
func addSparse(column []int64, row int, value int64) []int64 {
	if value == 0 {
		return column
	}
	for len(column) < row {
		column = append(column, 0)
	}
	return append(column, value)
}

// sparse returns a row's value in a column of addSparse.
func sparse(column []int64, row int) int64 {
	if row < len(column) {
		return column[row]
	}
	return 0
}

func newJobs() *Jobs { return &Jobs{Properties: &Properties{}, Stages: &Stages{}} }

type jobRows struct {
	r          *reader
	c          *Jobs
	properties propertyRows
	stages     stageRows
	row        int
}

func readJobs(r *reader, where string, n int, c *Jobs) jobRows {
	if n == 0 && c == nil {
		return jobRows{}
	}
	r.same(where, n, len(c.GetId()), len(c.GetName()), len(c.GetUser()), len(c.GetPool()),
		len(c.GetPriority()), len(c.GetSubmitted()))
	if most := max(len(c.GetTimeLimit()), len(c.GetDeadline())); most > n {
		r.fail(where, "a column has %d rows where at most %d are allowed", most, n)
	}
	return jobRows{
		r: r, c: c,
		properties: readProperties(r, where+" properties", n, c.GetProperties()),
		stages:     readStages(r, where+" stages", n, c.GetStages()),
	}
}

func (c *jobRows) next() scheduler.Job {
	i := c.row
	c.row++
	return scheduler.Job{
		ID: scheduler.JobID(c.c.Id[i]), Name: c.r.str(c.c.Name[i]), User: c.r.str(c.c.User[i]),
		Pool: c.r.str(c.c.Pool[i]), Priority: scheduler.Priority(c.c.Priority[i]),
		Submitted: scheduler.Time(c.c.Submitted[i]),
		TimeLimit: time.Duration(sparse(c.c.TimeLimit, i)), Deadline: scheduler.Time(sparse(c.c.Deadline, i)),
		Properties: c.properties.next(), Stages: c.stages.next(),
	}
}

// The list above must have every level of locality: a missing one would be lost on the wire.
var _ = [1]struct{}{}[scheduler.LocalityLevels-3]

func (c *Work) add(v *scheduler.Work) {
	c.Running = append(c.Running, int64(v.Running))
	c.ReadNodeLocal = append(c.ReadNodeLocal, v.Read[scheduler.NodeLocal])
	c.ReadRackLocal = append(c.ReadRackLocal, v.Read[scheduler.RackLocal])
	c.ReadRemote = append(c.ReadRemote, v.Read[scheduler.Remote])
	c.ToRead = append(c.ToRead, v.ToRead)
	c.Written = append(c.Written, v.Written)
}

func (c *Work) check(r *reader, where string, n int) {
	r.same(where, n, len(c.GetRunning()), len(c.GetReadNodeLocal()), len(c.GetReadRackLocal()),
		len(c.GetReadRemote()), len(c.GetToRead()), len(c.GetWritten()))
}

func (c *Work) row(i int) scheduler.Work {
	return scheduler.Work{
		Running: time.Duration(c.Running[i]),
		Read:    [scheduler.LocalityLevels]int64{c.ReadNodeLocal[i], c.ReadRackLocal[i], c.ReadRemote[i]},
		ToRead:  c.ToRead[i], Written: c.Written[i],
	}
}

func (c *Problems) add(w *writer, list []scheduler.Problem) {
	c.Rows = count(c.Rows, len(list))
	for _, p := range list {
		c.File = append(c.File, w.str(p.File))
		c.Line = append(c.Line, int64(p.Line))
		c.Message = append(c.Message, w.str(p.Message))
	}
}

type problemRows struct {
	r     *reader
	spans spans
	c     *Problems
}

func readProblems(r *reader, where string, n int, c *Problems) problemRows {
	return problemRows{r, r.spans(where, n, c.GetRows(), len(c.GetFile()), len(c.GetLine()), len(c.GetMessage())), c}
}

func (c *problemRows) next() []scheduler.Problem {
	from, to := c.spans.next()
	if from == to {
		return nil
	}
	out := make([]scheduler.Problem, to-from)
	for i := range out {
		j := from + i
		out[i] = scheduler.Problem{File: c.r.str(c.c.File[j]), Line: int(c.c.Line[j]), Message: c.r.str(c.c.Message[j])}
	}
	return out
}

// data returns a byte string as it is in values: nil if empty.
func data(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

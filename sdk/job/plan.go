package job

import "fmt"

// Split is a range of one stored file.
type Split struct {
	Path    string
	Offset  int64
	Length  int64
	Size    int64  // of the whole file when it was planned
	Version string // of the file when it was planned
	Places  []Place
}

// Place is a host that holds part of a split.
type Place struct {
	Host  string
	Rack  string
	Bytes int64
}

// Task is what one node reads from storage, in order.
type Task []Split

// Bytes is the size of all its splits.
func (t Task) Bytes() int64 {
	var n int64
	for _, s := range t {
		n += s.Length
	}
	return n
}

// Files asks for stored files as tasks of about SplitBytes each. Large files are
// split, small ones that lie in the same place are packed together.
type Files struct {
	Patterns   []string // files, folders or patterns; URLs or local paths
	SplitBytes int64    // 0: SplitBytesDefault
	Whole      bool     // never split a file (its format can't be entered in the middle)
}

// SplitBytesDefault is the size of a task's input when nothing is said.
const SplitBytesDefault = 64 << 20

// Planner lists files and plans splits. The submitter's does I/O; a worker's
// repeats what was recorded.
type Planner interface {
	Plan(f Files) ([]Task, error)
}

// Recorded is a Planner that repeats plans in the order they were made.
func Recorded(plans [][]Task) Planner { return &recorded{plans: plans} }

type recorded struct {
	plans [][]Task
	next  int
}

// Plan implements Planner.
func (r *recorded) Plan(Files) ([]Task, error) {
	if r.next >= len(r.plans) {
		return nil, fmt.Errorf("the builder asks for input %d, and only %d were planned: it builds another graph the second time", r.next+1, len(r.plans))
	}
	r.next++
	return r.plans[r.next-1], nil
}

// Files plans the tasks for stored input. It is the only I/O a builder may cause.
func (g *Graph) Files(f Files) ([]Task, error) {
	tasks, err := g.planner.Plan(f)
	if err != nil {
		return nil, err
	}
	g.planned = append(g.planned, tasks)
	return tasks, nil
}

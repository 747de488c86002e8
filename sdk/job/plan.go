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

// Task is the stored input of one node: its splits in order.
type Task []Split

// Bytes is the size of all its splits.
func (t Task) Bytes() int64 {
	var n int64
	for _, s := range t {
		n += s.Length
	}
	return n
}

// Files asks for stored files as tasks of about SplitBytes each. Large files are split; small files
// in the same place are packed together.
type Files struct {
	// Patterns are files, folders (all files below) or patterns; URLs or local paths. In a
	// pattern's names * ? [ab] [^a] {a,b} are wildcards, and \ escapes a character. ** alone
	// between slashes is any number of folders. Names that begin with . or _ are left out unless
	// the pattern spells that character. A pattern that is malformed or matches nothing is an error
	// (package sdk/storage/glob). A file that several patterns match is read once for each.
	Patterns   []string
	Suffixes   []string // ends of the names that are read, such as .csv; nil: all. The submitter says how many are passed over
	SplitBytes int64    // 0: SplitBytesDefault
	Whole      bool     // never split a file (its format can't be entered in the middle)
	// WholeSuffixes are endings of names of files that are never split, besides what Whole says. If
	// nil, they are those of compressed files (text.Compressed). An empty list that is not nil
	// means none.
	WholeSuffixes []string
}

// SplitBytesDefault is the size of a task's input when SplitBytes is 0, in bytes.
const SplitBytesDefault = 64 << 20

// Planner does the I/O that a builder may cause. The submitter's Planner lists files and plans
// splits; a worker's repeats the recorded plan.
type Planner interface {
	// Plan plans the tasks of one Files call.
	Plan(f Files) ([]Task, error)
	// Folder turns an output folder, as the author named it, into a name that means the same in
	// every process: a path becomes absolute.
	Folder(url string) (string, error)
}

// Recorded returns a Planner that repeats plans and output folders in the order in which they were
// made.
func Recorded(plans [][]Task, folders []string) Planner {
	return &recorded{plans: plans, folders: folders}
}

type recorded struct {
	plans    [][]Task
	folders  []string
	nextPlan int
	nextDir  int
}

// Plan implements Planner.
func (r *recorded) Plan(Files) ([]Task, error) {
	if r.nextPlan >= len(r.plans) {
		return nil, fmt.Errorf("the builder asks for input %d, and only %d were planned: it builds another graph the second time", r.nextPlan+1, len(r.plans))
	}
	r.nextPlan++
	return r.plans[r.nextPlan-1], nil
}

// Folder implements Planner.
func (r *recorded) Folder(string) (string, error) {
	if r.nextDir >= len(r.folders) {
		return "", fmt.Errorf("the builder asks for output folder %d, and only %d were recorded: it builds another graph the second time", r.nextDir+1, len(r.folders))
	}
	r.nextDir++
	return r.folders[r.nextDir-1], nil
}

// Files plans the tasks for stored input. A builder may cause no other I/O.
func (g *Graph) Files(f Files) ([]Task, error) {
	tasks, err := g.planner.Plan(f)
	if err != nil {
		return nil, err
	}
	for _, t := range tasks {
		for _, s := range t {
			if err := CheckUTF8("the name of the input file", s.Path); err != nil {
				return nil, err
			}
		}
	}
	g.planned = append(g.planned, tasks)
	return tasks, nil
}

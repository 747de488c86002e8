package mapreduce

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/text"
)

// planShared finds the files of Settings.Shared, in the order of their paths.
func (j *Bytes) planShared(g *job.Graph) error {
	for _, name := range slices.Sorted(maps.Keys(j.Shared)) {
		// Whole: no list of suffixes applies.
		tasks, err := g.Files(job.Files{Patterns: j.Shared[name], Whole: true})
		if err != nil {
			return fmt.Errorf("shared files %q: %w", name, err)
		}
		if j.shared == nil {
			j.shared = map[string][]job.Split{}
		}
		files := slices.Concat(tasks...)
		sort.Slice(files, func(a, b int) bool { return files[a].Path < files[b].Path }) // slices.SortFunc adds 10 KB to each program
		j.shared[name] = slices.CompactFunc(files, func(a, b job.Split) bool { return a.Path == b.Path })
	}
	return nil
}

// SharedFile is a stored file that every task can read.
type SharedFile struct {
	t     *Task
	split job.Split
}

// Path returns the file's path.
func (f SharedFile) Path() string { return f.split.Path }

// Open opens the file from its beginning, and decompresses it if its name ends in one of
// text.Compressed. It may be called again, for another pass. It fails if the file changed since the
// job was submitted. The caller closes the reader.
func (f SharedFile) Open() (io.ReadCloser, error) { return text.Open(f.t.ctx, f.t.n, f.split) }

// Shared returns the files of that name in Settings.Shared, in the order of their paths, or an
// error if the job has no such name. Each task reads them for itself: best in Setup, which keeps
// the result in State.
func (t *Task) Shared(name string) ([]SharedFile, error) {
	splits, ok := t.job.shared[name]
	if !ok {
		names := slices.Sorted(maps.Keys(t.job.shared))
		return nil, fmt.Errorf("the job has no shared files %q, only [%s]: put the name into Settings.Shared", name, strings.Join(names, " "))
	}
	files := make([]SharedFile, len(splits))
	for i, s := range splits {
		files[i] = SharedFile{t, s}
	}
	return files, nil
}

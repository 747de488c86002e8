package split

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/text"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// Planner returns a job.Planner that lists real files through their stores. The context bounds all
// it does. report gets a line for people where files were skipped; it may be nil. For one
// goroutine.
func Planner(ctx context.Context, report func(string)) job.Planner { return planner{ctx, report} }

type planner struct {
	ctx    context.Context
	report func(string)
}

// Folder implements job.Planner.
func (planner) Folder(url string) (string, error) { return storage.Absolute(url) }

// Plan implements job.Planner. A file that several patterns match is read once for each,
// as in Hadoop.
func (p planner) Plan(in job.Files) ([]job.Task, error) {
	if in.SplitBytes < 0 {
		return nil, fmt.Errorf("splits of %d bytes: use 0 for the default of %d, or more", in.SplitBytes, job.SplitBytesDefault)
	}
	if len(in.Patterns) == 0 {
		return nil, fmt.Errorf("no input is named: give a file, a folder or a pattern")
	}
	if slices.Contains(in.Suffixes, "") {
		return nil, fmt.Errorf("an empty suffix is given, which every name ends in: leave it out")
	}
	whole := func(path string) bool { return in.Whole || endsIn(path, in.WholeSuffixes) }
	if in.WholeSuffixes == nil {
		whole = func(path string) bool { return in.Whole || text.IsCompressed(path) }
	}
	var files []File
	seen := map[string]bool{} // by path: whether a task reads it
	others, again := 0, map[string]bool{}
	for _, pattern := range in.Patterns {
		store, infos, err := list(p.ctx, pattern)
		if err != nil {
			return nil, fmt.Errorf("input %q: %w", pattern, err)
		}
		first := len(files)
		for _, info := range infos {
			read, before := seen[info.Path]
			if !before {
				read = len(in.Suffixes) == 0 || endsIn(info.Path, in.Suffixes)
				seen[info.Path] = read
			}
			switch {
			case read:
				files = append(files, File{Info: info, Whole: whole(info.Path)})
				if before {
					again[info.Path] = true
				}
			case !before:
				others++
			}
		}
		if err := locate(p.ctx, store, files[first:]); err != nil {
			return nil, fmt.Errorf("input %q: %w", pattern, err)
		}
	}
	if len(files) == 0 && len(in.Suffixes) == 0 {
		return nil, fmt.Errorf("input %q holds no files (names that begin with . or _ do not count): put files there, or name another: %w", in.Patterns, fs.ErrNotExist)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("input %q: none of %d files ends in %s: %w", in.Patterns, others, strings.Join(in.Suffixes, " or "), fs.ErrNotExist)
	}
	p.passed(files, others, again, in)
	return Tasks(files, in.SplitBytes, in.Whole), nil
}

// list lists a pattern's matches, with absolute paths. A relative pattern is made absolute only
// after its listing: the working folder's name may contain characters with a meaning in patterns.
func list(ctx context.Context, pattern string) (storage.Store, []storage.Info, error) {
	store, err := storage.For(pattern)
	if err != nil {
		return nil, nil, err
	}
	if pattern == "" {
		return nil, nil, fmt.Errorf("the pattern is empty")
	}
	infos, err := store.List(ctx, pattern)
	if err != nil {
		return nil, nil, err
	}
	for i := range infos {
		if infos[i].Path, err = storage.Absolute(infos[i].Path); err != nil {
			return nil, nil, err
		}
	}
	return store, infos, nil
}

// passed reports files that no task reads, and files that are read more than once.
func (p planner) passed(files []File, others int, again map[string]bool, in job.Files) {
	if p.report == nil {
		return
	}
	empty, repeated, seen := 0, 0, map[string]bool{}
	for _, f := range files {
		if seen[f.Path] {
			continue
		}
		seen[f.Path] = true
		switch {
		case f.Size == 0 && !in.Whole:
			empty++
		case again[f.Path]:
			repeated++
		}
	}
	if repeated > 0 {
		p.report(fmt.Sprintf("input: files that several of the inputs name, and that are read once for each: %d", repeated))
	}
	var parts []string
	if empty > 0 {
		parts = append(parts, fmt.Sprintf("%d empty", empty))
	}
	if others > 0 {
		parts = append(parts, fmt.Sprintf("%d that do not end in %s", others, strings.Join(in.Suffixes, " or ")))
	}
	if len(parts) > 0 {
		p.report(fmt.Sprintf("input: %d of %d files are passed over: %s", empty+others, len(seen)+others, strings.Join(parts, ", ")))
	}
}

func endsIn(path string, suffixes []string) bool {
	return slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(path, suffix) })
}

// askersMax bounds the concurrent requests to a store.
const askersMax = 16

// locate asks for the files' locations, several at a time: a store may be far away.
func locate(ctx context.Context, store storage.Store, files []File) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(askersMax, len(files)) {
		wg.Go(func() {
			for i := range next {
				if files[i].Size == 0 || ctx.Err() != nil {
					continue
				}
				blocks, err := store.Locations(ctx, files[i].Path, 0, files[i].Size)
				if err != nil {
					cancel(err)
				}
				files[i].Blocks = blocks
			}
		})
	}
	for i := range files {
		next <- i
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}

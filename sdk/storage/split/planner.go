package split

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/text"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// Planner returns a job.Planner that lists real files through their stores. The
// context bounds all it does. For one goroutine.
func Planner(ctx context.Context) job.Planner { return planner{ctx} }

type planner struct{ ctx context.Context }

// Folder implements job.Planner.
func (planner) Folder(url string) (string, error) { return storage.Absolute(url) }

// Plan implements job.Planner. A file that several patterns match is read once.
func (p planner) Plan(in job.Files) ([]job.Task, error) {
	if in.SplitBytes < 0 {
		return nil, fmt.Errorf("splits of %d bytes: use 0 for the default of %d, or more", in.SplitBytes, job.SplitBytesDefault)
	}
	if len(in.Patterns) == 0 {
		return nil, fmt.Errorf("no input is named: give a file, a folder or a pattern")
	}
	if in.WholeSuffixes == nil {
		in.WholeSuffixes = text.Compressed
	}
	var files []File
	seen := map[string]bool{}
	for _, pattern := range in.Patterns {
		store, err := storage.For(pattern)
		if err != nil {
			return nil, err
		}
		absolute, err := storage.Absolute(pattern)
		if err != nil {
			return nil, fmt.Errorf("input %q: %w", pattern, err)
		}
		infos, err := store.List(p.ctx, absolute)
		if err != nil {
			return nil, fmt.Errorf("input %q: %w", pattern, err)
		}
		first := len(files)
		for _, info := range infos {
			if !seen[info.Path] {
				seen[info.Path] = true
				files = append(files, File{Info: info, Whole: in.Whole || endsIn(info.Path, in.WholeSuffixes)})
			}
		}
		if err := locate(p.ctx, store, files[first:]); err != nil {
			return nil, fmt.Errorf("input %q: %w", pattern, err)
		}
	}
	return Tasks(files, in.SplitBytes, in.Whole), nil
}

func endsIn(path string, suffixes []string) bool {
	return slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(path, suffix) })
}

// askersMax bounds the questions that are under way at a store at once.
const askersMax = 16

// locate asks where the files lie, several at a time: a store may be far away.
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

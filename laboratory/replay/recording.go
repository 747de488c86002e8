package replay

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/manager/recovery"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Recording is an event log.
type Recording struct {
	// Path is what it was opened by.
	Path string
	// Left are the files that can't be decided again, each with the reason. They are the oldest.
	Left []string

	files []string // that can, oldest first
	bytes []int64  // of each
	kept  *recovery.GraphStore
}

// Open finds the log of a manager: by its data folder, by the data folder of a local cluster,
// by the folder log itself or by one of its files. The error names what is not there, is
// damaged, or was written by a newer program. Of the files, headers alone are read.
func Open(path string) (*Recording, error) {
	r := &Recording{Path: path}
	files, err := find(path)
	if err != nil {
		return nil, err
	}
	r.kept = recovery.OpenGraphs(filepath.Join(filepath.Dir(filepath.Dir(files[0])), "graphs"), slog.New(slog.DiscardHandler))
	for _, file := range files {
		if err := r.add(file); err != nil {
			return nil, err
		}
	}
	if len(r.files) == 0 {
		return nil, fmt.Errorf("%s: %s: verify and replay it with the program that wrote it", path, r.Left[len(r.Left)-1])
	}
	return r, nil
}

// find lists the files of a log, one at least.
func find(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		file, err := filepath.Abs(path)
		return []string{file}, err
	}
	for _, below := range []string{"", "log", filepath.Join("manager", "log")} {
		folder, err := filepath.Abs(filepath.Join(path, below))
		if err != nil {
			return nil, err
		}
		if files, err := eventlog.Files(folder); err != nil || len(files) > 0 {
			return files, err
		}
	}
	return nil, fmt.Errorf("%s: there is no event log in it: name a manager's data folder, its folder log, or a file of that", path)
}

// add takes a file on, unless another version of the core wrote it.
func (r *Recording) add(file string) error {
	h, err := eventlog.ReadHeader(file)
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	switch {
	case h.Core > core.Version:
		return fmt.Errorf("event log file %s was written by version %d of the core, and this is version %d: use the version of Hamadryad that wrote it, or a newer one", file, h.Core, core.Version)
	case h.Core < core.Version:
		r.Left = append(r.Left, fmt.Sprintf("event log file %s was written by version %d of the core, and this is version %d, which may not decide about what that one has seen", file, h.Core, core.Version))
		r.files, r.bytes = nil, nil
		return nil
	}
	r.files, r.bytes = append(r.files, file), append(r.bytes, info.Size())
	return nil
}

// Extent is what was read of a log.
type Extent struct {
	Files, Records int
	// First is the number of the first record that was read; 1 is the log's beginning.
	First uint64
	// From and To are the times of the first and the last record.
	From, To scheduler.Time
	// Torn are bytes at the end that a manager was writing, or that a crash cut off.
	Torn int64
	// Gaps is how often records between two files are missing.
	Gaps int
}

// listener is told what a log holds, in order.
type listener interface {
	// restored tells of the core at the beginning, and again where records are missing:
	// what was told before does not go on.
	restored(c *core.Core)
	// before tells of a batch that the core takes next, and after of what was to be done
	// then. Neither batch nor actions change later.
	before(b *wire.Batch) error
	after(b *wire.Batch, actions []core.Action) error
}

// Progress is told how many of all bytes of a log are done.
type Progress func(done, all int64)

// play decides all batches again.
func (r *Recording) play(ctx context.Context, l listener, told Progress) (*Extent, error) {
	p := player{r: r, l: l, extent: &Extent{}, told: told}
	for _, n := range r.bytes {
		p.all += n
	}
	for i, file := range r.files {
		if err := p.file(ctx, file); err != nil {
			return nil, err
		}
		p.done += r.bytes[i]
	}
	if p.extent.Records == 0 {
		return nil, fmt.Errorf("%s: nothing happened in it: its files hold no record", r.Path)
	}
	return p.extent, nil
}

// player is one pass through a log.
type player struct {
	r         *Recording
	l         listener
	extent    *Extent
	told      Progress
	done, all int64
	replay    *recovery.Replay // nil: nothing was read
	next      uint64           // number of the record that follows
}

// file goes through a file of the log. It may begin with copies of the last records of the
// file before it.
func (p *player) file(ctx context.Context, file string) error {
	s, err := eventlog.ReadSegment(file)
	if err != nil {
		return err
	}
	p.extent.Files++
	p.extent.Torn = s.Torn
	if p.replay == nil || s.First > p.next {
		if p.replay != nil {
			p.extent.Gaps++
		}
		p.replay = recovery.NewReplay(file, p.r.kept)
		if err := p.replay.Restore(s.Checkpoint); err != nil {
			return err
		}
		p.next = s.First
		p.l.restored(p.replay.Core)
	}
	p.replay.Follow(file)
	read := int64(0)
	for i, record := range s.Records {
		number := s.First + uint64(i)
		if number < p.next {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := p.record(number, record); err != nil {
			return err
		}
		if read += int64(len(record)); p.told != nil {
			p.told(p.done+read, p.all)
		}
	}
	return nil
}

// record takes the next one.
func (p *player) record(number uint64, record []byte) error {
	b, err := p.replay.DecodeBatch(number, record)
	if err != nil {
		return err
	}
	at := scheduler.Time(b.GetAt())
	if p.extent.Records == 0 {
		p.extent.First, p.extent.From = number, at
	}
	p.extent.Records++
	p.extent.To, p.next = at, number+1
	if err := p.l.before(b); err != nil {
		return err
	}
	return p.l.after(b, p.replay.StepBatch(b))
}

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
	// Path is the path given to Open.
	Path string
	// Left are the files that can't be replayed, each with the reason. They are the oldest.
	Left []string

	files []string // replayable, oldest first
	bytes []int64  // of each
	kept  *recovery.GraphStore
}

// Open finds the log of a manager: by its data folder, by the data folder of a local cluster, by
// the folder log itself or by one of its files. The error names files that are missing, damaged, or
// written by a newer program. Open reads only the files' headers.
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

// find lists the files of a log, at least one.
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

// add adds a file, unless another version of the core wrote it.
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

// Extent is the part of a log that was read.
type Extent struct {
	Files, Records int
	// First is the number of the first record read; 1 is the log's beginning.
	First uint64
	// From and To are the times of the first and the last record.
	From, To scheduler.Time
	// Torn is the number of bytes at the end that a manager was writing, or that a crash cut off.
	Torn int64
	// Gaps is the number of gaps: records missing between two files.
	Gaps int
}

// listener receives a log's content, in order.
type listener interface {
	// restored passes the core at the beginning, and again after missing records: earlier state
	// does not continue.
	restored(c *core.Core)
	// before passes the core's next batch, and after its resulting actions. Neither batch nor
	// actions change later.
	before(b *wire.Batch) error
	after(b *wire.Batch, actions []core.Action) error
}

// Progress receives the number of bytes done, of all bytes of a log.
type Progress func(done, all int64)

// play replays all batches.
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
	next      uint64           // number of the next record
}

// file replays a file of the log. It may begin with copies of the previous file's last records.
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

// record replays the next record.
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

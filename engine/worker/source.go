package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/file"
	"github.com/hamadryad/hamadryad/engine/channel/store"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/internal/failure"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Bounds of reading a stored channel whose launcher is unreachable: it is retried for
// fetchRetryMax, with waits that double from fetchWaitMin to fetchWaitMax. Then the loss is
// reported to the manager, which decides.
const (
	fetchRetryMax = 30 * time.Second
	fetchWaitMin  = 100 * time.Millisecond
	fetchWaitMax  = 5 * time.Second
)

// storedSource reads one partition of one producer's stored output, wherever that is. If the output
// is lost, it waits until the output is made again.
type storedSource struct {
	partitions
	partition int
	rest      int // how many partitions after this one have no source before this one is taken

	handed atomic.Bool // the program has received some of its records
	alone  atomic.Bool // its merged copy is damaged

	mu     sync.Mutex
	closed bool
	ended  bool         // it was read to its end
	at     *wire.Source // the source that reader reads
	direct bool         // reader opens the file itself
	remote *wire.Source // a source whose file was not found on this machine
	reader job.Source
	file   *file.File // open file on the job's storage, closed with reader
}

func (s *storedSource) From() int { return s.producer.from }

// Stored tells channel.Merge that no writer waits for this source's reader.
func (s *storedSource) Stored() bool { return true }

// Taken is called by channel.Merge when the source is handed out or read.
func (s *storedSource) Taken() {
	if s.rest > 0 {
		s.inputs.addRest(s)
	}
	s.inputs.taken(s.port)
}

// ReadSoon is called by channel.Merge for sources of one port that are read next. Those that lie on
// other machines are fetched with few requests.
func (s *storedSource) ReadSoon(all []job.Source) {
	far := s.inputs.far(all)
	if len(far) == 0 {
		return
	}
	batch := s.inputs.fetcher.Batch()
	for _, o := range far {
		o.addTo(batch)
	}
	batch.Start()
}

// ReadTogether is called by channel.Merge for sources of one port that are read next. It reads those
// of which there are merged copies on this machine.
func (s *storedSource) ReadTogether(all []job.Source, take func(*job.Batch) error) (int, error) {
	in := s.inputs
	wanted, at := in.copied(all)
	segments := in.copies.Segments(make([]store.Segment, 0, len(wanted)), wanted)
	if len(segments) == 0 {
		return 0, nil
	}
	reader := store.NewJoinedReader(segments)
	pass := func(batches []*job.Batch, err error) error {
		for _, b := range batches {
			if err == nil {
				err = take(b)
			}
		}
		return err
	}
	var err error
	n := 0
	for n < len(segments) && err == nil {
		complete, bytes, damaged := reader.Read(segments[n])
		err = pass(complete, nil)
		if !all[n].(*storedSource).readWhole(damaged != nil) {
			if err == nil && damaged == nil { // its records are in the batch to come: they must not come again
				err = channel.ErrClosed
			}
			break
		}
		s.node.reads(in.place.locality(at[n].Host, at[n].Rack)).Add(bytes)
		n++
	}
	err = pass(reader.PendingBatches(), err)
	if n > 0 {
		s.node.goesOn()
		in.readWhole(all[:n])
	}
	return n, err
}

// readWhole ends a source of which all was read. It returns false if it is closed, or has to be read
// alone because its copy is damaged.
func (s *storedSource) readWhole(damaged bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if damaged {
		s.alone.Store(true)
	}
	if damaged || s.closed || s.ended {
		return false
	}
	s.ended, s.closed = true, true
	return true
}

// addTo opens the newest source, and adds it to a batch if it is on another machine.
func (s *storedSource) addTo(batch *store.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.reader != nil {
		return
	}
	if s.at, _ = s.inputs.current(s.given); s.inputs.place.stores[s.at.Address] == "" {
		s.openLaunchers()
		batch.Add(s.reader)
	}
}

// Bytes is -1 before the file is open.
func (s *storedSource) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader == nil {
		return -1
	}
	return s.reader.Bytes()
}

// Next implements job.BatchReader.
func (s *storedSource) Next(ctx context.Context) (*job.Batch, error) {
	retry := retry{}
	for {
		reader, at, err := s.openCurrent(ctx)
		var b *job.Batch
		if err == nil {
			b, err = reader.Next(ctx)
		}
		switch {
		case err == nil:
			s.handed.Store(true)
			s.node.goesOn()
			s.node.reads(s.inputs.place.locality(at.Host, at.Rack)).Add(int64(len(b.Data)))
			return b, nil
		case err == io.EOF: //nolint:errorlint // only the bare one is the end: a failure may wrap it
			s.end()
			return nil, err
		case errors.Is(err, io.EOF) || ctx.Err() != nil || s.isClosed():
			return nil, err
		case !failure.OfChannel(err):
			return nil, err
		}
		if err := s.reportSourceFailure(ctx, at, err, &retry); err != nil {
			return nil, err
		}
	}
}

// retry counts how long an unreachable launcher has been tried.
type retry struct {
	since time.Time
	wait  time.Duration
}

// reportSourceFailure handles a source that could not be read. It returns nil if another try is
// worthwhile.
func (s *storedSource) reportSourceFailure(ctx context.Context, at *wire.Source, cause error, r *retry) error {
	s.drop()
	newest, changed := s.inputs.current(s.given)
	if s.isClosed() {
		return fmt.Errorf("%s: %w", s.name(at), channel.ErrClosed)
	}
	replaced := newest != at && newest.Attempt != at.Attempt
	if s.handed.Load() {
		if !replaced {
			s.report(at, cause)
		}
		return failure.Lost(fmt.Errorf("%s: %w; some of its records were read already, so the attempt begins again", s.name(at), cause), at.Attempt)
	}
	if newest != at {
		*r = retry{}
		return nil
	}
	if errors.Is(cause, channel.ErrLost) && s.askRemote(at) {
		return nil
	}
	if errors.Is(cause, channel.ErrUnreachable) && r.tryAgain() {
		return pause(ctx, changed, r.wait)
	}
	s.report(at, cause)
	*r = retry{}
	return pause(ctx, changed, 0)
}

// askRemote switches to the launcher's server if the file was not found directly: a store that
// moved away may have left a note of its old folder.
func (s *storedSource) askRemote(at *wire.Source) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.direct || s.remote == at {
		return false
	}
	s.remote = at
	return true
}

// tryAgain reports whether there is time for another try, and sets the wait before it.
func (r *retry) tryAgain() bool {
	if r.since.IsZero() {
		r.since, r.wait = time.Now(), fetchWaitMin
		return true
	}
	r.wait = min(2*r.wait, fetchWaitMax)
	return time.Since(r.since) < fetchRetryMax
}

// pause waits for a change; at most wait, unless that is 0. Without a bound the manager ends it: by
// a source, or by stopping the attempt.
func pause(ctx context.Context, changed <-chan struct{}, wait time.Duration) error {
	var late <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		late = t.C
	}
	select {
	case <-changed:
	case <-late:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (s *storedSource) report(at *wire.Source, cause error) {
	s.inputs.reports.report(&wire.Report{What: &wire.Report_InputLost{InputLost: &wire.InputLost{
		Attempt: s.inputs.start.Attempt, Connection: uint32(s.producer.connection), From: uint32(s.producer.from),
		Producer: at.Attempt, Damaged: errors.Is(cause, channel.ErrDamaged) || errors.Is(cause, channel.ErrLost),
		Reason: failure.Bounded(s.name(at) + ": " + cause.Error()),
	}}})
}

// name names the stored output in errors.
func (s *storedSource) name(at *wire.Source) string {
	l := s.inputs.layout
	stage := l.StageName(l.Connections()[s.producer.connection].FromStage)
	return fmt.Sprintf("stored output of %s.%d (attempt-%d at %s)", stage, s.producer.from, at.Attempt, at.Address)
}

// openCurrent returns a reader of the newest source. It keeps an open reader: a newer source counts
// only when that reader fails.
func (s *storedSource) openCurrent(ctx context.Context) (job.Source, *wire.Source, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, s.at, channel.ErrClosed
	case s.ended:
		return nil, s.at, io.EOF
	}
	if s.reader != nil {
		return s.reader, s.at, nil
	}
	s.at, _ = s.inputs.current(s.given)
	in := s.inputs
	if s.store != "" {
		name := StoredName(uint32(s.producer.connection), uint32(s.producer.from))
		st, path, err := in.kept.open(ctx, s.store, s.at.Attempt, name)
		if err != nil {
			return nil, s.at, err
		}
		if s.file, err = file.OpenStore(ctx, st, path); err != nil {
			return nil, s.at, err
		}
		s.reader = s.file.Source(s.partition, s.producer.from)
		return s.reader, s.at, nil
	}
	s.openLaunchers()
	return s.reader, s.at, nil
}

// openLaunchers sets reader to one of the launcher's store that at names. The caller holds mu.
func (s *storedSource) openLaunchers() {
	in := s.inputs
	s.direct = false
	want := store.Want{Addr: s.at.Address, Partition: s.partition, From: s.producer.from, Bytes: -1}
	want.Job, want.Attempt = scheduler.JobID(in.start.Job), scheduler.AttemptID(s.at.Attempt)
	if folder := in.place.stores[s.at.Address]; folder != "" && s.remote != s.at {
		s.direct = true
		want.Path, want.Channel = storedPath(folder, in.start.Job, s.at.Attempt, s.producer.connection, s.producer.from)
		if want.Folder, want.Connection = folder, s.producer.connection; !s.alone.Load() {
			want.Copies = in.copies
		}
	} else {
		want.Channel = StoredName(uint32(s.producer.connection), uint32(s.producer.from))
		want.Launcher, want.Token = s.at.LauncherName, string(s.at.Token)
	}
	s.reader = in.fetcher.Source(want)
}

// drop closes the failed reader.
func (s *storedSource) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropLocked()
}

func (s *storedSource) dropLocked() {
	if s.reader != nil {
		_ = s.reader.Close() // given up: how it ends does not matter
		s.reader = nil
	}
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
}

// end notes that everything was read.
func (s *storedSource) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended && !s.closed {
		s.inputs.done(s.producer, s.given)
	}
	s.ended = true
}

func (s *storedSource) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Close implements job.Source.
func (s *storedSource) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended && !s.closed {
		s.inputs.done(s.producer, s.given)
	}
	s.closed = true
	s.dropLocked()
	return nil
}

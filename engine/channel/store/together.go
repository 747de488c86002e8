package store

import (
	"context"
	"errors"

	"github.com/hamadryad/hamadryad/sdk/job"
)

const (
	// togetherMost is how many requests a Fetcher sends together over one connection, and
	// togetherBytes about how many bytes they have. A store that waits for its peer to read still
	// takes them all, so the two never wait for each other.
	togetherMost  = 64
	togetherBytes = 8 << 10
	// togetherWindow is how many bytes of a partition are fetched with others. The rest of a larger
	// one is fetched alone.
	togetherWindow = 8 << 10
)

// errAlone is the error of a window that was to come with others, and has to be fetched alone.
var errAlone = errors.New("the store did not answer to requests that were sent together")

// Batch fetches the first bytes of many partitions with few requests. Use it before the sources are
// read. A failure has no effect but that sources fetch alone what they did not get.
type Batch struct {
	fetcher *Fetcher
	at      []location // in order of the first source
	sources map[location][]*remote
}

// Batch returns an empty batch.
func (f *Fetcher) Batch() *Batch { return &Batch{fetcher: f, sources: map[location][]*remote{}} }

// Add adds a source that Source returned, and of which nothing was read. A source of a file on this
// machine is not changed.
func (b *Batch) Add(s job.Source) {
	r, is := s.(*remote)
	if !is {
		return
	}
	at := r.at()
	if b.sources[at] == nil {
		b.at = append(b.at, at)
	}
	r.comesTogether()
	b.sources[at] = append(b.sources[at], r)
}

// Start begins to fetch. Each source that was added waits for its part.
func (b *Batch) Start() {
	for _, at := range b.at {
		for all := b.sources[at]; len(all) > 0; {
			some := all[:togetherCount(all)]
			all = all[len(some):]
			err := b.fetcher.begin(func() { b.fetcher.fetchTogether(at, some) })
			if err != nil {
				answerAll(some, err)
			}
		}
	}
}

// togetherCount is how many of the sources, which are not none, are asked for together.
func togetherCount(all []*remote) int {
	size := 0
	for i, s := range all[:min(len(all), togetherMost)] {
		if size += s.want.requestBytes(); size > togetherBytes {
			return max(i, 1)
		}
	}
	return min(len(all), togetherMost)
}

// fetchTogether gives each source its first window, or the error with which it asks alone.
func (f *Fetcher) fetchTogether(at location, all []*remote) {
	ctx := f.ctx
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		answerAll(all, ctx.Err())
		return
	}
	defer func() { <-f.slots }()
	for len(all) > 0 {
		l, used, err := f.link(ctx, at)
		if err != nil {
			break
		}
		n, err := l.askTogether(ctx, all)
		all = all[n:]
		if err == nil {
			f.keep(l)
			return
		}
		l.close()
		if !used {
			break // else the connection had gone stale; the pool of idle ones is bounded
		}
	}
	answerAll(all, errAlone)
}

func answerAll(all []*remote, err error) {
	for _, s := range all {
		s.answer(window{err: err})
	}
}

// askTogether asks for the first windows of sources, and returns how many were answered. After an
// error the link can't be used again.
func (l *link) askTogether(ctx context.Context, all []*remote) (answered int, err error) {
	stop := context.AfterFunc(ctx, l.expire)
	defer stop()
	requests := make([]request, len(all))
	for i, s := range all {
		requests[i] = s.request(0, togetherWindow)
	}
	if err := l.send(ctx, requests...); err != nil {
		return 0, err
	}
	for i, s := range all {
		h, data, err := l.receive(ctx, requests[i], nil)
		if err != nil && !final(err) {
			return i, err
		}
		if err != nil {
			err = refused(requests[i], l.at, err)
		}
		s.answer(window{h, data, err})
	}
	return len(all), nil
}

// Package respcache caches answers that are costly to make, so that many viewers of the same thing
// cost little more than one.
//
//	v, again, err := answers.Get(ctx, key, revision, func() (Drawn, error) { … })
//
// # Invariants
//
// An answer is made again when its revision changed. At least RestFactor times as long as the last
// answer took to make must have passed since. Until then callers get the last answer, with the time
// after which to retry. So one key takes at most 1/RestFactor of a processor, however many callers
// there are. One caller makes an answer while others wait for it.
//
// Package pages shows a job by one request (rest.Server.GetWhole), which checks the caller's rights
// once.
package respcache

import (
	"context"
	"sync"
	"time"
)

const (
	// RestFactor is how many times its making time an answer stays in use.
	RestFactor = 50
	// EntriesMax bounds the cached answers. Beyond it, the least recently used one is dropped.
	EntriesMax = 64
)

// Answers are cached answers. Safe for concurrent use. The zero value is empty.
type Answers[K comparable, V any] struct {
	Now func() time.Time // nil: time.Now

	mu  sync.Mutex
	all map[K]*answer[V]
}

// answer is a cached answer. The goroutine that makes it holds its lock.
type answer[V any] struct {
	making   chan struct{} // capacity one: the goroutine that fills it makes the answer
	asked    time.Time
	there    bool
	value    V
	revision uint64
	made     time.Time
	took     time.Duration
}

// Get returns an answer of a revision, or an earlier one and after what time to retry; 0: it is of
// that revision. An error of make is returned to the caller, and not cached; so is the end of ctx,
// while another caller makes the answer.
func (a *Answers[K, V]) Get(ctx context.Context, key K, revision uint64, make func() (V, error)) (value V, again time.Duration, err error) {
	x := a.of(key)
	select {
	case x.making <- struct{}{}:
	case <-ctx.Done():
		return value, 0, ctx.Err()
	}
	defer func() { <-x.making }()
	began := a.now()
	if x.there {
		if x.revision == revision {
			return x.value, 0, nil
		}
		if rests := x.made.Add(RestFactor * x.took).Sub(began); rests > 0 {
			return x.value, rests, nil
		}
	}
	value, err = make()
	if err != nil {
		return value, 0, err
	}
	x.there, x.value, x.revision, x.made = true, value, revision, a.now()
	x.took = x.made.Sub(began)
	return value, 0, nil
}

func (a *Answers[K, V]) now() time.Time {
	if a.Now != nil {
		return a.Now()
	}
	return time.Now()
}

// of is the place of a key.
func (a *Answers[K, V]) of(key K) *answer[V] {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = map[K]*answer[V]{}
	}
	x := a.all[key]
	if x == nil {
		x = &answer[V]{making: make(chan struct{}, 1)}
		a.all[key] = x
	}
	x.asked = a.now()
	if len(a.all) > EntriesMax {
		a.drop(key)
	}
	return x
}

// drop drops the least recently used answer, except for a key's.
func (a *Answers[K, V]) drop(but K) {
	var oldest K
	var when time.Time
	for k, x := range a.all {
		if k != but && (when.IsZero() || x.asked.Before(when)) {
			oldest, when = k, x.asked
		}
	}
	delete(a.all, oldest)
}

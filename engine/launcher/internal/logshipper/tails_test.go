package logshipper

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/launcher/internal/logs"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// manager receives tails. It refuses the first message with a temporary error.
type manager struct {
	mu      sync.Mutex
	refused bool
	got     []*wire.LogTail
}

func (m *manager) take(_ context.Context, q *wire.LogTails) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.refused {
		m.refused = true
		return status.Error(codes.ResourceExhausted, "not now")
	}
	m.got = append(m.got, q.Tails...)
	return nil
}

func (m *manager) has(n int) func() bool {
	return func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.got) >= n
	}
}

// The end of each non-empty log is sent once the manager takes it: failed attempts first, with more
// bytes. Logs of another manager's attempts are not sent.
func TestSends(t *testing.T) {
	all, err := logs.New(logs.Options{Folder: t.TempDir(), Each: 64 << 10, Total: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	m := &manager{}
	q := New(m.take, slog.New(slog.DiscardHandler))
	q.JoinManager("m", 4<<10, 16<<10)
	printed := map[uint64]string{1: "", 2: "short", 3: strings.Repeat("long\n", 2000), 4: strings.Repeat("failed\n", 8000), 5: "failed, short"}
	add := func(id uint64, text string) {
		log := all.Open(id)
		fmt.Fprint(log, text)
		log.End()
		q.Add(7, id, log, strings.HasPrefix(text, "failed"))
	}
	all.JoinManager("another")
	add(9, "another manager's")
	all.JoinManager("m")
	for id := uint64(1); id <= 5; id++ {
		add(id, printed[id])
	}
	go q.Run(t.Context())
	proctest.Until(t, time.Minute, "all is sent", m.has(4))
	var order []uint64
	for _, x := range m.got {
		order = append(order, x.Attempt)
		text, most := printed[x.Attempt], 4<<10
		if x.Failed {
			most = 16 << 10
		}
		if want := text[max(0, len(text)-most):]; x.Job != 7 || x.Of != int64(len(text)) || string(x.Text) != want || x.Lacks != "" {
			t.Errorf("of attempt %d came %d of %d bytes, and %q", x.Attempt, len(x.Text), x.Of, x.Lacks)
		}
	}
	if fmt.Sprint(order) != "[4 5 2 3]" {
		t.Errorf("they came in the order %v", order)
	}
}

// The queue is bounded: the oldest log of an attempt that did not fail is dropped.
func TestBoundOfTheQueue(t *testing.T) {
	all, err := logs.New(logs.Options{Folder: t.TempDir(), Each: 64 << 10, Total: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	q := New(nil, slog.New(slog.DiscardHandler))
	q.JoinManager("", 1, 1)
	log := all.Open(1)
	fmt.Fprint(log, "x")
	for id := range uint64(waitingMax + 5) {
		q.Add(1, id, log, id == 0)
	}
	list, _ := q.takeBatch()
	if q.Lost() != 5 || list[0].attempt != 0 || list[1].attempt != 6 {
		t.Errorf("%d were lost, and the first are %d and %d", q.Lost(), list[0].attempt, list[1].attempt)
	}
}

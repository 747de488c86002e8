package channel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/hamadryad/hamadryad/engine/channel"
	"github.com/hamadryad/hamadryad/engine/channel/internal/chantest"
	"github.com/hamadryad/hamadryad/engine/channel/shm"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a writer that keeps what is written.
type memory struct {
	got     []string
	batches int
	closed  bool
	aborted error
	fail    error
}

func (m *memory) WriteBatch(_ context.Context, b *job.Batch) error {
	if m.fail != nil {
		return m.fail
	}
	m.batches++
	for r := range b.All() {
		m.got = append(m.got, string(r))
	}
	return nil
}
func (m *memory) Close(context.Context) error { m.closed = true; return m.fail }
func (m *memory) Abort(cause error)           { m.aborted = cause }

func port(n int, budget int64) (*channel.Output, []*memory) {
	ms, ws := make([]*memory, n), make([]channel.Writer, n)
	for i := range ms {
		ms[i] = &memory{}
		ws[i] = ms[i]
	}
	return channel.NewOutput(ws, budget), ms
}

func TestOutputKeepsOrderInEachPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		parts := rapid.IntRange(1, 20).Draw(t, "partitions")
		out, ms := port(parts, int64(rapid.SampledFrom([]int{1, 500, 0}).Draw(t, "budget")))
		want := make([]int, parts)
		for range rapid.IntRange(0, 100).Draw(t, "writes") {
			p := rapid.IntRange(0, parts-1).Draw(t, "partition")
			n := rapid.IntRange(0, 60).Draw(t, "batch")
			err := error(nil)
			if n == 0 {
				n, err = 1, out.Write(ctx, p, chantest.Record(fmt.Sprint(p), want[p]))
			} else {
				err = out.WriteBatch(ctx, p, chantest.Batch(fmt.Sprint(p), want[p], want[p]+n))
			}
			if want[p] += n; err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Close(ctx); err != nil {
			t.Fatal(err)
		}
		total := int64(0)
		for p, m := range ms {
			if len(m.got) != want[p] || !m.closed {
				t.Fatalf("partition %d: %d records, want %d; closed %v", p, len(m.got), want[p], m.closed)
			}
			for i, r := range m.got {
				if r != string(chantest.Record(fmt.Sprint(p), i)) {
					t.Fatalf("partition %d: record %d is wrong", p, i)
				}
			}
			total += int64(want[p])
		}
		if out.Counts().Records != total {
			t.Fatalf("counted %d, want %d", out.Counts().Records, total)
		}
	})
}

func TestOutputGathersAndRefuses(t *testing.T) {
	out, ms := port(2, 0)
	for range 10_000 {
		if err := out.Write(t.Context(), 0, []byte("0123456789")); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []int{-1, 2} {
		if err := out.Write(t.Context(), p, nil); err == nil || !strings.Contains(err.Error(), "partition") {
			t.Error(err)
		}
	}
	if err := out.WriteBatch(t.Context(), 1, &job.Batch{Data: []byte("x"), Ends: []uint32{2}}); err == nil {
		t.Error("a bad batch was taken")
	}
	if err := out.Close(t.Context()); err != nil || ms[0].batches != 2 {
		t.Errorf("%v, %d batches", err, ms[0].batches)
	}
	if err := out.Write(t.Context(), 0, nil); !errors.Is(err, channel.ErrClosed) {
		t.Error(err)
	}
	if out.Abort(io.EOF); ms[0].aborted != nil {
		t.Error("aborted after Close")
	}
}

// TestFailedWriteNeverLooksComplete: after a lost batch no stream is closed as complete.
func TestFailedWriteNeverLooksComplete(t *testing.T) {
	out, ms := port(2, 0)
	ms[0].fail = channel.ErrPeerLost
	if err := out.Write(t.Context(), 0, make([]byte, job.BatchBytes)); !errors.Is(err, channel.ErrPeerLost) {
		t.Fatal(err)
	}
	ms[0].fail = nil
	if err := out.Close(t.Context()); !errors.Is(err, channel.ErrPeerLost) || ms[0].closed {
		t.Error(err, ms[0].closed)
	}
	if out.Abort(io.ErrUnexpectedEOF); ms[1].aborted == nil {
		t.Error("the other stream was not aborted")
	}
}

func TestForkCopies(t *testing.T) {
	a, am := port(1, 0)
	b, bm := port(1, 0)
	f, err := channel.Fork(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WriteBatch(t.Context(), 0, chantest.Batch("s", 0, 500)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Write(t.Context(), 0, []byte("last")), f.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	if len(am[0].got) != 501 || strings.Join(am[0].got, "|") != strings.Join(bm[0].got, "|") {
		t.Error(len(am[0].got), len(bm[0].got))
	}
	two, _ := port(2, 0)
	if _, err := channel.Fork(a, two); err == nil {
		t.Error("ports of 1 and 2 partitions were forked")
	}
	if _, err := channel.Fork(); err == nil {
		t.Error("a fork of nothing")
	}
}

// list is a source of given batches.
type list struct {
	from    int
	batches []*job.Batch
	err     error
	stored  bool
	mu      *sync.Mutex
	open    *int // how many stored sources are read now
	most    *int
	begun   bool
	closed  bool
}

func (l *list) From() int    { return l.from }
func (l *list) Bytes() int64 { return -1 }
func (l *list) Stored() bool { return l.stored }
func (l *list) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return nil
}

func (l *list) Next(context.Context) (*job.Batch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun {
		l.begun = true
		*l.open++
		*l.most = max(*l.most, *l.open)
	}
	if len(l.batches) == 0 {
		*l.open--
		if l.err == nil {
			return nil, io.EOF
		}
		return nil, l.err
	}
	b := l.batches[0]
	l.batches = l.batches[1:]
	return b, nil
}

func lists(n int, stored bool) ([]*list, *int) {
	mu, open, most := &sync.Mutex{}, new(int), new(int)
	out := make([]*list, n)
	for i := range out {
		out[i] = &list{from: i, stored: stored, mu: mu, open: open, most: most}
		for j := range 5 {
			out[i].batches = append(out[i].batches, chantest.Batch(fmt.Sprint("m", i), 10*j, 10*j+10))
		}
	}
	return out, most
}

// drain reads by Next and checks that each stream's records are in order.
func drain(ctx context.Context, m *channel.Merge) (map[string]int, error) {
	got := map[string]int{}
	for {
		b, err := m.Next(ctx)
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		for r := range b.All() {
			name, _, _ := bytes.Cut(r, []byte("/"))
			if want := chantest.Record(string(name), got[string(name)]); !bytes.Equal(r, want) {
				return got, fmt.Errorf("%.30q where %.30q was next", r, want)
			}
			got[string(name)]++
		}
	}
}

// Small batches of stored sources are joined, those of streams and large ones are not.
func TestMergeJoinsSmallStoredBatches(t *testing.T) {
	for _, c := range []struct {
		name        string
		stored      bool
		size        int // of a record
		least, most int // batches
	}{
		{"stored", true, 100, 1, 4 + 2}, // 4 at once, and 50,000 bytes in all
		{"streamed", false, 100, 500, 500},
		{"large", true, job.BatchBytes / 4, 500, 500},
	} {
		sources, mu, numbers := 500, &sync.Mutex{}, new([2]int)
		m := channel.NewMerge(sources)
		for i := range sources {
			b := &job.Batch{}
			b.Append(bytes.Repeat([]byte{byte(i)}, c.size))
			m.Add(&list{from: i, stored: c.stored, batches: []*job.Batch{b}, mu: mu, open: &numbers[0], most: &numbers[1]})
		}
		m.Done()
		batches, records := 0, 0
		for {
			b, err := m.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(b.Data) > job.BatchBytes {
				t.Errorf("%s: a batch of %d bytes", c.name, len(b.Data))
			}
			batches++
			records += b.Len()
		}
		if batches < c.least || batches > c.most || records != sources {
			t.Errorf("%s: %d records in %d batches, want %d in %d to %d", c.name, records, batches, sources, c.least, c.most)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestMergeReadsAllThatComesWhileItRuns(t *testing.T) {
	for _, stored := range []bool{false, true} {
		ls, most := lists(50, stored)
		m := channel.NewMerge(len(ls))
		go func() {
			for _, l := range ls {
				m.Add(l)
			}
			m.Done()
		}()
		got, err := drain(t.Context(), m)
		if err != nil || len(got) != len(ls) {
			t.Fatal(len(got), err)
		}
		for name, n := range got {
			if n != 50 {
				t.Errorf("%s: %d records", name, n)
			}
		}
		if stored && *most > 4 {
			t.Errorf("%d stored sources were read at once", *most)
		}
		if m.Counts().Records != 50*50 || m.Sources() != 50 {
			t.Error(m.Counts(), m.Sources())
		}
		if _, err := m.NextSource(t.Context()); err == nil || errors.Is(err, io.EOF) {
			t.Error("Next and NextSource on one input:", err)
		}
		_ = m.Close()
	}
}

func TestNextSourceWaitsForProducers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ls, _ := lists(3, true)
		m := channel.NewMerge(3)
		defer m.Close()
		go func() {
			for _, l := range ls {
				<-time.After(time.Minute)
				m.Add(l)
			}
			<-time.After(time.Minute)
			m.Done()
		}()
		for i := range ls {
			s, err := m.NextSource(t.Context())
			if err != nil || s.From() != i || !channel.IsStored(s) {
				t.Fatal(i, err)
			}
			if err := chantest.Check(t.Context(), s, fmt.Sprint("m", i), 50); err != nil {
				t.Error(err)
			}
		}
		if _, err := m.NextSource(t.Context()); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	})
}

func TestMergeFailuresNameTheSource(t *testing.T) {
	for _, bySource := range []bool{false, true} {
		ls, _ := lists(5, true)
		ls[3].err = channel.ErrLost
		m := channel.NewMerge(5)
		for _, l := range ls {
			m.Add(l)
		}
		m.Done()
		var err error
		if bySource {
			for err == nil {
				var s job.Source
				if s, err = m.NextSource(t.Context()); err == nil {
					_, err = chantest.Prefix(t.Context(), s, fmt.Sprint("m", s.From()))
				}
			}
		} else {
			_, err = drain(t.Context(), m)
		}
		var from *channel.SourceError
		if !errors.Is(err, channel.ErrLost) || !errors.As(err, &from) || from.From != 3 {
			t.Error(err)
		}
		_ = m.Close()
		for _, l := range ls {
			if !l.closed {
				t.Errorf("source %d was left open", l.from)
			}
		}
	}
}

func TestMergeEndsOnFailCloseAndContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := channel.NewMerge(1)
		w, s := shm.New(shm.Options{Scratch: t.TempDir()})
		m.Add(s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := m.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		lost := errors.New("its producer is lost")
		time.AfterFunc(time.Second, func() { m.Fail(lost) })
		if _, err := m.Next(t.Context()); !errors.Is(err, lost) {
			t.Error(err)
		}
		_ = m.Close()
		if err := w.WriteBatch(t.Context(), chantest.Batch("s", 0, 1)); err != nil {
			t.Error("the writer of a closed input is not free:", err)
		}
		late, _ := lists(1, false)
		if m.Add(late[0]); !late[0].closed {
			t.Error("a source that came too late was left open")
		}
	})
}

func BenchmarkOutput(b *testing.B) {
	for _, size := range []int{10, 100, 10_000} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			ws := make([]channel.Writer, 16)
			for i := range ws {
				ws[i] = discard{}
			}
			out := channel.NewOutput(ws, 0)
			rec := make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_ = out.Write(b.Context(), i&15, rec)
			}
		})
	}
}

type discard struct{}

func (discard) WriteBatch(_ context.Context, b *job.Batch) error { job.PutBatch(b); return nil }
func (discard) Close(context.Context) error                      { return nil }
func (discard) Abort(error)                                      {}

// told is a stored source that notes what it is told of sources that are read soon.
type told struct {
	job.Source
	t    *testing.T
	soon *[]int
	read bool
}

func (s *told) From() int    { return 0 }
func (s *told) Stored() bool { return true }
func (s *told) Close() error { return nil }
func (s *told) Next(context.Context) (*job.Batch, error) {
	s.read = true
	return nil, io.EOF
}

func (s *told) ReadSoon(all []job.Source) {
	*s.soon = append(*s.soon, len(all))
	for _, other := range all {
		if other.(*told).read {
			s.t.Error("a source that was read is told to be read soon")
		}
		other.(*told).read = true // it must not be told again
	}
}

// Of very many sources that wait, a bounded number is told that it is read soon, each once.
func TestSourcesThatAreReadSoon(t *testing.T) {
	var soon []int
	m := channel.NewMerge(2000)
	for range 2000 {
		m.Add(&told{t: t, soon: &soon})
	}
	m.Done()
	sum, most := 0, 0
	for n := 1; ; n++ {
		s, err := m.NextSource(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		sum = 0
		for _, told := range soon {
			sum += told
		}
		most = max(most, sum+1-n) // the first one is read at once
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if sum != 1999 || most > 512 || len(soon) > 10 {
		t.Errorf("%d sources were told, at most %d ahead, in %v", sum, most, soon)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// whole is a stored source that may be read with others.
type whole struct {
	*list
	alone bool // it can't be
	calls *int // of ReadTogether, guarded by list.mu
}

func (w *whole) ReadTogether(all []job.Source, take func(*job.Batch) error) (int, error) {
	w.mu.Lock()
	*w.calls++
	w.mu.Unlock()
	for i, s := range all {
		o := s.(*whole)
		if o.alone {
			return i, nil
		}
		for _, b := range o.batches {
			if err := take(b); err != nil {
				return i, err
			}
		}
		o.batches = nil
		_ = o.Close()
	}
	return len(all), nil
}

// Sources that can be read together are, in few calls, and so are those between others that can't.
// Each is read once, and closed.
func TestSourcesAreReadTogether(t *testing.T) {
	for _, each := range []int{0, 1, 2, 7, 100, 399} { // one in so many is read alone; 0: none
		ls, _ := lists(400, true)
		m, calls := channel.NewMerge(len(ls)), new(int)
		alone := 0
		for i, l := range ls {
			w := &whole{list: l, calls: calls, alone: each > 0 && i%each == each-1}
			if w.alone {
				alone++
			}
			m.Add(w)
		}
		m.Done()
		got, err := drain(t.Context(), m)
		if err != nil || len(got) != len(ls) {
			t.Fatal(len(got), err)
		}
		for name, n := range got {
			if n != 50 {
				t.Errorf("%d records of %s", n, name)
			}
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		for i, l := range ls {
			if !l.closed {
				t.Errorf("source %d is open", i)
			}
		}
		if most := 4 + len(ls)/64 + 2*alone + 4; *calls > most || *calls == 0 {
			t.Errorf("one in %d alone: %d calls, want at most %d", each, *calls, most)
		}
	}
}

// An input that is closed while sources are read together closes all of them.
func TestSourcesThatAreReadTogetherAreClosed(t *testing.T) {
	for range 50 {
		ls, _ := lists(300, true)
		m, calls := channel.NewMerge(len(ls)), new(int)
		for i, l := range ls {
			m.Add(&whole{list: l, calls: calls, alone: i%50 == 49})
		}
		if _, err := m.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		for i, l := range ls {
			l.mu.Lock()
			if !l.closed {
				t.Errorf("source %d is open", i)
			}
			l.mu.Unlock()
		}
	}
}

package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type place struct {
	*testing.T
	o Options
}

func newPlace(t *testing.T, fileBytes int64, keep int) *place {
	return &place{t, Options{Folder: filepath.Join(t.TempDir(), "audit"), FileBytes: fileBytes, Keep: keep, Log: slog.New(slog.DiscardHandler)}}
}

func (p *place) open() *Log {
	p.Helper()
	l, err := Open(p.o)
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = l.Close() }) // some close it themselves
	return l
}

// lines are the subjects of all lines in the folder, the oldest first. A file that others than its
// owner can read, or larger than its bound, fails.
func (p *place) lines(l *Log) (about []string) {
	p.Helper()
	names := []string{}
	for _, n := range l.full() {
		names = append(names, fullName(n))
	}
	for _, name := range append(names, current) {
		path := filepath.Join(p.o.Folder, name)
		text, err := os.ReadFile(path)
		if err != nil {
			p.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 || info.Size() > p.o.FileBytes {
			p.Errorf("%s: mode %v, %d bytes, %v", name, info.Mode(), info.Size(), err)
		}
		for line := range strings.Lines(string(text)) {
			var x Line
			if err := json.Unmarshal([]byte(line), &x); err != nil {
				about = append(about, "cut off")
				continue
			}
			about = append(about, x.What)
		}
	}
	return about
}

func (p *place) says(l *Log, want ...string) {
	p.Helper()
	if got := p.lines(l); strings.Join(got, " ") != strings.Join(want, " ") {
		p.Errorf("the audit has %q, not %q", got, want)
	}
}

func write(t testing.TB, l *Log, about ...string) {
	t.Helper()
	for _, a := range about {
		if err := l.Write(Line{Who: "ann", What: a, Result: Done}); err != nil {
			t.Fatal(err)
		}
	}
}

// The audit is bounded: full files are put aside, and the oldest go.
func TestFilesAreBounded(t *testing.T) {
	p := newPlace(t, 200, 2) // three lines
	l := p.open()
	var all []string
	for i := range 20 {
		all = append(all, fmt.Sprintf("job-%02d", i))
	}
	write(t, l, all[:10]...)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = p.open() // goes on
	write(t, l, all[10:]...)
	got := p.lines(l)
	if n := len(got); n < 5 || n > 9 || strings.Join(got, " ") != strings.Join(all[len(all)-n:], " ") {
		t.Errorf("the audit has %q: the newest, in order, are to be there", got)
	}
	if n := len(l.full()); n != 2 {
		t.Errorf("there are %d full files", n)
	}
}

// A line that a crash cut off harms none that follow.
func TestALineThatWasCutOff(t *testing.T) {
	p := newPlace(t, 1000, 2)
	write(t, p.open(), "first")
	path := filepath.Join(p.o.Folder, current)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, `{"time":"2026`...), 0o644); err != nil {
		t.Fatal(err)
	}
	l := p.open()
	write(t, l, "second")
	p.says(l, "first", "cut off", "second")
}

// While the audit can't be written no change is begun. Lines of changes in progress are written
// first when it works again.
func TestNoChangeWithoutALine(t *testing.T) {
	p := newPlace(t, 1000, 2)
	l := p.open()
	_, under := BeginEntry(context.Background(), l, Line{What: "under way"})
	if err := under.Change(); err != nil {
		t.Fatal(err)
	}
	spoil(t, p, l)
	if err := under.End(nil); status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "it was done, and not written") {
		t.Errorf("what was under way is told %v", err)
	}
	_, next := BeginEntry(context.Background(), l, Line{What: "next"})
	if err := next.Change(); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "no change is taken while it can't be written into the audit") {
		t.Errorf("the next change is told %v", err)
	}
	_, refused := BeginEntry(context.Background(), l, Line{What: "refused"})
	_ = refused.End(denied) // that it waits is seen below
	if lines, wrong := l.Waiting(); lines != 2 || wrong == nil {
		t.Errorf("%d lines wait, because of %v", lines, wrong)
	}
	if err := os.Remove(p.o.Folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(p.o.Folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := next.Change(); err != nil {
		t.Fatal(err)
	}
	if err := next.End(nil); err != nil {
		t.Fatal(err)
	}
	p.says(l, "under way", "refused", "next")
	if lines, wrong := l.Waiting(); lines != 0 || wrong != nil {
		t.Errorf("when it is written again %d lines wait, because of %v", lines, wrong)
	}
}

// spoil has the folder be a file, and the file closed: nothing can be written or opened.
func spoil(t *testing.T, p *place, l *Log) {
	t.Helper()
	if err := errors.Join(l.file.Close(), os.RemoveAll(p.o.Folder), os.WriteFile(p.o.Folder, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
}

var denied = status.Error(codes.PermissionDenied, "ann may not")

// A request that only reads leaves no line, unless it is refused; any other leaves one.
func TestWhatLeavesALine(t *testing.T) {
	for _, story := range []struct {
		change  bool
		outcome error
		want    string
	}{
		{false, nil, ""},
		{false, status.Error(codes.NotFound, "there is no job-7"), ""},
		{false, denied, `"result":"refused","why":"ann may not"}`},
		{false, status.Error(codes.Unauthenticated, "who?"), `"result":"refused","why":"who?"}`},
		{true, nil, `"before":"a<b","after":"c","result":"ok"}`},
		{true, denied, `"before":"a<b","after":"c","result":"refused","why":"ann may not"}`},
		{true, errors.New("broken"), `"before":"a<b","after":"c","result":"error","why":"broken"}`},
	} {
		p := newPlace(t, 1000, 2)
		l := p.open()
		ctx, e := BeginEntry(context.Background(), l, Line{Who: "ann", Groups: []string{"g"}, Proof: "certificate", By: "gw", Address: "10.0.0.1:7", Method: "Kill"})
		if story.change {
			if err := Of(ctx).Change(); err != nil {
				t.Fatal(err)
			}
			Of(ctx).About("job-7\n")
			Of(ctx).Changed("a<b", "c")
		}
		for range 2 {
			if err := e.End(story.outcome); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(filepath.Join(p.o.Folder, current))
		if err != nil {
			t.Fatal(err)
		}
		head := `"who":"ann","groups":["g"],"proof":"certificate","by":"gw","address":"10.0.0.1:7","method":"Kill",`
		if story.change {
			head += `"what":"job-7\n",`
		}
		rest, at, ok := strings.Cut(strings.TrimSuffix(string(text), "\n"), `,"who"`)
		got := `"who"` + at
		if story.want == "" {
			if ok {
				t.Errorf("%v left %s", story.outcome, text)
			}
			continue
		}
		if got != head+story.want {
			t.Errorf("%s\nis to be\n%s", got, head+story.want)
		}
		var when struct{ Time time.Time }
		if err := json.Unmarshal([]byte(rest+"}"), &when); err != nil || when.Time.IsZero() {
			t.Errorf("%s has no time: %v", text, err)
		}
	}
}

// A caller that is refused repeatedly gets so many lines and a number. It does not push out the
// lines of others: neither changes nor refusals.
func TestRefusalsThatFloodTheAudit(t *testing.T) {
	p := newPlace(t, 1<<20, 2)
	clock := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	p.o.Now = func() time.Time { return clock }
	l := p.open()
	refuse := func(who, address, about string) {
		t.Helper()
		if err := l.Write(Line{Time: clock.Format(time.RFC3339), Who: who, Address: address, What: about, Result: Refused, Why: "no"}); err != nil {
			t.Fatal(err)
		}
	}
	var want []string
	for i := range 3 * refusalsMax {
		about := fmt.Sprintf("job-%02d", i)
		refuse("eve", "10.0.0.1:7", about)
		refuse("", fmt.Sprintf("10.0.0.2:%d", 1000+i), "stranger-"+about)
		if i < refusalsMax {
			want = append(want, about, "stranger-"+about)
		}
	}
	refuse("ann", "10.0.0.1:8", "job-ann")
	write(t, l, "a-change")
	p.says(l, append(want, "job-ann", "a-change")...)
	clock = clock.Add(refusalsWithin)
	refuse("eve", "10.0.0.1:7", "job-again") // a caller that continues has no lines of its own
	refuse("ann", "10.0.0.1:8", "job-ann-again")
	last := fmt.Sprintf("job-%02d", 3*refusalsMax-1)
	want = append(want, "job-ann", "a-change", "stranger-"+last, last, "job-ann-again")
	p.says(l, want...)
	clock = clock.Add(2 * refusalsWithin)
	write(t, l, "another-change")
	want = append(want, "job-again", "another-change")
	p.says(l, want...)
	clock = clock.Add(refusalsMax * refusalAgain) // and a caller that pauses has them again
	refuse("eve", "10.0.0.1:7", "job-new")
	want = append(want, "job-new")
	p.says(l, want...)
	text, err := os.ReadFile(filepath.Join(p.o.Folder, current))
	if n := strings.Count(string(text), fmt.Sprintf(`"more":%d`, 2*refusalsMax)); err != nil || n != 2 {
		t.Errorf("%d lines tell how many have none (%v):\n%s", n, err, text)
	}
	for range refusalsMax {
		refuse("eve", "10.0.0.1:7", "job-last")
	}
	if err := l.Close(); err != nil { // counted refusals are written before the end
		t.Fatal(err)
	}
	text, err = os.ReadFile(filepath.Join(p.o.Folder, current))
	if err != nil || !strings.HasSuffix(string(text), `"more":1}`+"\n") {
		t.Errorf("%v: the audit ends without its number:\n%s", err, text)
	}
}

// A caller that is refused without end leaves few lines, and each refusal is counted. So does one
// that owns a network of addresses.
func TestWhoIsRefusedWithoutEnd(t *testing.T) {
	for _, address := range []func(i int) string{
		func(i int) string { return fmt.Sprintf("10.0.0.1:%d", 1000+i%60000) },
		func(i int) string { return fmt.Sprintf("[2001:db8::%x:%x]:7", i>>16, i&0xffff) },
	} {
		var r refusals
		now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
		lines, counted := 0, 0
		const day, every = 24 * time.Hour, 500 * time.Millisecond
		for i := range int(day / every) {
			for _, l := range r.over(now) {
				lines, counted = lines+1, counted+l.More
			}
			if write, _ := r.countRefusal(Line{Address: address(i)}, now); write {
				lines, counted = lines+1, counted+1
			}
			now = now.Add(every)
		}
		for _, l := range r.over(now.Add(refusalsWithinMax)) {
			counted += l.More
		}
		if lines > 2000 || counted != int(day/every) {
			t.Errorf("a day of refusals left %d lines, which tell of %d of %d", lines, counted, int(day/every))
		}
	}
}

// While nothing can be written refusals make room for one another, and never take that of a change
// that was done.
func TestRefusalsTakeNoChangesPlace(t *testing.T) {
	p := newPlace(t, 1<<30, 2)
	l := p.open()
	_, under := BeginEntry(context.Background(), l, Line{What: "a-change"})
	if err := under.Change(); err != nil {
		t.Fatal(err)
	}
	spoil(t, p, l)
	_ = under.End(nil) // that it waits is seen below
	for i := range pendingMax + 100 {
		if err := l.Write(Line{Who: fmt.Sprint(i), What: "refused", Result: Refused}); err == nil {
			t.Fatal("it was written")
		}
	}
	if err := errors.Join(os.Remove(p.o.Folder), os.Mkdir(p.o.Folder, 0o700), l.Ready()); err != nil {
		t.Fatal(err)
	}
	lines := p.lines(l)
	if len(lines) != pendingMax || lines[0] != "a-change" {
		t.Errorf("%d lines, and the first is about %q", len(lines), lines[0])
	}
}

// The refusals of many callers are all counted, in bounded memory.
func TestManyWhoAreRefused(t *testing.T) {
	var r refusals
	now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	written := 0
	const many = askersMax + 1000
	for i := range many {
		if write, _ := r.countRefusal(Line{Who: fmt.Sprint(i)}, now); write {
			written++
		}
	}
	if len(r.by) > askersMax+1 {
		t.Errorf("%d are told apart", len(r.by))
	}
	more := 0
	for _, l := range r.over(now.Add(refusalsWithin)) {
		more += l.More
	}
	if r.over(now.Add(refusalsWithin + refusalsMax*refusalAgain)); written+more != many || len(r.by) != 0 {
		t.Errorf("%d written and %d counted of %d; %d are kept", written, more, many, len(r.by))
	}
}

// The entry of a context without one accepts every call.
func TestNobodysEntry(t *testing.T) {
	e := Of(context.Background())
	e.About("x")
	e.Changed("a", "b")
	e.Changes()
	if err := errors.Join(e.Change(), e.End(nil), e.End(denied)); err != nil {
		t.Error(err)
	}
}

// BenchmarkLine is the cost of a change's line.
func BenchmarkLine(b *testing.B) {
	l, err := Open(Options{Folder: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	for b.Loop() {
		ctx, e := BeginEntry(context.Background(), l, Line{Who: "ann", Proof: "certificate", Address: "10.0.0.1:1234", Method: "Submit"})
		if err := Of(ctx).Change(); err != nil {
			b.Fatal(err)
		}
		if err := e.End(nil); err != nil {
			b.Fatal(err)
		}
	}
}

// The line of any request is bounded, also before the caller is authenticated.
func TestALineIsBounded(t *testing.T) {
	p := newPlace(t, 1<<20, 2)
	log := p.open()
	long := strings.Repeat("ü", 50_000)
	_, e := BeginEntry(t.Context(), log, Line{Who: long, By: long, Address: long, Method: long, What: long})
	if err := e.EndAs(Refused, long); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(p.o.Folder, current))
	var line Line
	if err != nil || json.Unmarshal(text, &line) != nil || len(text) > 6*(textBytesMax+100) || len(line.Method) > 2*methodBytesMax || !strings.HasSuffix(line.What, " bytes more)") {
		t.Errorf("a line of %d bytes: %.200s (%v)", len(text), text, err)
	}
}

// Uploads that arrived complete have lines only if that is configured; refused ones always have.
func TestUploadsLeaveLinesWhenAsked(t *testing.T) {
	for _, asked := range []bool{false, true} {
		p := newPlace(t, 1<<20, 2)
		p.o.Uploads = asked
		l := p.open()
		for _, x := range []struct {
			method  string
			outcome error
		}{{"PutBlob", nil}, {"Submit", nil}, {"PutBlob", status.Error(codes.PermissionDenied, "no")}, {"PutBlob", status.Error(codes.Internal, "no room")}} {
			_, e := BeginEntry(t.Context(), l, Line{Method: x.method, What: fmt.Sprint(x.method, " ", status.Code(x.outcome))})
			if err := errors.Join(e.Change(), e.End(x.outcome)); err != nil {
				t.Fatal(err)
			}
		}
		want := "[Submit OK PutBlob PermissionDenied PutBlob Internal]"
		if asked {
			want = "[PutBlob OK Submit OK PutBlob PermissionDenied PutBlob Internal]"
		}
		if got := fmt.Sprint(p.lines(l)); got != want {
			t.Errorf("asked %v: the lines are about %s, want %s", asked, got, want)
		}
	}
}

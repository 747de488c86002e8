package vetting

import (
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
)

var start = time.Unix(1_000_000, 0)

// own is attempt 7 of two nodes, which has received two sources.
func own() *Attempt {
	a := NewAttempt(&wire.StartAttempt{
		Attempt: 7, Nodes: []*wire.NodeRef{{Stage: 1, Index: 4}, {Stage: 2, Index: 4}},
		Sources: []*wire.Source{{Connection: 3, From: 0, Attempt: 5}, {Connection: 3, From: 70, Attempt: 6}},
	})
	return &a
}

// last is attempt 9, which publishes two outputs.
func last() *Attempt {
	a := NewAttempt(&wire.StartAttempt{Attempt: 9, Finish: &wire.Finish{
		Publish: true, Outputs: []string{"x", "y"}, Files: []*wire.CommittedFile{{}, {}}, FilesTotal: 5,
	}})
	return &a
}

func started(id uint64) *wire.Report {
	return &wire.Report{What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: id}}}
}

func phase(id uint64) *wire.Report {
	return &wire.Report{What: &wire.Report_Phase{Phase: &wire.AttemptPhase{Attempt: id, Executing: true}}}
}

func progress(id uint64) *wire.Report {
	return &wire.Report{What: &wire.Report_Progress{Progress: &wire.AttemptProgress{Attempt: id, Work: &wire.Work{}}}}
}

func ended(e *wire.AttemptEnded) *wire.Report {
	return &wire.Report{What: &wire.Report_Ended{Ended: e}}
}

func lost(id uint64, connection, from uint32) *wire.Report {
	return &wire.Report{What: &wire.Report_InputLost{InputLost: &wire.InputLost{Attempt: id, Connection: connection, From: from}}}
}

func taken(id, confirm uint64) *wire.Report {
	return &wire.Report{What: &wire.Report_SourcesTaken{SourcesTaken: &wire.SourcesTaken{Attempt: id, Confirm: confirm}}}
}

func wanted(id, from uint64) *wire.Report {
	return &wire.Report{What: &wire.Report_FilesWanted{FilesWanted: &wire.FilesWanted{Attempt: id, From: from}}}
}

func commit(id uint64) *wire.Report { return &wire.Report{What: &wire.Report_Commit{Commit: id}} }

// everyKind is one report of each kind that a worker sends.
func everyKind(id uint64) []*wire.Report {
	return []*wire.Report{
		started(id), phase(id), progress(id), ended(&wire.AttemptEnded{Attempt: id, End: wire.End_END_FINISHED}),
		lost(id, 3, 0), commit(id), taken(id, 1), wanted(id, 0),
	}
}

func kindOf(err error) Kind {
	if o := (*Offence)(nil); errors.As(err, &o) {
		return o.Kind
	}
	return ""
}

// A worker may report only on the attempt that it was assigned. A report of another attempt ends
// it; a report of an earlier attempt of its own counts as late.
func TestAWorkerReportsOfItsOwnAttempt(t *testing.T) {
	for _, r := range everyKind(8) {
		for name, a := range map[string]*Attempt{"another": own(), "none": nil} {
			var s Sender
			s.Assigned(6)
			s.Assigned(7)
			if take, _, err := s.Check(a, proto.CloneOf(r), start); take || kindOf(err) != Foreign || !strings.Contains(err.Error(), "attempt-8") {
				t.Errorf("while it runs %s, %v is taken: %t, %v", name, r, take, err)
			}
		}
		var s Sender
		for id := range uint64(10) {
			s.Assigned(id)
		}
		if take, _, err := s.Check(own(), r, start); take || err != nil {
			t.Errorf("%v of an earlier attempt is taken: %t, %v", r, take, err)
		}
	}
	for _, r := range []*wire.Report{
		{What: &wire.Report_Suspended{Suspended: 7}},
		{What: &wire.Report_Resumed{Resumed: 7}},
		{What: &wire.Report_OutputLost{OutputLost: &wire.Stored{Attempt: 7}}},
		{What: &wire.Report_Inventory{Inventory: &wire.Inventory{}}},
		{What: &wire.Report_Refused{Refused: &wire.CommandRefused{Attempt: 7}}},
		{What: &wire.Report_Load{Load: &wire.MachineLoad{}}},
		{What: &wire.Report_JobDropped{JobDropped: 1}},
		{What: &wire.Report_Offence{Offence: &wire.WorkerOffence{}}},
	} {
		if take, _, err := new(Sender).Check(own(), r, start); take || kindOf(err) != Foreign {
			t.Errorf("%v, which launchers send, is taken: %t, %v", r, take, err)
		}
	}
}

// An attempt reports single events once, and names only inputs, files and outputs of its own.
func TestWhatAnAttemptMayReport(t *testing.T) {
	const dropped = Kind("dropped")
	end := func(e *wire.AttemptEnded) *wire.Report {
		e.End = wire.End_END_FINISHED
		return ended(e)
	}
	ours := &wire.CommittedFile{Stage: 1, Index: 4, Temporary: "a7.0.part"}
	for _, story := range []struct {
		of      *Attempt
		reports []*wire.Report
		want    []Kind // "": taken
	}{
		{own(), []*wire.Report{started(7), started(7)}, []Kind{"", dropped}},
		{own(), []*wire.Report{phase(7), phase(7)}, []Kind{"", dropped}},
		{own(), []*wire.Report{commit(7), commit(7)}, []Kind{"", dropped}},
		{own(), []*wire.Report{progress(7), progress(7)}, []Kind{"", ""}},
		{own(), []*wire.Report{lost(7, 3, 0), lost(7, 3, 0), lost(7, 3, 70)}, []Kind{"", dropped, ""}},
		{own(), []*wire.Report{lost(7, 3, 1)}, []Kind{Unknown}},
		{own(), []*wire.Report{lost(7, 2, 0)}, []Kind{Unknown}},
		{own(), []*wire.Report{lost(7, 3, 1<<32-1)}, []Kind{Unknown}},
		{own(), []*wire.Report{taken(7, 1)}, []Kind{dropped}},
		{own(), []*wire.Report{wanted(7, 0)}, []Kind{Unknown}},
		{last(), []*wire.Report{wanted(9, 1), wanted(9, 2), wanted(9, 2)}, []Kind{dropped, "", dropped}},
		{last(), []*wire.Report{end(&wire.AttemptEnded{Attempt: 9, Published: []uint32{0, 1}}), end(&wire.AttemptEnded{Attempt: 9})}, []Kind{"", dropped}},
		{last(), []*wire.Report{end(&wire.AttemptEnded{Attempt: 9, Published: []uint32{2}})}, []Kind{Unknown}},
		{last(), []*wire.Report{end(&wire.AttemptEnded{Attempt: 9, Files: []*wire.CommittedFile{{Temporary: "a9.0.x"}}})}, []Kind{Unknown}},
		{own(), []*wire.Report{end(&wire.AttemptEnded{Attempt: 7, Published: []uint32{0}})}, []Kind{Unknown}},
		{own(), []*wire.Report{end(&wire.AttemptEnded{Attempt: 7, Files: []*wire.CommittedFile{ours}, Stored: []*wire.StoredOutput{{From: 4}}})}, []Kind{""}},
		{own(), []*wire.Report{end(&wire.AttemptEnded{Attempt: 7, Stored: []*wire.StoredOutput{{From: 5}}})}, []Kind{Unknown}},
		{own(), []*wire.Report{end(&wire.AttemptEnded{Attempt: 7, Files: []*wire.CommittedFile{{Stage: 3, Index: 4, Temporary: "a7.0.part"}}})}, []Kind{Unknown}},
		{own(), []*wire.Report{end(&wire.AttemptEnded{Attempt: 7, Files: []*wire.CommittedFile{{Stage: 1, Index: 4, Temporary: "a70.0.part"}}})}, []Kind{Unknown}},
		{own(), []*wire.Report{end(&wire.AttemptEnded{Attempt: 7, Files: []*wire.CommittedFile{{Stage: 1, Index: 4, Temporary: "a7./../../x"}}})}, []Kind{Unknown}},
	} {
		var s Sender
		for i, r := range story.reports {
			take, _, err := s.Check(story.of, r, start)
			got := kindOf(err)
			if !take && err == nil {
				got = dropped
			}
			if got != story.want[i] || take == (err != nil) && take {
				t.Errorf("report %d of %v: %q, %v", i, story.reports, got, err)
			}
		}
	}
}

// The manager's messages to an attempt permit further reports: of inputs that were replaced, of
// updates to confirm, and of further files.
func TestWhatTheManagerTellsIsAnswered(t *testing.T) {
	a, s := own(), Sender{}
	expect := func(r *wire.Report, want bool) {
		t.Helper()
		if take, _, err := s.Check(a, r, start); take != want || err != nil {
			t.Errorf("%v is taken: %t, %v", r, take, err)
		}
	}
	expect(lost(7, 3, 0), true)
	a.NoteCommand(&wire.ToWorker{Do: &wire.ToWorker_Sources{Sources: &wire.SourcesUpdate{Confirm: 11, Sources: []*wire.Source{{Connection: 3, From: 0, Attempt: 20}, {Connection: 4, From: 2}}}}})
	expect(lost(7, 3, 0), true)
	expect(lost(7, 3, 0), false)
	expect(lost(7, 4, 2), true)
	expect(taken(7, 10), false)
	expect(taken(7, 11), true)
	expect(taken(7, 11), false)
	a = last()
	expect(wanted(9, 2), true)
	a.NoteCommand(&wire.ToWorker{Do: &wire.ToWorker_Files{Files: &wire.FilesUpdate{Attempt: 9, From: 2, Files: []*wire.CommittedFile{{}, {}}}}})
	expect(wanted(9, 2), false)
	expect(wanted(9, 4), true)
}

// A worker that floods its launcher is ended, whatever it sends; reports of lost inputs only wait.
func TestFloods(t *testing.T) {
	for name, story := range map[string]struct {
		r     func(int) *wire.Report
		burst int
	}{
		"progress":          {func(int) *wire.Report { return progress(7) }, ReportBurst},
		"phase":             {func(int) *wire.Report { return phase(7) }, 1 + RepeatedBurst},
		"commit":            {func(int) *wire.Report { return commit(7) }, 1 + RepeatedBurst},
		"the same input":    {func(int) *wire.Report { return lost(7, 3, 0) }, 1 + RepeatedBurst},
		"an update":         {func(i int) *wire.Report { return taken(7, uint64(i)) }, RepeatedBurst},
		"earlier attempts":  {func(int) *wire.Report { return progress(6) }, RepeatedBurst},
		"nothing":           {func(int) *wire.Report { return &wire.Report{} }, RepeatedBurst},
		"ends, of its last": {func(int) *wire.Report { return ended(&wire.AttemptEnded{Attempt: 6}) }, RepeatedBurst},
	} {
		var s Sender
		s.Assigned(6)
		a, n := own(), 0
		var err error
		for err == nil && n < 2*story.burst {
			if _, _, err = s.Check(a, story.r(n), start); err == nil {
				n++
			}
		}
		if n != story.burst || kindOf(err) != TooOften {
			t.Errorf("%s: after %d reports: %v", name, n, err)
		}
	}
	var s Sender
	for i := range 100_000 { // an honest worker, for half a day
		if _, _, err := s.Check(own(), progress(7), start.Add(time.Duration(i)*time.Second/2)); err != nil {
			t.Fatal(err)
		}
	}
	var many []*wire.Source
	for i := range uint32(InputLostBurst + 2000) {
		many = append(many, &wire.Source{From: i})
	}
	a := NewAttempt(&wire.StartAttempt{Attempt: 7, Sources: many})
	var wait time.Duration
	for i := range many {
		take, w, err := s.Check(&a, lost(7, 0, uint32(i)), start)
		if !take || err != nil {
			t.Fatal(take, err)
		}
		wait = w
	}
	if wait != 2*time.Second {
		t.Errorf("the last waits for %v", wait)
	}
}

// Each kind of report has its bound in bytes.
func TestReportsAreBoundedByBytes(t *testing.T) {
	long := strings.Repeat("x", 64<<10)
	for _, r := range []*wire.Report{
		{What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: 7, Address: long}}},
		{What: &wire.Report_Progress{Progress: &wire.AttemptProgress{Attempt: 7, Work: &wire.Work{Read: make([]int64, 5000)}}}},
		{What: &wire.Report_InputLost{InputLost: &wire.InputLost{Attempt: 7, Connection: 3, Reason: long}}},
	} {
		if take, _, err := new(Sender).Check(own(), r, start); take || kindOf(err) != TooLarge {
			t.Errorf("%.80v is taken: %t, %v", r, take, err)
		}
	}
	r := &wire.Report{Incarnation: 5, Term: 6, What: &wire.Report_Progress{Progress: &wire.AttemptProgress{Attempt: 7, Work: &wire.Work{Written: -1, Read: []int64{-5, 1, 2, 3, 4, 5, 6, 7, 8, 9}}}}}
	if take, _, err := new(Sender).Check(own(), r, start); !take || err != nil || r.Term != 0 || r.GetProgress().Work.Written != 0 || r.GetProgress().Work.Read[0] != 0 || len(r.GetProgress().Work.Read) != workLevelsMax {
		t.Errorf("%v: %t, %v", r, take, err)
	}
}

// framed is the encoded message.
func framed(t testing.TB, r *wire.Report, unknown int) []byte {
	t.Helper()
	text, err := proto.Marshal(&wire.FromWorker{What: &wire.FromWorker_Report{Report: r}})
	if err != nil {
		t.Fatal(err)
	}
	if unknown > 0 {
		text = append(text, withUnknown(unknown)...)
	}
	return text
}

// withUnknown is an unknown field of that many bytes.
func withUnknown(bytes int) []byte {
	m := &wire.FromWorker{}
	field := append([]byte{0xa2, 0x06}, varint(bytes)...) // number 100
	m.ProtoReflect().SetUnknown(append(field, make([]byte, bytes)...))
	text, _ := proto.Marshal(m)
	return text
}

func varint(n int) (b []byte) {
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// Only an end may be large, and no message keeps unknown fields.
func TestFramesAreBoundedBeforeTheyAreRead(t *testing.T) {
	end := framed(t, ended(&wire.AttemptEnded{Attempt: 7}), 0)
	for name, c := range map[string]struct {
		head []byte
		most int
	}{
		"an end":   {end[:min(len(end), 16)], endFrameBytesMax},
		"progress": {framed(t, progress(7), 0), ControlBytesMax},
		"garbage":  {[]byte{0xff, 0xff}, ControlBytesMax},
		"nothing":  {nil, ControlBytesMax},
	} {
		if got := FrameBytesMax(c.head); got != c.most {
			t.Errorf("%s: at most %d bytes", name, got)
		}
	}
	m, err := Decode(framed(t, progress(7), 1000))
	if err != nil || len(m.ProtoReflect().GetUnknown()) > 0 || m.GetReport().GetProgress().GetAttempt() != 7 {
		t.Errorf("%v, %v", m, err)
	}
	r := progress(7)
	r.GetProgress().ProtoReflect().SetUnknown(withUnknown(1000))
	if m, err = Decode(framed(t, r, 0)); err != nil || proto.Size(m) > 100 {
		t.Errorf("%d bytes are kept, %v", proto.Size(m), err)
	}
	if _, err = Decode(framed(t, &wire.Report{What: &wire.Report_InputLost{InputLost: &wire.InputLost{Reason: strings.Repeat("x", 2*ControlBytesMax)}}}, 0)); kindOf(err) != TooLarge {
		t.Errorf("a large report of a lost input: %v", err)
	}
	many := &wire.AttemptEnded{Attempt: 7, Stored: make([]*wire.StoredOutput, EndEntriesMax+1)}
	for i := range many.Stored {
		many.Stored[i] = &wire.StoredOutput{}
	}
	if _, err = Decode(framed(t, ended(many), 0)); kindOf(err) != TooLarge {
		t.Errorf("an end of very many entries: %v", err)
	}
	for _, text := range []string{"\xff\xff\xff\xff", "\x12\x05abc", strings.Repeat("\x12\x7f", ControlBytesMax)} {
		if _, err := Decode([]byte(text)); kindOf(err) != Garbled {
			t.Errorf("%.10q: %v", text, err)
		}
	}
}

// A worker reports the time limit of its own attempt, once.
func TestTimeLimits(t *testing.T) {
	var s Sender
	s.Assigned(6)
	s.Assigned(7)
	a := own()
	for _, c := range []struct {
		of   *Attempt
		m    *wire.AttemptLimit
		take bool
		want Kind
	}{
		{a, &wire.AttemptLimit{Attempt: 8}, false, Foreign},
		{nil, &wire.AttemptLimit{Attempt: 8}, false, Foreign},
		{a, &wire.AttemptLimit{Attempt: 6}, false, ""},
		{a, &wire.AttemptLimit{Attempt: 7, Stage: strings.Repeat("x", LimitBytesMax)}, false, TooLarge},
		{a, &wire.AttemptLimit{Attempt: 7, TimeoutNs: 5}, true, ""},
		{a, &wire.AttemptLimit{Attempt: 7, TimeoutNs: 50}, false, ""},
	} {
		if take, err := s.Limit(c.of, c.m, start); take != c.take || kindOf(err) != c.want {
			t.Errorf("%.100v: taken %t, %v", c.m, take, err)
		}
	}
}

// The text of what an attempt waits for is bounded.
func TestTextsOfWaitsAreBounded(t *testing.T) {
	var s Sender
	s.Assigned(7)
	for n, want := range map[int]Kind{wire.BlockedBytesMax: "", wire.BlockedBytesMax + 1: TooLarge} {
		r := progress(7)
		r.GetProgress().Blocked, r.GetProgress().IdleNs = strings.Repeat("x", n), -5
		if take, _, err := s.Check(own(), r, start); take != (want == "") || kindOf(err) != want || take && r.GetProgress().IdleNs != 0 {
			t.Errorf("%d bytes: taken %t, %v", n, take, err)
		}
	}
}

// FuzzFromWorker: of whatever a worker sends, only reports of its own attempt, small and known, are
// taken.
func FuzzFromWorker(f *testing.F) {
	for _, r := range append(everyKind(7), everyKind(8)...) {
		f.Add(framed(f, r, 0))
		f.Add(framed(f, r, 100))
	}
	f.Add(framed(f, ended(&wire.AttemptEnded{
		Attempt: 7, End: wire.End_END_FINISHED, Work: &wire.Work{Read: []int64{-1, 2}}, Counters: []*wire.Counter{{Name: "x", Value: -1}},
		Stored: []*wire.StoredOutput{{From: 4, PartitionBytes: []int64{1, 2}}}, Files: []*wire.CommittedFile{{Stage: 1, Index: 4, Temporary: "a7.0.x", Name: "x"}},
	}), 0))
	f.Add([]byte("\x0a\x02\x0a\x00"))
	f.Fuzz(func(t *testing.T, frame []byte) {
		if len(frame) > FrameBytesMax(frame[:min(len(frame), 16)]) {
			return
		}
		m, err := Decode(frame)
		if err != nil {
			if kindOf(err) == "" {
				t.Errorf("an error that is no offence: %v", err)
			}
			return
		}
		for _, a := range []*Attempt{own(), last(), nil} {
			var s Sender
			s.Assigned(6)
			if l := m.GetLimit(); l != nil {
				if take, err := s.Limit(a, l, start); err != nil && kindOf(err) == "" || take && (err != nil || l.Attempt != a.id) {
					t.Errorf("%v is taken: %t, %v", l, take, err)
				}
			}
			r := proto.CloneOf(m.GetReport())
			take, wait, err := s.Check(a, r, start)
			if err != nil && kindOf(err) == "" || take && err != nil || wait != 0 {
				t.Errorf("taken: %t, %v after %v", take, err, wait)
			}
			if !take {
				continue
			}
			if k, id, known := about(r); a == nil || !known || id != a.id || proto.Size(r) > limits[k].bytes || r.Term != 0 || r.Incarnation != 0 {
				t.Errorf("%v was taken", r)
			}
			if again, _, err := s.Check(a, r, start); again && r.GetProgress() == nil || err != nil {
				t.Errorf("%v was taken twice: %v", r, err)
			}
		}
	})
}

package manager

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/manager/internal/limits"
	"github.com/hamadryad/hamadryad/engine/manager/recovery"
	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/wire/rpc"
)

// eachText calls f once for each string and bytes field that a message can hold, with a
// message that holds only this one, of n bytes.
func eachText(d protoreflect.MessageDescriptor, n int, f func(path string, m proto.Message)) {
	var walk func(d protoreflect.MessageDescriptor, path string, within func(protoreflect.Message) proto.Message)
	walk = func(d protoreflect.MessageDescriptor, path string, within func(protoreflect.Message) proto.Message) {
		for i := range d.Fields().Len() {
			field := d.Fields().Get(i)
			name := path + "." + string(field.Name())
			set := func(v protoreflect.Value) proto.Message {
				m := dynamicpb.NewMessage(d)
				if field.IsList() {
					m.Mutable(field).List().Append(v)
				} else {
					m.Set(field, v)
				}
				return within(m)
			}
			switch field.Kind() {
			case protoreflect.StringKind:
				f(name, set(protoreflect.ValueOfString(strings.Repeat("x", n))))
			case protoreflect.BytesKind:
				f(name, set(protoreflect.ValueOfBytes(make([]byte, n))))
			case protoreflect.MessageKind:
				walk(field.Message(), name, func(m protoreflect.Message) proto.Message { return set(protoreflect.ValueOfMessage(m)) })
			}
		}
	}
	walk(d, string(d.Name()), func(m protoreflect.Message) proto.Message { return m.Interface() })
}

// call makes a call of any kind with one message and returns how it ended.
func call(ctx context.Context, conn *grpc.ClientConn, method protoreflect.MethodDescriptor, q proto.Message) error {
	name := fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, name, grpc.MaxCallSendMsgSize(1<<30))
	if err != nil {
		return err
	}
	_ = stream.SendMsg(q) // an error shows in what follows
	_ = stream.CloseSend()
	for {
		if err := stream.RecvMsg(dynamicpb.NewMessage(method.Output())); err != nil {
			return err
		}
	}
}

func services(t *testing.T) (list []protoreflect.ServiceDescriptor) {
	for _, name := range []protoreflect.FullName{protoreflect.FullName(rpc.Manager_ServiceDesc.ServiceName), protoreflect.FullName(rpc.Launchers_ServiceDesc.ServiceName)} {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, d.(protoreflect.ServiceDescriptor))
	}
	return list
}

// Every text and every bytes field of every method, oversized: each is refused, nothing
// of it reaches the log, and the work of others goes on.
func TestOversizedFieldsAreRefused(t *testing.T) {
	b := newTestbed(t)
	b.start()
	a := b.launcher("a", 1, true)
	job := b.submit(2)
	first, second := a.next(), a.next()
	calls := 0
	for _, service := range services(t) {
		for i := range service.Methods().Len() {
			method := service.Methods().Get(i)
			eachText(method.Input(), 5<<20, func(path string, q proto.Message) {
				calls++
				err := call(b.ctx(), b.conn, method, q)
				if code := status.Code(err); code != codes.InvalidArgument && code != codes.FailedPrecondition {
					t.Errorf("%s with 5 MiB in %s: %v", method.Name(), path, err)
				}
				if len(status.Convert(err).Message()) > 1<<10 {
					t.Errorf("%s with 5 MiB in %s: the refusal has %d bytes", method.Name(), path, len(status.Convert(err).Message()))
				}
			})
		}
	}
	// One of 70 MiB each of these once ended the manager.
	huge := strings.Repeat("x", 70<<20)
	for _, q := range []func() error{
		func() error { _, err := b.api.Drain(b.ctx(), &wire.DrainRequest{Launcher: huge}); return err },
		func() error {
			_, err := b.api.Kill(b.ctx(), &wire.JobRef{Job: job, Principal: &wire.Principal{Name: huge}})
			return err
		},
		func() error { _, err := b.api.Update(b.ctx(), &wire.UpdateRequest{Job: job, Pool: &huge}); return err },
	} {
		if err := q(); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("70 MiB: %v", err)
		}
	}
	if calls < 40 {
		t.Errorf("only %d fields were tried", calls)
	}
	for _, attempt := range []uint64{first, second} {
		if err := a.finish(attempt); err != nil {
			t.Fatal(err)
		}
	}
	if s := b.follow(job); !succeeded(s) {
		t.Fatal(s)
	}
	if n := logBytes(t, b.cfg.Data); n > 4<<20 {
		t.Errorf("the log has %d bytes", n)
	}
}

func logBytes(t *testing.T, data string) (n int64) {
	t.Helper()
	files, err := eventlog.Files(filepath.Join(data, "log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		s, err := eventlog.ReadSegment(f)
		if err != nil {
			t.Fatal(err)
		}
		n += int64(s.CheckpointBytes())
		for _, r := range s.Records {
			n += int64(len(r))
		}
	}
	return n
}

// However long the texts of a report are, the cut report is small.
func TestReportsAreTidied(t *testing.T) {
	eachText((&wire.Report{}).ProtoReflect().Descriptor(), 1<<20, func(path string, q proto.Message) {
		raw, err := proto.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		r := &wire.Report{}
		if err := proto.Unmarshal(raw, r); err != nil {
			t.Fatal(err)
		}
		if e := r.GetEnded(); e != nil {
			e.End = wire.End_END_FINISHED
		}
		if r = limits.TidyReport(r); r == nil {
			return // it belongs to no attempt
		}
		if n := proto.Size(r); n > 20<<10 {
			t.Errorf("with 1 MiB in %s %d bytes are left", path, n)
		}
		if e := r.GetEnded(); e != nil && e.Failure == nil {
			t.Errorf("with 1 MiB in %s an attempt has finished", path)
		}
	})
	long := strings.Repeat("ü", limits.FailureTextMax)
	r := &wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{End: wire.End_END_FAILED, Failure: &wire.Failure{Message: long}}}}
	r = limits.TidyReport(r)
	if m := r.GetEnded().Failure.Message; !strings.HasPrefix(long, m[:limits.FailureTextMax]) || !strings.HasSuffix(m, "bytes more)") {
		t.Errorf("cut to %d bytes, ending in %q", len(m), m[len(m)-30:])
	}
}

func lowRecords(t *testing.T, bytes int) {
	before := recordBytesMax
	recordBytesMax = bytes
	t.Cleanup(func() { recordBytesMax = before }) // runs after the manager's end
}

// Failures that come together and have long reasons make several records, each within
// the log's bound.
func TestABatchTooLargeForARecordIsSplit(t *testing.T) {
	lowRecords(t, 64<<10)
	b := newTestbed(t)
	b.start()
	a := b.launcher("a", 1, true)
	const nodes = 200
	job := b.submit(nodes)
	attempts := []uint64{a.next(), a.next()}
	for range 2 {
		var reports []*wire.Report
		for _, attempt := range attempts { // many reports of few attempts: repeated ones count once
			for range nodes {
				reports = append(reports, &wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{
					Attempt: attempt, End: wire.End_END_FAILED, Failure: &wire.Failure{Kind: wire.ErrorKind_ERROR_KIND_PROGRAM, Message: strings.Repeat("long ", 3<<10)},
				}}})
			}
		}
		if err := a.report(reports...); err != nil {
			t.Fatal(err)
		}
		attempts = []uint64{a.next(), a.next()}
	}
	if _, err := b.api.Kill(b.ctx(), &wire.JobRef{Job: job}); err != nil {
		t.Fatal(err)
	}
	s, err := b.api.Status(b.ctx(), &wire.StatusRequest{Job: job, Attempts: true})
	if err != nil {
		t.Fatal(err)
	}
	if n := proto.Size(s); n > 64<<10 {
		t.Errorf("the status has %d bytes: reasons are to be short", n)
	}
	for _, f := range logRecords(t, b.cfg.Data) {
		if f > 64<<10 {
			t.Errorf("a record has %d bytes", f)
		}
	}
}

func logRecords(t *testing.T, data string) (sizes []int) {
	t.Helper()
	files, err := eventlog.Files(filepath.Join(data, "log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		s, err := eventlog.ReadSegment(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.Records {
			sizes = append(sizes, len(r))
		}
	}
	return sizes
}

// An input within the edge's bounds that the log can't take is refused; the manager lives.
func TestAnInputTooLargeForARecordIsRefused(t *testing.T) {
	lowRecords(t, 2<<10)
	b := newTestbed(t)
	b.start()
	prepared, err := b.api.Prepare(b.ctx(), &wire.PrepareRequest{})
	if err != nil {
		t.Fatal(err)
	}
	spec := &wire.JobSpec{
		Name: "job", Program: b.upload("program"), Plan: b.upload("plan"), Properties: []*wire.Property{{Name: "p", Value: strings.Repeat("v", 4<<10)}},
		Graph: &wire.Graph{Stages: []*wire.Stage{{Name: "work", Nodes: 1}}},
	}
	if _, err := b.api.Submit(b.ctx(), &wire.SubmitRequest{Job: prepared.Job, Spec: spec}); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "at most 2048") {
		t.Fatal(err)
	}
	spec.Properties = nil
	if _, err := b.api.Submit(b.ctx(), &wire.SubmitRequest{Job: prepared.Job, Spec: spec}); err != nil {
		t.Fatal(err)
	}
}

// largeGraph has n nodes that read from three places each.
func largeGraph(n int) *wire.Graph {
	s := &wire.Stage{Name: "work", Nodes: uint32(n), Slots: 1, Memory: 1}
	for i := range n {
		in := &wire.NodeInput{Bytes: 300}
		for k := range 3 {
			in.Places = append(in.Places, &wire.Place{Host: fmt.Sprintf("datanode-%d.example.org", (i+7*k)%50), Rack: fmt.Sprintf("/rack-%d", i%5), Bytes: 100})
		}
		s.Inputs = append(s.Inputs, in)
	}
	return &wire.Graph{Stages: []*wire.Stage{s}}
}

func (b *testbed) uploadBytes(data []byte) string {
	b.t.Helper()
	stream, err := b.api.PutBlob(b.ctx())
	if err != nil {
		b.t.Fatal(err)
	}
	hash := sumOf(string(data))
	for first := hash; len(data) > 0; first = "" {
		n := min(len(data), 1<<20)
		if err := stream.Send(&wire.BlobChunk{Hash: first, Data: data[:n]}); err != nil {
			b.t.Fatal(err)
		}
		data = data[n:]
	}
	if _, err := stream.CloseAndRecv(); err != nil {
		b.t.Fatal(err)
	}
	return hash
}

// A large graph is sent as a blob. The log has its hash alone, a restart and a replay
// find the graph, and a job of it runs.
func TestALargeGraphIsABlob(t *testing.T) {
	b := newTestbed(t)
	b.start()
	a := b.launcher("a", 1, true)
	const nodes = 20_000
	blob, err := plan.EncodeGraph(largeGraph(nodes))
	if err != nil {
		t.Fatal(err)
	}
	prepared, err := b.api.Prepare(b.ctx(), &wire.PrepareRequest{})
	if err != nil {
		t.Fatal(err)
	}
	q := &wire.SubmitRequest{Job: prepared.Job, Spec: &wire.JobSpec{
		Name: "large", Program: b.upload("program"), Plan: b.upload("plan"), Graph: largeGraph(nodes), Outputs: []string{"/nowhere"},
	}}
	if _, err := b.api.Submit(b.ctx(), q); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "graph has") {
		t.Errorf("inline: %v", err)
	}
	q.Spec.Graph, q.Spec.GraphBlob = nil, sumOf("none")
	if _, err := b.api.Submit(b.ctx(), q); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "was not sent") {
		t.Errorf("without the blob: %v", err)
	}
	q.Spec.GraphBlob = b.uploadBytes([]byte("no graph at all"))
	if _, err := b.api.Submit(b.ctx(), q); status.Code(err) != codes.InvalidArgument {
		t.Errorf("garbage: %v", err)
	}
	q.Spec.GraphBlob = b.uploadBytes(blob)
	damage(t, filepath.Join(b.cfg.Data, "programs", q.Spec.GraphBlob))
	if _, err := b.api.Submit(b.ctx(), q); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "damaged") || !strings.Contains(err.Error(), "send it") {
		t.Errorf("damaged: %v", err)
	}
	if has, err := b.api.HasBlob(b.ctx(), &wire.BlobQuery{Hash: q.Spec.GraphBlob}); err != nil || has.Present {
		t.Errorf("the damaged one counts as there: %v", err)
	}
	b.uploadBytes(blob)
	graph := filepath.Join(b.cfg.Data, "graphs", sumOf(string(blob)))
	q.Spec.Outputs = []string{"/nowhere", "/nowhere"}
	if _, err := b.api.Submit(b.ctx(), q); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "named twice") {
		t.Errorf("one output twice: %v", err)
	}
	if _, err := os.Stat(graph); !os.IsNotExist(err) {
		t.Errorf("the graph of a job that the core refuses is kept: %v", err)
	}
	q.Spec.Outputs = q.Spec.Outputs[:1]
	if _, err := b.api.Submit(b.ctx(), q); err != nil {
		t.Fatal(err)
	}
	attempt := a.next()
	if n := logBytes(t, b.cfg.Data); n > 1<<20 {
		t.Errorf("the log has %d bytes", n)
	}
	replayed(t, b.cfg, nodes+1)
	// Each file of the log keeps the graphs that its checkpoint names.
	age(t, graph)
	b.stop()
	needed(t, graph)
	if n := logBytes(t, b.cfg.Data); n > 4<<20 {
		t.Errorf("the log has %d bytes after the restart", n)
	}
	age(t, graph)
	b.start()
	needed(t, graph)
	s, err := b.api.Status(b.ctx(), &wire.StatusRequest{Job: prepared.Job})
	if err != nil || s.Summary.Groups != nodes+1 {
		t.Fatal(s, err)
	}
	b.launcher("a", 1, true, attempt)
	if _, err := b.api.Kill(b.ctx(), &wire.JobRef{Job: prepared.Job}); err != nil {
		t.Fatal(err)
	}
}

// age makes a file look unused for a long time.
func age(t *testing.T, path string) {
	t.Helper()
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(-24*time.Hour)); err != nil {
		t.Fatal(err)
	}
}

// needed makes sure that it is not, any more.
func needed(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if time.Since(info.ModTime()) > 12*time.Hour {
		t.Errorf("%s was last needed %v ago", path, time.Since(info.ModTime()))
	}
}

// replayed copies a manager's data in the middle of its work and restores from that, as
// after a crash; without the graph that must fail, and not decide otherwise.
func replayed(t *testing.T, cfg Config, groups int) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"log", "graphs"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(cfg.Data, name))); err != nil {
			t.Fatal(err)
		}
	}
	files, err := eventlog.Files(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	segment, err := eventlog.ReadSegment(files[len(files)-1])
	if err != nil {
		t.Fatal(err)
	}
	kept := recovery.OpenGraphs(filepath.Join(dir, "graphs"), cfg.Log)
	l, err := recovery.Restore(segment, core.DefaultSettings(), kept, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if jobs := l.Core.Jobs(false); len(jobs) != 1 || jobs[0].Groups != uint32(groups) {
		t.Errorf("replayed: %v", jobs)
	}
	remaking := recovery.Remaking{Past: pastOf(t, segment), Graphs: kept.Folder}
	var remade bytes.Buffer
	if err := recovery.Remake(t.Context(), remaking, &remade); err != nil || !bytes.Equal(remade.Bytes(), l.Core.Checkpoint()) {
		t.Errorf("the log's checkpoint is not that of the core (%v)", err)
	}
	if err := os.RemoveAll(kept.Folder); err != nil {
		t.Fatal(err)
	}
	if _, err := recovery.Restore(segment, core.DefaultSettings(), kept, nil, nil); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), kept.Folder) {
		t.Errorf("without the graph: %v", err)
	}
	remade.Reset()
	if err := recovery.Remake(t.Context(), remaking, &remade); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), kept.Folder) || remade.Len() > 0 {
		t.Errorf("remade without the graph: %v", err)
	}
}

// pastOf is a file with what a segment has.
func pastOf(t *testing.T, s *eventlog.Segment) (past eventlog.Past) {
	t.Helper()
	log, err := eventlog.Open(eventlog.Options{Folder: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = log.Begin(s.Header, func(to io.Writer) error { _, err := to.Write(bytes.Join(s.Checkpoint, nil)); return err })
	}
	for i := 0; err == nil && i < len(s.Records); i++ {
		_, err = log.Append(s.Records[i])
	}
	if err == nil {
		err = log.RotateFrom(func(p eventlog.Past, _ io.Writer) error { past = p; return eventlog.Later{Err: errors.New("no")} })
	}
	if err != nil {
		t.Fatal(err)
	}
	log.Settle()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return past
}

// A launcher that has stored more than a million outputs joins and works: its inventory is bounded
// by the bytes of its message only.
func TestALauncherWithAMillionOutputsJoins(t *testing.T) {
	const stored = 1_100_000
	b := newTestbed(t)
	b.start()
	l, err := b.tryJoin("a", 1, true, func(j *wire.Join) {
		for i := range uint64(stored) {
			j.Stored = append(j.Stored, &wire.Stored{Job: 1_000_000 + i%3, Attempt: 1_000_000_000 + i})
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	b.submit(1)
	if err := l.finish(l.next()); err != nil {
		t.Error(err)
	}
}

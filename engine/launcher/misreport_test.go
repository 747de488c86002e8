package launcher_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/ipc"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// misreports are false reports that a program sends to its launcher as its worker, by name: of its
// own attempt, or of another. Each is sent endlessly, or once.
var misreports = map[string]func(own, other uint64, send func(...*wire.Report)){
	"end": func(_, other uint64, send func(...*wire.Report)) {
		send(&wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{Attempt: other, End: wire.End_END_FINISHED}}})
	},
	"commit": func(_, other uint64, send func(...*wire.Report)) {
		send(&wire.Report{What: &wire.Report_Commit{Commit: other}})
	},
	"start": func(_, other uint64, send func(...*wire.Report)) {
		send(&wire.Report{What: &wire.Report_Started{Started: &wire.AttemptStarted{Attempt: other, Address: "1.2.3.4:5"}}})
	},
	"progress": func(_, other uint64, send func(...*wire.Report)) {
		send(&wire.Report{What: &wire.Report_Progress{Progress: &wire.AttemptProgress{Attempt: other, Progress: 1}}})
	},
	"lost input": func(_, other uint64, send func(...*wire.Report)) {
		send(&wire.Report{What: &wire.Report_InputLost{InputLost: &wire.InputLost{Attempt: other}}})
	},
	"launcher's inventory": func(_, _ uint64, send func(...*wire.Report)) {
		send(&wire.Report{What: &wire.Report_Inventory{Inventory: &wire.Inventory{}}})
	},
	"input that it does not read": func(own, _ uint64, send func(...*wire.Report)) {
		send(&wire.Report{What: &wire.Report_InputLost{InputLost: &wire.InputLost{Attempt: own, Connection: 7, From: 9}}})
	},
	"another's file": func(own, other uint64, send func(...*wire.Report)) {
		send(&wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{Attempt: own, End: wire.End_END_FINISHED, Files: []*wire.CommittedFile{
			{Temporary: fmt.Sprintf("a%d.0.part", other), Name: "part"},
		}}}})
	},
	"60 MB of what nobody knows": func(own, _ uint64, send func(...*wire.Report)) {
		r := &wire.Report{What: &wire.Report_Progress{Progress: &wire.AttemptProgress{Attempt: own}}}
		r.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, 100, protowire.BytesType), make([]byte, 60_000_000)))
		send(r)
	},
	"an end of 60 MB": func(own, _ uint64, send func(...*wire.Report)) {
		send(&wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{Attempt: own, Counters: []*wire.Counter{{Name: strings.Repeat("x", 60_000_000)}}}}})
	},
	"a frame of 255 MiB": func(uint64, uint64, func(...*wire.Report)) {
		_, _ = os.NewFile(ipc.WorkerFD, "launcher").Write(append(binary.LittleEndian.AppendUint32(nil, 255<<20), make([]byte, 4096)...)) // the launcher may have ended it
	},
	"progress without end": func(own, _ uint64, send func(...*wire.Report)) {
		for {
			send(&wire.Report{What: &wire.Report_Progress{Progress: &wire.AttemptProgress{Attempt: own}}})
		}
	},
	"commits without end": func(own, _ uint64, send func(...*wire.Report)) {
		for {
			send(&wire.Report{What: &wire.Report_Commit{Commit: own}})
		}
	},
}

// misreport is a program that sends one of them: its arguments are the name, and the number of
// another attempt.
func misreport(g *job.Graph, args []string) error {
	g.Stage("s", 1, func(ctx context.Context, n *job.Node) error {
		other, err := strconv.ParseUint(args[1], 10, 64)
		if err != nil {
			return err
		}
		fd, err := unix.Dup(ipc.WorkerFD) // the worker's own is waited for by its runtime
		if err != nil {
			return err
		}
		conn := ipc.New(os.NewFile(uintptr(fd), "launcher"))
		misreports[args[0]](n.Info().Attempt, other, func(reports ...*wire.Report) {
			for _, r := range reports {
				if conn.Send(&wire.FromWorker{What: &wire.FromWorker_Report{Report: r}}) != nil {
					<-ctx.Done()
				}
			}
		})
		<-ctx.Done()
		return ctx.Err()
	})
	return nil
}

// A worker that reports on others' attempts, or sends more than it may, is ended with its own
// attempt. Other workers on the launcher go on, and their attempts and files are not affected.
func TestAWorkerThatMisreportsIsEnded(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	victim := m.job("polite").attempt(0, 0)
	victim.User = "ann"
	id := n.start(victim)
	n.logged(id, "waiting to be stopped")
	n.started(id)
	offences := 0
	for name := range misreports {
		s := m.job("misreport", name, fmt.Sprint(id)).attempt(0, 0)
		s.User, s.Job, s.Memory = "eve", 1000+s.Job, raceHolds*s.Memory // its report takes 60 MB of memory
		e := n.ended(n.start(s))
		if e.End != wire.End_END_FAILED || len(e.Files) > 0 || !strings.Contains(e.GetFailure().GetMessage(), "the launcher ended the worker") {
			t.Errorf("%s: its attempt ends with %v", name, e)
		}
		told := n.report("offence of "+name, func(r *wire.Report) bool { return r.GetOffence() != nil }).GetOffence()
		if told.User != "eve" || told.Job != s.Job || told.Attempt != s.Attempt || told.Kind == "" || told.Reason == "" {
			t.Errorf("%s: the manager is told %v", name, told)
		}
		offences++
	}
	n.mu.Lock()
	for _, r := range n.reports {
		if r.GetProgress() == nil && r.GetPhase() == nil && r.GetStarted() == nil && r.GetCommit() == 0 || r.GetCommit() == id || proto.Size(r) > 1<<20 {
			t.Errorf("the manager is told %.200v", r)
		}
	}
	if joins := n.joins; joins != 1 {
		t.Errorf("the launcher joined %d times", joins)
	}
	n.mu.Unlock()
	if got := n.offences(); got != offences {
		t.Errorf("%d offences are counted, of %d", got, offences)
	}
	n.stop(id, time.Minute)
	if e := n.finished(id); len(e.Counters) != 1 {
		t.Errorf("who waited ends with %v", e)
	}
}

// offences is the number of offences in the launcher's metrics.
func (n *node) offences() (sum int) {
	n.m.t.Helper()
	answer, err := http.Get("http://" + n.join.HttpAddress + "/metrics")
	if err != nil {
		n.m.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		n.m.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "hamadryad_launcher_worker_offences_total{") {
			count, _ := strconv.Atoi(strings.Fields(line)[1])
			sum += count
		}
	}
	return sum
}

// A launcher that has lost its manager sends its attempts' reports to the next one, but nothing
// that a worker was not allowed to send, however large.
func TestResendingAfterAFlood(t *testing.T) {
	m := newManager(t)
	n := m.launch("a", nil)
	id := n.start(m.job("polite").attempt(0, 0))
	n.logged(id, "waiting to be stopped")
	s := m.job("misreport", "60 MB of what nobody knows", fmt.Sprint(id)).attempt(0, 0)
	s.Job += 1000
	forger := n.start(s)
	n.ended(forger)
	for again := 2; again <= 3; again++ {
		n.cut()
		n.wait("another join", func() bool { return n.joins == again })
		n.started(id)
		if e := n.ended(forger); e.End != wire.End_END_FAILED || proto.Size(e) > 4<<10 {
			t.Errorf("join %d: the end that is told again is %.200v", again, e)
		}
	}
	n.stop(id, time.Minute)
	n.finished(id)
}

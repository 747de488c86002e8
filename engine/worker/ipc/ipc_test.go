package ipc_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/ipc"
)

func pair(t *testing.T) (*ipc.Conn, *os.File) {
	t.Helper()
	conn, other, err := ipc.Pair()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		other.Close()
	})
	return conn, other
}

func TestMessagesArriveWholeAndInOrder(t *testing.T) {
	conn, file := pair(t)
	other := ipc.New(file)
	sizes := []int{0, 1, 40, 100_000, 3 << 20, 5}
	go func() {
		for _, size := range sizes {
			if err := conn.Send(&wire.WorkerSetup{PlanPath: string(bytes.Repeat([]byte("x"), size))}); err != nil {
				t.Error(err)
			}
		}
		conn.Close()
	}()
	for _, size := range sizes {
		var m wire.WorkerSetup
		if err := other.Recv(&m); err != nil || len(m.PlanPath) != size {
			t.Fatalf("%d bytes, want %d: %v", len(m.PlanPath), size, err)
		}
	}
	if err := other.Recv(&wire.WorkerSetup{}); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}

// What the socket does not take at once is written by Flush: messages arrive whole and in order
// though nobody read when they were sent.
func TestTrySendNeverWaits(t *testing.T) {
	conn, file := pair(t)
	random := rand.New(rand.NewPCG(1, 2))
	other := ipc.New(file)
	next := uint64(0)
	for range 20 {
		first := next
		for all := true; all; next++ { // ends when the socket is full: nobody reads
			var err error
			if all, err = conn.TrySend(&wire.WorkerSetup{Job: next, PlanPath: strings.Repeat("x", random.IntN(100_000))}); err != nil {
				t.Fatal(err)
			}
		}
		flushed := make(chan error, 1)
		go func() { flushed <- conn.Flush() }()
		for want := first; want < next; want++ {
			var m wire.WorkerSetup
			if err := other.Recv(&m); err != nil || m.Job != want {
				t.Fatalf("message %d arrived in place of %d: %v", m.Job, want, err)
			}
		}
		if err := <-flushed; err != nil {
			t.Fatal(err)
		}
	}
	file.Close()
	if _, err := conn.TrySend(&wire.WorkerSetup{}); !errors.Is(err, unix.EPIPE) {
		t.Errorf("to one that is gone: %v", err)
	}
}

// If one message can't be sent, none of the call is, and the sender gets an error; later messages
// arrive.
func TestWhatCannotBeSentIsTold(t *testing.T) {
	conn, file := pair(t)
	other := ipc.New(file)
	good := &wire.WorkerSetup{JobName: "job"}
	for what, m := range map[string]*wire.WorkerSetup{"no UTF-8": {JobName: "\xff"}, "too large": {PlanPath: string(make([]byte, ipc.FrameMax))}} {
		if err := conn.Send(good, m); !errors.Is(err, ipc.ErrUnfit) {
			t.Errorf("%s: %v", what, err)
		}
	}
	var m wire.WorkerSetup
	if err := errors.Join(conn.Send(good), conn.Close(), other.Recv(&m)); err != nil || m.JobName != "job" {
		t.Errorf("then %v arrives: %v", &m, err)
	}
	if err := other.Recv(&m); !errors.Is(err, io.EOF) {
		t.Errorf("after it: %v", err)
	}
}

func TestGarbageIsRefused(t *testing.T) {
	message, err := proto.Marshal(&wire.WorkerSetup{JobName: "job"})
	if err != nil {
		t.Fatal(err)
	}
	frame := func(size uint32, body []byte) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, size), body...)
	}
	for name, c := range map[string]struct {
		bytes []byte
		want  error
	}{
		"huge length": {frame(1<<31, message), ipc.ErrGarbled},
		"no message":  {frame(4, []byte{0xff, 0xff, 0xff, 0xff}), ipc.ErrGarbled},
		"cut short":   {frame(uint32(len(message)), message[:2]), io.ErrUnexpectedEOF},
		"half length": {[]byte{1, 0}, io.ErrUnexpectedEOF},
	} {
		conn, file := pair(t)
		if _, err := file.Write(c.bytes); err != nil {
			t.Fatal(err)
		}
		file.Close()
		if err := conn.Recv(&wire.WorkerSetup{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/eventlog"
	"github.com/hamadryad/hamadryad/engine/manager/recovery"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// stepLog is the event log of the first half of the first job, of which another process then makes
// a checkpoint, as for a manager.
type stepLog struct {
	folder  string
	program string // hamadryad
	log     *eventlog.Log
	steps   time.Duration // processor time of the core for the logged steps
	took    usage         // to make the checkpoint
	heap    uint64        // live heap of this process
}

// begin opens the log with the core's checkpoint.
func (l *stepLog) begin(c *core.Core) (err error) {
	if l.folder, err = os.MkdirTemp("", "hamadryad-bench-steps"); err != nil {
		return err
	}
	l.log, err = eventlog.Open(eventlog.Options{Folder: l.folder, NoSync: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	return l.log.Begin(eventlog.Header{Core: core.Version}, c.WriteCheckpoint)
}

func (l *stepLog) append(b *wire.Batch) error {
	record, err := proto.Marshal(b)
	if err == nil {
		_, err = l.log.Append(record)
	}
	return err
}

// end makes the checkpoint and compares it with the core's.
func (l *stepLog) end(ctx context.Context, c *core.Core) error {
	want, got := sha256.New(), sha256.New()
	if err := c.WriteCheckpoint(want); err != nil {
		return err
	}
	var mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&mem)
	l.heap = mem.HeapAlloc
	var failed error
	if err := l.log.RotateFrom(func(past eventlog.Past, to io.Writer) error {
		failed = l.remake(ctx, past, io.MultiWriter(to, got))
		return failed
	}); err != nil {
		return err
	}
	l.log.Settle()
	if failed == nil && !bytes.Equal(want.Sum(nil), got.Sum(nil)) {
		failed = errors.New("the checkpoint that was made from the log is not the core's")
	}
	err := errors.Join(failed, l.log.Close(), os.RemoveAll(l.folder))
	l.log = nil
	return err
}

func (l *stepLog) remake(ctx context.Context, past eventlog.Past, to io.Writer) error {
	asked, err := json.Marshal(recovery.Remaking{Past: past, Graphs: filepath.Join(l.folder, "graphs")})
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, l.program, "checkpoint", string(asked))
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.Stdout, cmd.Stderr = to, os.Stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("hamadryad checkpoint: %w", err)
	}
	l.took = usage{took: time.Since(start), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		l.took.memory = r.Maxrss << 10
	}
	return nil
}

// addCheckpoints adds the cost of a checkpoint made from the log.
func addCheckpoints(out *report, logs []*stepLog) error {
	var cpu, steps, memory, heap []float64
	for _, l := range logs {
		cpu, steps = append(cpu, l.took.cpu.Seconds()), append(steps, l.steps.Seconds())
		memory, heap = append(memory, float64(l.took.memory)/(1<<20)), append(heap, float64(l.heap)/(1<<20))
	}
	if err := out.add("steps-checkpoint-cpu", "s", cpu, steps, "the core's own steps since the last one"); err != nil {
		return err
	}
	return out.add("steps-checkpoint-memory", "MiB", memory, heap, "what lives in the core's process")
}

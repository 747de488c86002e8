// Forger offers jobs whose programs send forged worker messages to their launcher: about other
// attempts, or far too much.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/ipc"
	"github.com/hamadryad/hamadryad/sdk/job"
)

// attemptsMax bounds the numbers of other attempts in forgeries.
const attemptsMax = 100

// forgeries are the messages, by name. other is an attempt that is not the sender's.
var forgeries = map[string]func(own, other uint64) *wire.Report{
	"ends": func(_, other uint64) *wire.Report {
		return &wire.Report{What: &wire.Report_Ended{Ended: &wire.AttemptEnded{Attempt: other, End: wire.End_END_FINISHED}}}
	},
	"commits": func(_, other uint64) *wire.Report { return &wire.Report{What: &wire.Report_Commit{Commit: other}} },
	"progress": func(_, other uint64) *wire.Report {
		return &wire.Report{What: &wire.Report_Progress{Progress: &wire.AttemptProgress{Attempt: other, Progress: 1}}}
	},
	"lost-inputs": func(_, other uint64) *wire.Report {
		return &wire.Report{What: &wire.Report_InputLost{InputLost: &wire.InputLost{Attempt: other, Damaged: true}}}
	},
	"unknown-inputs": func(own, other uint64) *wire.Report {
		return &wire.Report{What: &wire.Report_InputLost{InputLost: &wire.InputLost{Attempt: own, From: uint32(other), Reason: strings.Repeat("x", 1000)}}}
	},
	"large": func(own, _ uint64) *wire.Report {
		r := &wire.Report{What: &wire.Report_Progress{Progress: &wire.AttemptProgress{Attempt: own}}}
		r.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, 100, protowire.BytesType), make([]byte, 60_000_000)))
		return r
	},
	"flood": func(own, _ uint64) *wire.Report {
		return &wire.Report{What: &wire.Report_Progress{Progress: &wire.AttemptProgress{Attempt: own, Progress: 0.5}}}
	},
}

func main() {
	var defs []job.Definition
	for name, make := range forgeries {
		defs = append(defs, job.Definition{Name: name, Build: func(g *job.Graph, _ []string) error {
			g.Stage("x", 1, func(ctx context.Context, n *job.Node) error { return send(ctx, n, make) })
			return nil
		}})
	}
	app.Main(defs...)
}

// send sends without end, until the launcher accepts no more.
func send(ctx context.Context, n *job.Node, make func(own, other uint64) *wire.Report) error {
	fd, err := unix.Dup(ipc.WorkerFD) // the worker's runtime waits for its own
	if err != nil {
		return err
	}
	conn := ipc.New(os.NewFile(uintptr(fd), "launcher"))
	own := n.Info().Attempt
	for {
		for other := uint64(1); other <= attemptsMax; other++ {
			if other == own {
				continue
			}
			if err := conn.Send(&wire.FromWorker{What: &wire.FromWorker_Report{Report: make(own, other)}}); err != nil {
				fmt.Println("the launcher takes no more:", err)
				<-ctx.Done()
				return ctx.Err()
			}
		}
	}
}

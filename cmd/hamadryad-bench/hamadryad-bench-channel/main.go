// Command hamadryad-bench-channel is a job of hamadryad-bench: one node sends records of one size
// to another through one channel.
//
//	hamadryad local --slots 2 -- hamadryad-bench-channel tcp 100 1000000
//
// The records are pieces of a text of random hexadecimal digits, which the channels' fast codecs
// hardly compress.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/sdk/job"
)

func main() {
	app.Main(job.Definition{
		Name: "channel", Help: "KIND BYTES RECORDS  send records through a channel: shm, tcp or file", Build: build,
	})
}

var kinds = map[string]job.ChannelKind{"shm": job.SHM, "tcp": job.TCP, "file": job.File}

func build(g *job.Graph, args []string) error {
	if len(args) != 3 {
		return errors.New("give kind, bytes of a record, and number of records: KIND BYTES RECORDS")
	}
	kind := kinds[args[0]]
	if kind == 0 {
		return fmt.Errorf("%q is no kind of channel: use shm, tcp or file", args[0])
	}
	size, err := strconv.Atoi(args[1])
	if err != nil || size < 0 || size > len(digits) {
		return fmt.Errorf("bytes of a record: %q is no number from 0 to %d", args[1], len(digits))
	}
	records, err := strconv.Atoi(args[2])
	if err != nil || records < 0 {
		return fmt.Errorf("number of records: %q is none", args[2])
	}
	from := g.Stage("send", 1, send(size, records))
	to := g.Stage("receive", 1, receive(size, records))
	g.OneToOne(from.Out("records"), to.In("records"), job.Channel{Kind: kind})
	return nil
}

// digits is the source of the records: larger than the window of any codec.
var digits = func() (text [1 << 20]byte) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range text {
		text[i] = "0123456789abcdef"[random.IntN(16)]
	}
	return text
}()

func send(size, records int) job.Program {
	return func(ctx context.Context, n *job.Node) error {
		out, err := n.Output("records")
		if err != nil {
			return err
		}
		at := 0
		for range records {
			if err := out.Write(ctx, 0, digits[at:at+size]); err != nil {
				return err
			}
			if at += size; at+size > len(digits) {
				at = 0
			}
		}
		return nil
	}
}

func receive(size, records int) job.Program {
	return func(ctx context.Context, n *job.Node) error {
		in, err := n.Input("records")
		if err != nil {
			return err
		}
		count, bytes := 0, 0
		for {
			batch, err := in.Next(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			for record := range batch.All() {
				count++
				bytes += len(record)
			}
			job.PutBatch(batch)
		}
		if count != records || bytes != records*size {
			return fmt.Errorf("%d records of %d bytes in all came, and %d of %d each were sent", count, bytes, records, size)
		}
		return nil
	}
}

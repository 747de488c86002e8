package job_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// squares emits numbers by key, and a second stage writes what it kept of them: each
// number once, those of one key in one part.
func squares(g *job.Graph, args []string) error {
	out := g.Output(args[0])
	numbers := g.Stage("numbers", 4, func(ctx context.Context, n *job.Node) error {
		emit, err := n.Emitter(ctx, "numbers")
		if err != nil {
			return err
		}
		record := make([]byte, 8)
		for i := n.Info().Index; i < 1000; i += n.Info().Nodes {
			binary.BigEndian.PutUint64(record, uint64(i)) // the emitter has copied the one before
			if err := emit([]byte{byte(i % 10)}, record); err != nil {
				return err
			}
		}
		return nil
	})
	keep := g.Stage("keep", 3, func(ctx context.Context, n *job.Node) error {
		var kept [][]byte
		err := n.Each(ctx, "numbers", func(record []byte) error {
			kept = append(kept, record)
			return nil
		})
		if err != nil {
			return err
		}
		f, err := n.CreatePart(ctx, out)
		if err != nil {
			return err
		}
		for _, record := range kept {
			fmt.Fprintln(f, binary.BigEndian.Uint64(record))
		}
		return f.Close()
	})
	g.AllToAll(numbers.Out("numbers"), keep.In("numbers"), job.Channel{Kind: job.File})
	return nil
}

func TestEmitterEachAndParts(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	if _, err := jobtest.Run(t.Context(), job.Definition{Name: "squares", Build: squares}, []string{out}, jobtest.Options{}); err != nil {
		t.Fatal(err)
	}
	part := map[int]int{} // of a key
	var seen []int
	for p := range 3 {
		data, err := os.ReadFile(fmt.Sprintf("%s/part-%05d", out, p))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			i := 0
			fmt.Sscan(line, &i)
			if before, ok := part[i%10]; ok && before != p {
				t.Errorf("key %d is in part %d and in part %d", i%10, before, p)
			}
			part[i%10] = p
			seen = append(seen, i)
		}
	}
	slices.Sort(seen)
	if len(seen) != 1000 || seen[0] != 0 || seen[999] != 999 || len(slices.Compact(seen)) != 1000 {
		t.Errorf("%d numbers", len(seen))
	}
}

func TestEachEndsWithTheFirstError(t *testing.T) {
	stop := fmt.Errorf("stop")
	_, err := jobtest.Run(t.Context(), job.Definition{Name: "stop", Build: func(g *job.Graph, _ []string) error {
		from := g.Stage("from", 1, func(ctx context.Context, n *job.Node) error {
			emit, err := n.Emitter(ctx, "out")
			if err != nil {
				return err
			}
			return emit(nil, []byte("x"))
		})
		to := g.Stage("to", 1, func(ctx context.Context, n *job.Node) error {
			if err := n.Each(ctx, "nowhere", nil); err == nil {
				return fmt.Errorf("a port that is not there is read")
			}
			return n.Each(ctx, "in", func([]byte) error { return stop })
		})
		g.OneToOne(from.Out("out"), to.In("in"), job.Channel{Kind: job.File})
		return nil
	}}, nil, jobtest.Options{})
	if err == nil || !strings.Contains(err.Error(), "stop") {
		t.Errorf("%v", err)
	}
}

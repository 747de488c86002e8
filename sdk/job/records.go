package job

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Each calls do with every record of an input port, from all sources as records arrive, in no fixed
// order. do may keep the record. Each ends with the first error, of the input or of do.
func (n *Node) Each(ctx context.Context, port string, do func(record []byte) error) error {
	in, err := n.Input(port)
	if err != nil {
		return err
	}
	for {
		batch, err := in.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for record := range batch.All() {
			if err := do(record); err != nil {
				return err
			}
		}
	}
}

// Emitter returns a function that writes a copy of a record to an output port, in the partition
// that Partition picks for its key; nil is the empty key. Records that belong together share one
// key. The function is for one goroutine at a time; Output documents when it blocks and fails.
func (n *Node) Emitter(ctx context.Context, port string) (func(key, record []byte) error, error) {
	out, err := n.Output(port)
	if err != nil {
		return nil, err
	}
	partitions := out.Partitions()
	return func(key, record []byte) error {
		return out.Write(ctx, Partition(key, partitions), record)
	}, nil
}

// CreatePart makes this node's file in an output folder, such as part-00003 for the node of index
// 3. It is Create with a name that no other node of the stage has. Two stages that write to one
// folder need names of their own.
func (n *Node) CreatePart(ctx context.Context, f Folder) (io.WriteCloser, error) {
	return n.Create(ctx, f, fmt.Sprintf("part-%05d", n.Info().Index))
}

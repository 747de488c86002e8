package channel

import (
	"context"
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// fork writes everything to several ports.
type fork struct{ ports []Port }

// Fork returns a port that writes each record to all of ports: an output port that feeds several
// channels. All must have the same number of partitions. A single port is returned as it is.
func Fork(ports ...Port) (Port, error) {
	if len(ports) == 0 {
		return nil, fmt.Errorf("fork over no channels: an output port needs at least one consumer")
	}
	for _, p := range ports[1:] {
		if p.Partitions() != ports[0].Partitions() {
			return nil, fmt.Errorf("fork over channels of %d and %d partitions: consumers of one port need as many instances each", ports[0].Partitions(), p.Partitions())
		}
	}
	if len(ports) == 1 {
		return ports[0], nil
	}
	return &fork{ports: ports}, nil
}

func (f *fork) Partitions() int { return f.ports[0].Partitions() }

func (f *fork) Write(ctx context.Context, partition int, record []byte) error {
	for _, p := range f.ports {
		if err := p.Write(ctx, partition, record); err != nil {
			return err
		}
	}
	return nil
}

// WriteBatch gives a copy to every port and the batch itself to the last.
func (f *fork) WriteBatch(ctx context.Context, partition int, b *job.Batch) error {
	last := len(f.ports) - 1
	for _, p := range f.ports[:last] {
		if err := p.WriteBatch(ctx, partition, CloneBatch(b)); err != nil {
			return err
		}
	}
	return f.ports[last].WriteBatch(ctx, partition, b)
}

// Close ends every port. After an error the remaining ports are aborted. So no reader sees an end
// after the failure; readers of ports closed before it keep theirs.
func (f *fork) Close(ctx context.Context) error {
	for i, p := range f.ports {
		if err := p.Close(ctx); err != nil {
			for _, rest := range f.ports[i+1:] {
				rest.Abort(err)
			}
			return err
		}
	}
	return nil
}

func (f *fork) Abort(cause error) {
	for _, p := range f.ports {
		p.Abort(cause)
	}
}

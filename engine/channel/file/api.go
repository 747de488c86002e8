package file

import (
	"context"

	"github.com/hamadryad/hamadryad/engine/channel/block"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// Options of a Writer. The zero value is ready to use.
type Options struct {
	// Codec compresses the blocks.
	Codec block.Codec
	// Budget is the most memory held in buffers, in bytes, whatever the number of
	// partitions; 0 means BudgetDefault.
	Budget int64
	// Sync makes Close return only when the file is on the disk's own medium.
	// Without it a power cut can lose a file that was complete.
	Sync bool
}

// BudgetDefault is the memory a Writer uses when Options say nothing: 64 MiB.
const BudgetDefault = 64 << 20

// Info describes a complete file.
type Info struct {
	Bytes          int64   // size of the file
	Records        int64   // over all partitions
	PartitionBytes []int64 // stored bytes of each partition
}

// Writer is an output port that writes one stored channel file. It implements
// channel.Port.
type Writer struct{}

// Create starts a local file; it appears at path when Close returns nil. The
// folder must exist.
func Create(path string, partitions int, o Options) (*Writer, error) { panic(0) }

// New writes through f, for a channel kept on the job's storage: Close commits it.
func New(f storage.File, path string, partitions int, o Options) (*Writer, error) { panic(0) }

func (w *Writer) Partitions() int                                                   { panic(0) }
func (w *Writer) Write(ctx context.Context, partition int, record []byte) error     { panic(0) }
func (w *Writer) WriteBatch(ctx context.Context, partition int, b *job.Batch) error { panic(0) }
func (w *Writer) Close(ctx context.Context) error                                   { panic(0) }
func (w *Writer) Abort(cause error)                                                 { panic(0) }

// Info describes the file once Close returned nil.
func (w *Writer) Info() Info { panic(0) }

// File is an open stored channel file; safe for concurrent use.
type File struct{}

// Open opens a local file. One that is not there is channel.ErrLost.
func Open(path string) (*File, error) { panic(0) }

// OpenStore opens a file on the job's storage.
func OpenStore(ctx context.Context, s storage.Store, path string) (*File, error) { panic(0) }

func (f *File) Partitions() int { panic(0) }

// Size returns the stored bytes and the records of a partition.
func (f *File) Size(ctx context.Context, partition int) (bytes, records int64, err error) { panic(0) }

// Source reads one partition. From is what the source's From returns. The source
// does not close the File.
func (f *File) Source(partition, from int) job.Source { panic(0) }
func (f *File) Close() error                          { panic(0) }

// Verify reads the whole file and returns the first damage.
func Verify(ctx context.Context, path string) (Info, error) { panic(0) }

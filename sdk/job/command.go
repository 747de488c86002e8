package job

import (
	"io"
	"time"
)

// Framing is how records are delimited in a command's standard input and output.
type Framing uint8

// The framings.
const (
	Lines    Framing = iota // one record per line, without its newline
	Prefixed                // length in four bytes, big-endian, then the record
)

// Command is an external command. As a node (CommandStage), it reads the records of input port "in"
// on standard input, or those of its task as the files hold them. Its standard output is the
// records of output port "out". A program runs a command with Node.Run. A soft kill sends SIGTERM.
type Command struct {
	Args []string // the program's name and its arguments
	Env  []string // added to the worker's environment, NAME=value
	// Files are local files that travel with the job to the command's folder. They are only for
	// CommandStage; a stage with a program lists them with Stage.Files.
	Files []string
	// Framing and Partition are only for CommandStage. Partition picks the output partition of a
	// record. If it is nil, the hash of the record up to its first tab does.
	Framing   Framing
	Partition func(record []byte, partitions int) int
	// Grace is how long a command may go on after its input ended and its attempt was stopped;
	// CommandGraceDefault when 0.
	Grace time.Duration
	// Quiet is how long a command may neither read nor print nor log while it waits for nothing
	// else. Then it is killed, and Run returns an error. CommandQuietDefault when 0; no limit when
	// negative.
	Quiet time.Duration
}

const (
	// CommandGraceDefault is the time between SIGTERM and SIGKILL for a command.
	CommandGraceDefault = 5 * time.Second
	// CommandQuietDefault is the time without activity after which a command counts as hung;
	// Hadoop's default for tasks.
	CommandQuietDefault = 10 * time.Minute
)

// Pipes are a program's ends of a command's standard streams. In and Out run at
// the same time, each in a goroutine of its own.
type Pipes struct {
	// In writes standard input, which ends when In returns; nil for none. After the command stops
	// reading, writes fail, and the error that In then returns is not a failure.
	In func(w io.Writer) error
	// Out reads standard output to its end. If it fails, the command is killed. A nil Out sends
	// standard output to the attempt's log.
	Out func(r io.Reader) error
	// Err receives each line of standard error, without its end; a line of over 64 KiB comes in
	// pieces. If it returns true, the line is kept out of the attempt's log. A nil Err logs all.
	Err func(line []byte) bool
}

package job

import (
	"io"
	"time"
)

// Framing is how records stand in a command's standard input and output.
type Framing uint8

// The framings.
const (
	Lines    Framing = iota // a record a line, without its newline
	Prefixed                // four bytes of length, big-endian, then the record
)

// Command is an external command: as a node (CommandStage), where it reads the
// records of input port "in" (or of its task, as they stand in the files) on
// standard input and what it prints are the records of output port "out"; or run
// by a program, with Node.Run. A soft kill is SIGTERM.
type Command struct {
	Args []string // the command and its arguments
	Env  []string // added to the worker's environment, NAME=value
	// Files are local files that travel with the job to the command's folder. Only
	// for CommandStage; a stage with a program lists them with Stage.Files.
	Files []string
	// Framing and Partition are only for CommandStage. Partition picks the output
	// partition of a record; by hash of the record up to the first tab when nil.
	Framing   Framing
	Partition func(record []byte, partitions int) int
	// Grace is how long a command may go on after its input ended and the attempt
	// was stopped; CommandGraceDefault when 0.
	Grace time.Duration
	// Quiet is how long a command may neither read nor print nor log while nothing
	// but the command itself holds it up; then it is killed, and that is an error.
	// CommandQuietDefault when 0; no limit when negative.
	Quiet time.Duration
}

const (
	// CommandGraceDefault is the time between SIGTERM and SIGKILL for a command.
	CommandGraceDefault = 5 * time.Second
	// CommandQuietDefault is after how long a command that does nothing counts as
	// hung; that of Hadoop's tasks.
	CommandQuietDefault = 10 * time.Minute
)

// Pipes are a program's ends of a command's standard streams. In and Out run at
// the same time, each in a goroutine of its own.
type Pipes struct {
	// In writes standard input, which ends when it returns; nil for none. A command
	// that stops reading ends it: writes fail, and the error that In returns for that
	// is no failure.
	In func(w io.Writer) error
	// Out reads standard output to its end. When it fails, the command is killed. Nil
	// sends standard output to the attempt's log.
	Out func(r io.Reader) error
	// Err sees each line of standard error, without its end; a line of over 64 KiB
	// comes in pieces. True keeps the line out of the attempt's log. Nil logs all.
	Err func(line []byte) bool
}

package job

import "time"

// Framing is how records stand in a command's standard input and output.
type Framing uint8

// The framings.
const (
	Lines    Framing = iota // a record a line, without its newline
	Prefixed                // four bytes of length, big-endian, then the record
)

// Command is an external command as a node: it reads the records of input port
// "in" (or of its task, as they stand in the files) on standard input and what
// it prints are the records of output port "out". A soft kill is SIGTERM.
type Command struct {
	Args    []string // the command and its arguments
	Env     []string // added to the worker's environment, NAME=value
	Files   []string // local files that travel with the job to the command's folder
	Framing Framing
	// Partition picks the output partition of a record; by hash of the record up
	// to the first tab when nil.
	Partition func(record []byte, partitions int) int
	// Grace is how long a command may go on after its input ended and the attempt
	// was stopped; CommandGraceDefault when 0.
	Grace time.Duration
}

// CommandGraceDefault is the time between SIGTERM and SIGKILL for a command.
const CommandGraceDefault = 5 * time.Second

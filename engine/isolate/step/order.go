package step

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Order says what a worker is given. All else it loses.
type Order struct {
	UID    int
	GID    int
	Groups []int // supplementary ones

	// Folder is the worker's own. It becomes the user's, and is where the program begins.
	// Nobody but root can change it before.
	Folder string
	// Files are shown in Folder, by name; the user need not be able to reach them where
	// they lie.
	Files []File
	// Program is the name of the one of Files that is run, without arguments. None: the
	// step only tries out what the system lets it do.
	Program string
	// Seen are folders that the worker needs: they are shown also when they lie below one
	// of those that the worker has for itself.
	Seen []string

	TemporaryBytes int64 // that the worker's /tmp, /var/tmp and /dev/shm hold together
	Processes      int   // that the user may have on the machine, threads included
	OpenFiles      int   // that each process may have; no more than the launcher may have
}

// File is shown under a name.
type File struct{ Name, Path string }

// The worker's descriptors: below firstOther are its standard ones and its socket, and
// firstOther is where the step reports on.
const firstOther = 4

// awaitMax is how long a step may take: it waits for disks.
const awaitMax = time.Minute

// Command is the step, with its program and the program's first arguments. The caller
// sets the environment, which is the worker's, the standard files, and two more: the
// worker's socket, and the end of a pipe that Await reads.
func Command(program []string, o *Order) *exec.Cmd {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // it is numbers and names
	}
	cmd := exec.Command(program[0], append(program[1:len(program):len(program)], string(text))...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC,
	}
	return cmd
}

// failure is what the step reports when it can't go on.
type failure struct {
	Number  syscall.Errno // 0: none of the system's
	Message string
}

func (f *failure) Error() string { return f.Message }

func (f *failure) Unwrap() error {
	if f.Number == 0 {
		return nil
	}
	return f.Number
}

// Await waits until the worker's program runs, and closes the pipe. Its error matches the
// system's.
func Await(report *os.File) error {
	defer report.Close()
	if err := report.SetReadDeadline(time.Now().Add(awaitMax)); err != nil {
		return fmt.Errorf("the step before a worker: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(report, 64<<10))
	if err != nil {
		return fmt.Errorf("the step before a worker did not end: %w", err)
	}
	if len(text) == 0 {
		return nil // its end of the pipe closed when it became the worker
	}
	f := &failure{}
	if json.Unmarshal(text, f) != nil {
		f.Message = "the step before a worker failed: " + string(text)
	}
	return f
}

// tell reports why the step can't go on.
func tell(report io.Writer, err error) {
	f := failure{Message: err.Error()}
	_ = errors.As(err, &f.Number)
	text, err := json.Marshal(f)
	if err == nil {
		_, err = report.Write(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, f.Message) // the launcher is gone: nobody else hears it
	}
}

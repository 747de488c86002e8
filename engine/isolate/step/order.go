package step

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
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
	cmd := exec.Command(program[0], append(program[1:len(program):len(program)], o.words()...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC,
	}
	return cmd
}

// words are the order as arguments: its numbers, its names, and then lists, each after how
// many it has. A step that reads JSON would begin later, by a third of a millisecond.
func (o *Order) words() []string {
	var w []string
	for _, n := range []int64{int64(o.UID), int64(o.GID), o.TemporaryBytes, int64(o.Processes), int64(o.OpenFiles)} {
		w = append(w, strconv.FormatInt(n, 10))
	}
	w = append(w, o.Folder, o.Program, strconv.Itoa(len(o.Groups)))
	for _, g := range o.Groups {
		w = append(w, strconv.Itoa(g))
	}
	w = append(append(w, strconv.Itoa(len(o.Seen))), o.Seen...)
	w = append(w, strconv.Itoa(len(o.Files)))
	for _, f := range o.Files {
		w = append(w, f.Name, f.Path)
	}
	return w
}

// errWords is what the step says of arguments that Command did not write.
var errWords = errors.New("the step before a worker and its launcher are of two releases: have both from one")

// parse reads what words wrote.
func parse(words []string) (*Order, error) {
	r := reader{words: words}
	o := &Order{UID: r.number(), GID: r.number(), TemporaryBytes: int64(r.number()), Processes: r.number(), OpenFiles: r.number()}
	o.Folder, o.Program = r.next(), r.next()
	for range r.count() {
		o.Groups = append(o.Groups, r.number())
	}
	for range r.count() {
		o.Seen = append(o.Seen, r.next())
	}
	for range r.count() {
		o.Files = append(o.Files, File{Name: r.next(), Path: r.next()})
	}
	if r.wrong || len(r.words) > 0 {
		return nil, errWords
	}
	return o, nil
}

// reader takes words from the front.
type reader struct {
	words []string
	wrong bool
}

func (r *reader) next() string {
	if len(r.words) == 0 {
		r.wrong = true
		return ""
	}
	first := r.words[0]
	r.words = r.words[1:]
	return first
}

func (r *reader) number() int {
	n, err := strconv.Atoi(r.next())
	r.wrong = r.wrong || err != nil
	return n
}

// count is how many follow: no more than there are words.
func (r *reader) count() int {
	n := r.number()
	if n < 0 || n > len(r.words) {
		r.wrong = true
		return 0
	}
	return n
}

// failure is what the step reports when it can't go on.
type failure struct {
	number  syscall.Errno // 0: none of the system's
	message string
}

func (f *failure) Error() string { return f.message }

func (f *failure) Unwrap() error {
	if f.number == 0 {
		return nil
	}
	return f.number
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
	number, message, _ := strings.Cut(string(text), " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return fmt.Errorf("the step before a worker failed: %s", text)
	}
	return &failure{syscall.Errno(n), message}
}

// tell reports why the step can't go on.
func tell(report io.Writer, err error) {
	var number syscall.Errno
	_ = errors.As(err, &number)
	if _, wrong := fmt.Fprintf(report, "%d %v", int(number), err); wrong != nil {
		fmt.Fprintln(os.Stderr, err) // the launcher is gone: nobody else hears it
	}
}

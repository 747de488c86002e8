package sandboxinit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Order lists what a worker gets. It loses everything else.
type Order struct {
	UID    int
	GID    int
	Groups []int // supplementary ones

	// Folder is the worker's own: it becomes the user's, and the program starts in it. Only root
	// can change it before.
	Folder string
	// Files are mounted in Folder, by name. The user need not have access to their original paths.
	Files []File
	// Program is the name of the file of Files to run, without arguments. Empty: sandboxinit only
	// tries what the system lets it do.
	Program string
	// Seen are folders that the worker needs. They are mounted again if they lie below one of the
	// worker's own folders.
	Seen []string
	// Calls are refused system calls that this worker may make (seccomp.Check).
	Calls []string

	TemporaryBytes int64 // bytes for /tmp, /var/tmp and /dev/shm together
	Processes      int   // of the user on the machine, threads included
	OpenFiles      int   // of each process; at most as many as the launcher may have
}

// File is a file and the name under which it is mounted.
type File struct{ Name, Path string }

// The worker's descriptors. Those below firstOther are its standard ones and its socket; firstOther
// is sandboxinit's report.
const firstOther = 4

// awaitMax is how long sandboxinit may take: it waits for disks.
const awaitMax = time.Minute

// Command is sandboxinit's command, with the program and its first arguments. The caller sets the
// environment, which is the worker's, the standard files, and two more: the worker's socket, and
// the second end of Report.
func Command(program []string, o *Order) *exec.Cmd {
	cmd := exec.Command(program[0], append(program[1:len(program):len(program)], o.words()...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC,
	}
	return cmd
}

// words are the order as arguments: its numbers, its names, and then lists, each led by its length.
// Reading JSON would delay the start by a third of a millisecond.
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
	w = append(append(w, strconv.Itoa(len(o.Calls))), o.Calls...)
	w = append(w, strconv.Itoa(len(o.Files)))
	for _, f := range o.Files {
		w = append(w, f.Name, f.Path)
	}
	return w
}

// errWords is sandboxinit's error for arguments that Command did not write.
var errWords = errors.New("the step before a worker and its launcher are of two releases: have both from one")

// parse reads the result of words.
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
		o.Calls = append(o.Calls, r.next())
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

// count reads the length of a list: at most the number of words left.
func (r *reader) count() int {
	n := r.number()
	if n < 0 || n > len(r.words) {
		r.wrong = true
		return 0
	}
	return n
}

// failure is sandboxinit's report of an error.
type failure struct {
	number  syscall.Errno // 0: no error of the system
	message string
}

func (f *failure) Error() string { return f.message }

func (f *failure) Unwrap() error {
	if f.number == 0 {
		return nil
	}
	return f.number
}

// Report makes the two ends of the report's socket: one for Await, one for sandboxinit.
func Report() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fds[0], true) // so that Await can give up
	}
	if err != nil {
		return nil, nil, fmt.Errorf("what the step before a worker reports by: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "report"), os.NewFile(uintptr(fds[1]), "report"), nil //nolint:gosec // descriptors
}

// Await waits until the worker's program runs, and closes the report. It returns the listener for
// refused calls (seccomp.Watch), or nil if there is none. An error matches the system's errno.
func Await(report *os.File) (listener *os.File, err error) {
	defer report.Close()
	if err := report.SetReadDeadline(time.Now().Add(awaitMax)); err != nil {
		return nil, fmt.Errorf("the step before a worker: %w", err)
	}
	text, listener, err := receive(report)
	if err == nil && len(text) == 0 {
		return listener, nil // closed by execve: the worker's program runs
	}
	if listener != nil {
		listener.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("the step before a worker did not end: %w", err)
	}
	number, message, _ := strings.Cut(string(text), " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		return nil, fmt.Errorf("the step before a worker failed: %s", text)
	}
	return nil, &failure{syscall.Errno(n), message}
}

// reportMax bounds the bytes read of a report.
const reportMax = 64 << 10

// listenerSent is the byte that carries the listener.
const listenerSent = 0

// receive reads a report to its end.
func receive(report *os.File) (text []byte, listener *os.File, err error) {
	raw, err := report.SyscallConn()
	if err != nil {
		return nil, nil, err
	}
	buf, rights := make([]byte, 4<<10), make([]byte, unix.CmsgSpace(4))
	for len(text) < reportMax {
		var n, m int
		var got error
		err := raw.Read(func(fd uintptr) bool {
			n, m, _, _, got = unix.Recvmsg(int(fd), buf, rights, unix.MSG_CMSG_CLOEXEC) //nolint:gosec // a descriptor is small
			return !errors.Is(got, unix.EAGAIN) && !errors.Is(got, unix.EINTR)
		})
		if err = errors.Join(err, got); err != nil || n == 0 {
			return text, listener, err
		}
		if fd := descriptorIn(rights[:m]); fd >= 0 && listener == nil {
			listener = os.NewFile(uintptr(fd), "listener") //nolint:gosec // a descriptor
		}
		text = append(text, bytes.ReplaceAll(buf[:n], []byte{listenerSent}, nil)...)
	}
	return text, listener, nil
}

// descriptorIn is the descriptor sent with a text, -1 for none. Reads of it can be polled.
func descriptorIn(rights []byte) int {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) == 0 {
		return -1
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 || unix.SetNonblock(fds[0], true) != nil {
		return -1
	}
	return fds[0]
}

// reportError reports why sandboxinit can't go on.
func reportError(report io.Writer, err error) {
	var number syscall.Errno
	_ = errors.As(err, &number)
	if _, wrong := fmt.Fprintf(report, "%d %v", int(number), err); wrong != nil {
		fmt.Fprintln(os.Stderr, err) // the launcher is gone: no process reads the report
	}
}

package childproc_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/internal/childproc"
	"github.com/hamadryad/hamadryad/internal/proctest"
)

// parentVariable makes the test binary a process that starts another and then does
// nothing.
const parentVariable = "HAMADRYAD_TEST_PARENT"

const patience = time.Minute

// The main thread never ends, so no test may run on it.
func init() { runtime.LockOSThread() }

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) == "" {
		os.Exit(m.Run())
	}
	cmd := exec.Command("cat")
	cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
	if err := childproc.Start(cmd); err != nil {
		panic(err)
	}
	os.Stdin.Close()
	os.Stdout.Close()
	time.Sleep(patience) // until it is killed
}

// A process ends with its parent, also if the parent is killed.
func TestEndsWithItsParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentVariable+"=1")
	stdin, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	parent.Stdin, parent.Stdout = stdin, stdout
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	stdin.Close()
	stdout.Close()
	if _, err := io.WriteString(in, "there\n"); err != nil {
		t.Fatal(err)
	}
	if err := out.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); line != "there\n" {
		t.Fatalf("the child says %q (%v)", line, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	if _, err := lines.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the child lives on: %v", err)
	}
}

// A thread that ends does not end what a goroutine on it has started.
func TestOutlivesTheThread(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	thread := make(chan int)
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the thread ends with this goroutine
		started <- childproc.Start(cmd)
		thread <- unix.Gettid()
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	task := "/proc/self/task/" + strconv.Itoa(<-thread)
	proctest.Until(t, patience, "the thread has ended", func() bool {
		_, err := os.Stat(task)
		return errors.Is(err, os.ErrNotExist)
	})
	if _, err := io.WriteString(in, "still there\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "still there\n" {
		t.Errorf("after its thread the child says %q (%v)", line, err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// A program that can't be started is reported at once.
func TestErrors(t *testing.T) {
	if err := childproc.Start(exec.Command("/nothing/there")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

package sandboxinit

import (
	"errors"
	"os"
	"reflect"
	"syscall"
	"testing"
)

// sandboxinit reads the launcher's order, and refuses one that is cut or longer.
func TestOrder(t *testing.T) {
	for _, o := range []*Order{
		{Folder: "/a b/w1", TemporaryBytes: 1 << 20},
		{
			UID: 1000, GID: 100, Groups: []int{100, 4}, Folder: "/data/w1", Program: "program", Seen: []string{"/data/store/job-1"}, Calls: []string{"bpf", "mount"},
			Files: []File{{"program", "/cache/1"}, {"plan", ""}}, TemporaryBytes: 1 << 40, Processes: 64, OpenFiles: 65,
		},
	} {
		words := o.words()
		if got, err := parse(words); err != nil || !reflect.DeepEqual(got, o) {
			t.Errorf("%+v, %v", got, err)
		}
		for cut := range words {
			if _, err := parse(words[:cut]); !errors.Is(err, errWords) {
				t.Errorf("%q: %v", words[:cut], err)
			}
		}
		if _, err := parse(append(words, "more")); !errors.Is(err, errWords) {
			t.Error(err)
		}
	}
}

// An error of sandboxinit reaches the launcher as the same error of the system.
func TestReport(t *testing.T) {
	for _, err := range []error{&os.PathError{Op: "open", Path: "/a", Err: syscall.ENOENT}, errWords} {
		r, w, wrong := Report()
		if wrong != nil {
			t.Fatal(wrong)
		}
		reportError(w, err)
		w.Close()
		_, got := Await(r)
		if got == nil || got.Error() != err.Error() || errors.Is(got, os.ErrNotExist) != errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v became %v", err, got)
		}
	}
}

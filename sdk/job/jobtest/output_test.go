package jobtest_test

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"testing"

	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

func TestOutput(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"part-r-00001", "part-r-00000", "other", "_SUCCESS", ".part-r-00002.crc"} {
		if err := os.WriteFile(dir+"/"+name, []byte(name+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(dir+"/below", 0o777); err != nil {
		t.Fatal(err)
	}
	got, err := jobtest.Output(dir)
	if want := []string{"other\n", "part-r-00000\n", "part-r-00001\n"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if _, err := jobtest.Output(dir + "/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}

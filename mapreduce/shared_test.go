package mapreduce_test

import (
	"bufio"
	"compress/gzip"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// replicated joins its input with small files that every map task reads.
func replicated(shared map[string][]string, ask string) mapreduce.TextJob[string, string] {
	return mapreduce.TextJob[string, string]{
		Settings: mapreduce.Settings{
			Reducers: mapreduce.MapOnly, SplitBytes: 2, Shared: shared,
			Setup: func(t *mapreduce.Task) error {
				files, err := t.Shared(ask)
				if err != nil {
					return err
				}
				names := map[string]string{}
				for _, f := range files {
					r, err := f.Open()
					if err != nil {
						return err
					}
					lines := bufio.NewScanner(r)
					for lines.Scan() {
						id, name, _ := strings.Cut(lines.Text(), " ")
						names[id] = name
					}
					if err := lines.Err(); err != nil {
						return err
					}
					if err := r.Close(); err != nil {
						return err
					}
				}
				t.State = names
				return nil
			},
		},
		Map: func(t *mapreduce.Task, _ int64, line string, emit func(string, string)) error {
			emit(line, t.State.(map[string]string)[line])
			return nil
		},
	}
}

func TestSharedFiles(t *testing.T) {
	dir := t.TempDir()
	os.Mkdir(dir+"/names", 0o777)
	os.WriteFile(dir+"/in", []byte("1\n2\n3\n"), 0o666)
	os.WriteFile(dir+"/names/a", []byte("1 one, which is longer than a split\n2 two\n"), 0o666)
	f, err := os.Create(dir + "/names/b.gz")
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	io.WriteString(z, "3 three\n2 later wins\n")
	z.Close()
	f.Close()
	run := func(out, ask string, patterns ...string) error {
		shared := map[string][]string{"names": patterns, "none": {dir + "/in"}}
		_, err := jobtest.Run(t.Context(), replicated(shared, ask).Definition(), []string{dir + "/in", dir + out}, jobtest.Options{})
		return err
	}
	if err := run("/out", "names", dir+"/names/b.gz", dir+"/names/a"); err != nil {
		t.Fatal(err)
	}
	got := parts(t, dir+"/out")
	if got["1"] != "one, which is longer than a split" || got["2"] != "later wins" || got["3"] != "three" {
		t.Errorf("%v", got)
	}
	if err := run("/bad", "nam", dir+"/names"); err == nil || !strings.Contains(err.Error(), `no shared files "nam", only [names none]`) {
		t.Errorf("unknown name: %v", err)
	}
	if err := run("/bad", "names", dir+"/missing"); err == nil || !strings.Contains(err.Error(), `shared files "names"`) {
		t.Errorf("missing file: %v", err)
	}
	os.WriteFile(dir+"/names/b.gz", []byte("this is not gzip"), 0o666)
	if err := run("/bad", "names", dir+"/names"); err == nil || !strings.Contains(err.Error(), "b.gz") {
		t.Errorf("damaged file: %v", err)
	}
}

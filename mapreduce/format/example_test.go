package format_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/format"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// Lines of a key and a value, parted by an equals sign. Each key comes out with all its values.
func ExampleKeyValue() {
	collect := mapreduce.Job[string, string, string, string, string, string]{
		Name:  "collect",
		Input: format.KeyValue("="),
		Map: func(_ *mapreduce.Task, key, value string, emit func(string, string)) error {
			emit(key, value)
			return nil
		},
		Reduce: func(_ *mapreduce.Task, key string, values iter.Seq[string], emit func(string, string)) error {
			var all []string
			for value := range values {
				all = append(all, value)
			}
			emit(key, strings.Join(all, " and "))
			return nil
		},
		Settings: mapreduce.Settings{Reducers: 1},
	}
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, []byte("oak=tall\nelm=slender\noak=old\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := jobtest.Run(context.Background(), collect.Definition(), []string{in, out}, jobtest.Options{}); err != nil {
		fmt.Println(err)
		return
	}
	files, err := jobtest.Output(out)
	fmt.Print(strings.Join(files, ""), err)
	// Output:
	// elm	slender
	// oak	tall and old
	// <nil>
}

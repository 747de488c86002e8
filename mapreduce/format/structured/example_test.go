package structured_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hamadryad/hamadryad/mapreduce"
	"github.com/hamadryad/hamadryad/mapreduce/format/structured"
	"github.com/hamadryad/hamadryad/sdk/job/jobtest"
)

// Tree is a record of the Avro file.
type Tree struct {
	Name   string `avro:"name"`
	Height int    `avro:"height"`
}

// The tall ones of the records of an Avro file.
func ExampleAvro() {
	tall := mapreduce.Job[int64, Tree, string, int, string, int]{
		Name:  "tall",
		Input: structured.Avro[Tree],
		Map: func(_ *mapreduce.Task, _ int64, tree Tree, emit func(string, int)) error {
			if tree.Height > 20 {
				emit(tree.Name, tree.Height)
			}
			return nil
		},
		Settings: mapreduce.Settings{Reducers: mapreduce.MapOnly},
	}
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "trees.avro"), filepath.Join(dir, "out")
	if err := writeTrees(in, Tree{"oak", 35}, Tree{"apple", 8}, Tree{"elm", 30}); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := jobtest.Run(context.Background(), tall.Definition(), []string{in, out}, jobtest.Options{}); err != nil {
		fmt.Println(err)
		return
	}
	files, err := jobtest.Output(out)
	fmt.Print(strings.Join(files, ""), err)
	// Output:
	// oak	35
	// elm	30
	// <nil>
}

// writeTrees writes an Avro file.
func writeTrees(path string, trees ...Tree) error {
	var file bytes.Buffer
	w, err := structured.NewAvroWriter[Tree](&file, `{"type": "record", "name": "tree", "fields": [{"name": "name", "type": "string"}, {"name": "height", "type": "long"}]}`)
	if err != nil {
		return err
	}
	for _, tree := range trees {
		if err := w.Write(tree); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, file.Bytes(), 0o600)
}

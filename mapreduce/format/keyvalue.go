package format

import (
	"bytes"
	"cmp"

	"github.com/hamadryad/hamadryad/mapreduce"
)

// KeyValue reads lines of text as key and value, split at the first separator (a tab if empty). A
// line without a separator is all key, with an empty value.
func KeyValue(separator string) mapreduce.Format[string, string] {
	read := KeyValueBytes(separator)
	return func(t *mapreduce.Task, each func(key, value string) error) error {
		return read(t, func(key, value []byte) error { return each(string(key), string(value)) })
	}
}

// KeyValueBytes is KeyValue without a copy: key and value are valid until the call of each returns.
func KeyValueBytes(separator string) mapreduce.Format[[]byte, []byte] {
	by := []byte(cmp.Or(separator, "\t"))
	return func(t *mapreduce.Task, each func(key, value []byte) error) error {
		for line, err := range t.Lines() {
			if err != nil {
				return err
			}
			key, value, _ := bytes.Cut(line.Text, by)
			if err := each(key, value); err != nil {
				return err
			}
		}
		return nil
	}
}

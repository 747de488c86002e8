package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// parts are the files of a job's output folder, in order.
func parts(folder string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "part-*"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s holds no part", folder)
	}
	return files, err
}

// sameLines reports whether the parts of a job have the lines of a sorted file, in any order. Both
// are held in memory.
func sameLines(folder, sorted string) error {
	files, err := parts(folder)
	if err != nil {
		return err
	}
	var lines []string
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		lines = append(lines, slices.Collect(strings.Lines(string(data)))...)
	}
	slices.Sort(lines)
	want, err := os.ReadFile(sorted)
	if err != nil {
		return err
	}
	i := 0
	for line := range strings.Lines(string(want)) {
		if i >= len(lines) || lines[i] != line {
			return fmt.Errorf("the outputs differ: %s has line %d, %q; %s has another", sorted, i+1, line, folder)
		}
		i++
	}
	if i < len(lines) {
		return fmt.Errorf("the outputs differ: %s has %d lines, %s has %d", sorted, i, folder, len(lines))
	}
	return nil
}

// compareBytes is how much of two files is compared at a time.
const compareBytes = 1 << 20

// sameBytes reports whether the parts of a job, in order, are a file.
func sameBytes(folder, file string) error {
	files, err := parts(folder)
	if err != nil {
		return err
	}
	var readers []io.Reader
	for _, path := range append(files, file) {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		readers = append(readers, f)
	}
	ours, theirs := io.MultiReader(readers[:len(files)]...), readers[len(files)]
	a, b := make([]byte, compareBytes), make([]byte, compareBytes)
	for offset := int64(0); ; {
		n, errA := io.ReadFull(ours, a)
		m, errB := io.ReadFull(theirs, b)
		if !bytes.Equal(a[:n], b[:m]) {
			return fmt.Errorf("the outputs differ: %s and %s are not the same within %d bytes of offset %d", folder, file, compareBytes, offset)
		}
		offset += int64(n)
		if errA != nil || errB != nil {
			return errors.Join(notEnd(errA), notEnd(errB))
		}
	}
}

func notEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// Package dataformat marks a folder of data with the program that wrote it and the versions of its
// formats. An older program then refuses the folder before it changes anything.
//
//	if err := dataformat.Check(folder, "manager", versions); err != nil { … }
//	… // read the folder, and refuse formats that are too old
//	if err := dataformat.Mark(folder, "manager", versions); err != nil { … }
//
// Older versions are not refused here: the reader of a format knows which versions it can read.
//
// # Formats outside of their folder
//
// Files that leave their folder have versions of their own:
//
//   - files of the event log (with the core's version), checkpoints, and files of history,
//   - plans and graphs, and the numbers of jobs,
//   - budgets (.applied), accepted signatures and tokens,
//   - lists of parts (_PARTS), recorded workloads and Binary files.
//
// A reader names a version that it does not read, and leaves the file as it is. Nothing is
// migrated.
package dataformat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hamadryad/hamadryad/internal/atomicfile"
	"github.com/hamadryad/hamadryad/internal/buildinfo"
)

const (
	// File is the name of the mark in its folder.
	File = "format"
	// bytesMax bounds the mark.
	bytesMax = 64 << 10
)

// Versions are the versions of a folder's formats by name: core, event log.
type Versions map[string]int

// mark is the file.
type mark struct {
	Data     string   `json:"data"`    // the owner of the data: manager, launcher
	Program  string   `json:"program"` // that wrote them last
	Versions Versions `json:"versions"`
}

// NewerError is returned for data that a newer program wrote.
type NewerError struct {
	Folder, Data string
	Program      string // the program that wrote it last
	What         string // the format with another version
	Has, Reads   int    // Reads is 0 where this program has no such format
}

// Error names the program to start.
func (e *NewerError) Error() string {
	reads := fmt.Sprintf("this program reads %d", e.Reads)
	if e.Reads == 0 {
		reads = "this program has no such format"
	}
	return fmt.Sprintf("the %s's data in %s is newer than this program: its %s has version %d, and %s; start hamadryad %s, which wrote it, or a newer one; nothing was changed",
		e.Data, e.Folder, e.What, e.Has, reads, e.Program)
}

// Check refuses a folder that a newer program wrote, with a *NewerError, and a folder with another
// kind of data. A folder without a mark is older than marks, or is new. Check changes nothing.
func Check(folder, data string, reads Versions) error {
	m, err := read(folder)
	if err != nil || m == nil {
		return err
	}
	if m.Data != data {
		return fmt.Errorf("%s has the data of a %s: give the %s a folder of its own", folder, m.Data, data)
	}
	for _, what := range slices.Sorted(maps.Keys(m.Versions)) {
		if has := m.Versions[what]; has > reads[what] {
			return &NewerError{Folder: folder, Data: data, Program: m.Program, What: what, Has: has, Reads: reads[what]}
		}
	}
	return nil
}

// Mark records that this program writes a folder from now on. It changes nothing where the mark
// says so already.
func Mark(folder, data string, versions Versions) error {
	next := mark{data, buildinfo.Read().Version, versions}
	m, err := read(folder)
	if err != nil {
		return err
	}
	if m != nil && m.Data == next.Data && m.Program == next.Program && maps.Equal(m.Versions, next.Versions) {
		return nil
	}
	text, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Replace(filepath.Join(folder, File), append(text, '\n'))
}

// read reads a folder's mark; nil: it has none.
func read(folder string) (*mark, error) {
	path := filepath.Join(folder, File)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, bytesMax))
	if err != nil {
		return nil, err
	}
	m := &mark{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%s can't be read: put a copy of it back, or, if this program wrote the data beside it, remove it: %w", path, err)
	}
	return m, nil
}

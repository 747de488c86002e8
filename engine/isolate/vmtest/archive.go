package main

import (
	"bytes"
	"fmt"
	"io/fs"
)

// archive is a file system for a kernel's start: "newc" of its
// Documentation/driver-api/early-userspace/buffer-format.rst.
type archive struct {
	bytes.Buffer
	entries int
}

// folder adds a folder. Those above it were added before.
func (a *archive) folder(path string) { a.add(path, fs.FileMode(0o755), 0o040000, nil) }

// file adds a plain file.
func (a *archive) file(path string, mode fs.FileMode, content []byte) {
	a.add(path, mode, 0o100000, content)
}

// end closes the archive, which is whole then.
func (a *archive) end() []byte {
	a.add("TRAILER!!!", 0, 0, nil)
	return a.Bytes()
}

func (a *archive) add(path string, mode fs.FileMode, kind uint32, content []byte) {
	a.entries++
	const owner, links, time, device = 0, 1, 0, 0
	fmt.Fprintf(a, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", a.entries, kind|uint32(mode.Perm()), owner, owner, links, time,
		len(content), device, device, device, device, len(path)+1, 0)
	a.WriteString(path + "\x00")
	a.align()
	a.Write(content)
	a.align()
}

// align fills up to four bytes.
func (a *archive) align() { a.Write(make([]byte, -a.Len()&3)) }

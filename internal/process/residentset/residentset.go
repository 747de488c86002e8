// Package residentset tells how much memory of this process is resident, and gives back what it does
// not use.
//
// # Invariants
//
// Release changes nothing that the process can read. It drops garbage, free pages of the heap, and
// mapped pages of the program's own file that were never written. The kernel maps the latter again at
// the next access, from its cache of the file and without reading the disk.
package residentset

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Bytes returns how much memory of this process is resident; 0 if the kernel does not tell.
func Bytes() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// Release collects garbage, returns free pages of the heap to the kernel, and unmaps pages of the
// program. It takes as long as a collection. The error says why pages of the program stay mapped.
func Release() error {
	debug.FreeOSMemory()
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return err
	}
	for _, m := range unwritten(maps, program) {
		if err := unmap(m); err != nil {
			return err
		}
	}
	return nil
}

// mapping is a range of addresses.
type mapping struct{ begin, end uintptr }

// unwritten returns the mappings of a file that can't be written, and of which no page ever was. It
// reads the form of /proc/PID/smaps.
func unwritten(smaps []byte, file string) []mapping {
	var list []mapping
	is := false // the lines are of a mapping of the file that can't be written
	var at mapping
	for in := bufio.NewScanner(bytes.NewReader(smaps)); in.Scan(); {
		fields := strings.Fields(in.Text())
		if len(fields) == 0 {
			continue
		}
		if !strings.HasSuffix(fields[0], ":") { // BEGIN-END PERMISSIONS OFFSET DEVICE INODE PATH
			is = false
			if len(fields) == 6 && fields[5] == file && !strings.Contains(fields[1], "w") {
				_, err := fmt.Sscanf(fields[0], "%x-%x", &at.begin, &at.end)
				is = err == nil && at.begin < at.end
			}
			continue
		}
		// The pages that a debugger or the dynamic linker wrote are anonymous.
		if is && fields[0] == "Anonymous:" && len(fields) > 1 && fields[1] == "0" {
			list = append(list, at)
		}
	}
	return list
}

// unmap has the kernel forget that pages are mapped. The addresses stay valid.
func unmap(m mapping) error {
	_, _, errno := unix.Syscall(unix.SYS_MADVISE, m.begin, m.end-m.begin, unix.MADV_DONTNEED)
	if errno != 0 {
		return fmt.Errorf("unmap pages of the program: %w", errno)
	}
	return nil
}

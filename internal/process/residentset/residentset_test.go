package residentset

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A mapping counts only if it is of the file, can't be written, and has no page that was written.
func TestUnwritten(t *testing.T) {
	const maps = `00400000-01420000 r-xp 00000000 fe:00 123  /usr/bin/program
Rss:               14708 kB
Anonymous:             0 kB
01420000-02900000 r--p 01020000 fe:00 123  /usr/bin/program
Rss:               15868 kB
Anonymous:             0 kB
02900000-02a00000 r--p 02500000 fe:00 123  /usr/bin/program
Rss:                 764 kB
Anonymous:           180 kB
02a00000-02b00000 rw-p 02600000 fe:00 123  /usr/bin/program
Anonymous:             0 kB
c000000000-c004000000 rw-p 00000000 00:00 0
Anonymous:          9000 kB
7f0000000000-7f0000100000 r-xp 00000000 fe:00 456  /usr/lib/libc.so.6
Anonymous:             0 kB
7fff00000000-7fff00002000 r-xp 00000000 00:00 0  [vdso]
Anonymous:             0 kB
`
	got := unwritten([]byte(maps), "/usr/bin/program")
	want := []mapping{{0x400000, 0x1420000}, {0x1420000, 0x2900000}}
	if !slices.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

// Garbage and pages of the program are given back, and the process goes on.
func TestRelease(t *testing.T) {
	const size = 64 << 20
	garbage := make([]byte, size)
	for i := range garbage {
		garbage[i] = 1
	}
	runtime.KeepAlive(garbage)
	before, mapped := Bytes(), programPages(t)
	if before < size {
		t.Fatalf("%d bytes are resident, and %d were written", before, size)
	}
	if err := Release(); err != nil {
		t.Fatal(err)
	}
	if after := Bytes(); after > before-size*3/4 {
		t.Errorf("%d bytes were resident, and %d are after the release", before, after)
	}
	if after := programPages(t); after >= mapped {
		t.Errorf("%d KiB of the program were mapped, and %d are after the release", mapped, after)
	}
}

// programPages is how many KiB of files the process has mapped and resident.
func programPages(t *testing.T) (kib int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if n, err := fmt.Sscanf(line, "RssFile: %d kB", &kib); n == 1 && err == nil {
			return kib
		}
	}
	t.Fatal("the kernel does not tell how much of files is resident")
	return 0
}

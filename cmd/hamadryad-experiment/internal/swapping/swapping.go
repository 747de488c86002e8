// Package swapping runs this process and its children in too little memory. So the memory of
// suspended processes is swapped out, to the package's own file. It needs root, and Linux with the
// memory controller of cgroups, of version 1 or 2.
package swapping

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Swap is a swap file in use, and a cgroup. Close removes both.
type Swap struct {
	file   string
	group  string // folder of the cgroup
	before string // folder of this process's previous cgroup
	limit  string // name of the file with the memory limit
	none   string // its content without a limit
	used   bool   // the file is in use
}

// New makes a swap file of so many bytes in a folder, and activates it. An error names what the
// machine lacks.
func New(folder string, bytes int64) (s *Swap, err error) {
	s = &Swap{file: filepath.Join(folder, "figure8-swap")}
	if err := s.makeGroup(); err != nil {
		return nil, err
	}
	if err := errors.Join(os.MkdirAll(folder, 0o755), allocate(s.file, bytes)); err != nil {
		return nil, errors.Join(fmt.Errorf("making a swap file: %w", err), s.Close())
	}
	for _, command := range []string{"mkswap", "swapon"} {
		if out, err := exec.Command(command, s.file).CombinedOutput(); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w: %s", command, err, out), s.Close())
		}
	}
	s.used = true
	return s, nil
}

// allocate makes a file without holes: swap files may have none.
func allocate(path string, bytes int64) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(unix.Fallocate(int(f.Fd()), 0, 0, bytes), f.Close())
}

// makeGroup makes a cgroup beside this process's.
func (s *Swap) makeGroup() error {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return err
	}
	name := fmt.Sprintf("hamadryad-figure8-%d", os.Getpid())
	for line := range strings.Lines(string(own)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		root, limit, none := "/sys/fs/cgroup", "memory.max", "max"
		if parts[1] == "memory" {
			root, limit, none = "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "-1"
		} else if parts[1] != "" {
			continue
		}
		group := filepath.Join(root, name)
		if os.Mkdir(group, 0o755) != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(group, limit)); err != nil {
			_ = os.Remove(group)
			continue
		}
		s.before, s.group, s.limit, s.none = filepath.Join(root, parts[2]), group, limit, none
		return nil
	}
	return errors.New("there is no cgroup of which the memory could be bounded: run it as root, with the memory controller")
}

// Enter limits this process, and its future children, to so many bytes of memory.
func (s *Swap) Enter(bytes int64) error {
	return errors.Join(write(filepath.Join(s.group, s.limit), strconv.FormatInt(bytes, 10)), enter(s.group))
}

// Leave moves this process back to its cgroup, and lifts the limit: swapped memory has room again.
func (s *Swap) Leave() error {
	return errors.Join(enter(s.before), write(filepath.Join(s.group, s.limit), s.none))
}

func enter(group string) error {
	return write(filepath.Join(group, "cgroup.procs"), strconv.Itoa(os.Getpid()))
}

func write(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }

// Close removes swap file and cgroup, after the end of all processes that were started in it.
func (s *Swap) Close() error {
	errs := []error{s.Leave()}
	if s.used {
		if out, err := exec.Command("swapoff", s.file).CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("swapoff: %w: %s", err, out))
		}
	}
	if err := os.Remove(s.file); !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, os.Remove(s.group))...)
}

// pageBytes is the size of a page of memory.
var pageBytes = int64(os.Getpagesize())

// Out is the number of bytes that the machine has swapped out since its start.
func Out() int64 {
	f, err := os.Open("/proc/vmstat")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var pages int64
		if n, _ := fmt.Sscanf(lines.Text(), "pswpout %d", &pages); n == 1 {
			return pages * pageBytes
		}
	}
	return 0
}

// Raw is the disk's time to write so many bytes to a file, and then to read them.
func Raw(path string, bytes int64) (time.Duration, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	defer os.Remove(path)
	defer f.Close()
	block := make([]byte, 1<<20)
	began := time.Now()
	for at := int64(0); at < bytes; at += int64(len(block)) {
		block[0] = byte(at >> 20)
		if _, err := f.WriteAt(block, at); err != nil {
			return 0, err
		}
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	// The written pages are dropped, so that the disk is read.
	if err := unix.Fadvise(int(f.Fd()), 0, bytes, unix.FADV_DONTNEED); err != nil {
		return 0, err
	}
	for at := int64(0); at < bytes; at += int64(len(block)) {
		if _, err := f.ReadAt(block, at); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

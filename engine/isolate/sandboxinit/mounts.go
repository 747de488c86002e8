package sandboxinit

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// own are the folders that anybody may write to. Each worker has its own in memory, empty at first,
// which vanish with it.
var own = []string{"/tmp", "/var/tmp", "/dev/shm"}

// inodeBytes is how much memory one file of a worker's temporary folders counts for: empty files
// take memory, too.
const inodeBytes = 4 << 10

// shown is a file or folder to be mounted at a path.
type shown struct {
	fd   int
	path string
	info unix.Stat_t
}

// surround gives the worker its own view of the file system.
func (o *Order) surround() error {
	_ = unix.Umask(0) // files made here get exactly the modes given here
	var folders, files []shown
	for _, path := range append([]string{o.Folder}, o.Seen...) {
		s, err := openShown(path, path)
		if err != nil {
			return err
		}
		folders = append(folders, s)
	}
	for _, f := range o.Files {
		s, err := openShown(f.Path, filepath.Join(o.Folder, f.Name))
		if err != nil {
			return err
		}
		files = append(files, s)
	}
	// Mounts made here stay in this namespace. Unmounts of the machine reach it.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("a view of the file system of its own: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := o.mountOwn(); err != nil {
		return err
	}
	for _, s := range folders {
		if err := s.uncover(); err != nil {
			return err
		}
	}
	for _, s := range files {
		if err := s.showFile(); err != nil {
			return err
		}
	}
	return nil
}

// openShown opens a file or folder before another mount covers it.
func openShown(from, path string) (shown, error) {
	fd, err := unix.Open(from, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	s := shown{fd: fd, path: path}
	if err == nil {
		err = unix.Fstat(fd, &s.info)
	}
	if err != nil {
		return s, fmt.Errorf("show %s to a worker: %w", from, err)
	}
	return s, nil
}

// mountOwn mounts one bounded file system over all folders of own that exist.
func (o *Order) mountOwn() error {
	first := ""
	for _, path := range own {
		if info, err := os.Lstat(path); err != nil || !info.IsDir() {
			continue
		}
		if first != "" {
			if err := unix.Mount(first, path, "", unix.MS_BIND, ""); err != nil {
				return fmt.Errorf("a %s of its own: %w", path, err)
			}
			continue
		}
		options := fmt.Sprintf("mode=1777,size=%d,nr_inodes=%d", o.TemporaryBytes, max(o.TemporaryBytes/inodeBytes, 16))
		if err := unix.Mount("tmpfs", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
			return fmt.Errorf("a %s of its own: %w", path, err)
		}
		first = path
	}
	return nil
}

// uncover mounts a folder again if another mount covers it now.
func (s shown) uncover() error {
	var now unix.Stat_t
	if err := unix.Lstat(s.path, &now); err == nil && now.Dev == s.info.Dev && now.Ino == s.info.Ino {
		return nil
	}
	err := os.MkdirAll(s.path, 0o711)
	if err == nil {
		err = unix.Mount(descriptor(s.fd), s.path, "", unix.MS_BIND, "")
	}
	if err != nil {
		return fmt.Errorf("show %s to a worker: %w", s.path, err)
	}
	return nil
}

// showFile mounts a file under its name in the worker's folder.
func (s shown) showFile() error {
	fd, err := unix.Open(s.path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o400)
	if err == nil {
		_ = unix.Close(fd)
		err = unix.Mount(descriptor(s.fd), s.path, "", unix.MS_BIND, "")
	}
	if err != nil {
		return fmt.Errorf("show %s to a worker: %w", s.path, err)
	}
	return nil
}

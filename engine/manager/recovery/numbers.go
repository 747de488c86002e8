package recovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/internal/atomicfile"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

const (
	// numbersFile is beside the event log, in the data folder.
	numbersFile = "numbers"
	// numbersAhead is how many numbers of jobs are set aside at once: so many are skipped after a
	// crash at most.
	numbersAhead = 100
	// numbersBytesMax bounds the file.
	numbersBytesMax = 4 << 10
)

// Numbers keeps, on disk and beside the event log, up to which number jobs may have been given.
// So the next life goes on there, though the log may have lost its end. A copy of the file counts
// for nothing: whoever puts an old copy of the data back does not know which jobs came after it.
// Safe for concurrent use.
type Numbers struct {
	path string

	mu   sync.Mutex
	kept numbers
	gone bool // there is no file: the next life goes by the age of the data
}

// numbersVersion is that of the file.
const numbersVersion = 1

// numbers are the file.
type numbers struct {
	Version  int    `json:"version"`
	Identity string `json:"identity"` // of the data
	Given    uint64 `json:"given"`    // no job of a larger number was given
	// Clean says that the manager was stopped behind Record, the log's last, and that all jobs up to
	// Given are in the log.
	Clean  bool   `json:"clean"`
	Record uint64 `json:"record"`
	// File is which file this is: a copy is another one.
	File fileIdentity `json:"file"`
}

// fileIdentity names a file among all that a machine ever had: an inode may be used again, at another time.
type fileIdentity struct {
	Inode uint64 `json:"inode"`
	Born  int64  `json:"bornNs"` // nanoseconds since 1970
}

// identify says which file is open; the error says why that can't be known.
func identify(f *os.File) (fileIdentity, error) {
	var st unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return fileIdentity{}, err
	}
	if st.Mask&unix.STATX_BTIME == 0 {
		return fileIdentity{}, errors.New("the file system does not keep when files were made")
	}
	return fileIdentity{st.Ino, st.Btime.Sec*1e9 + int64(st.Btime.Nsec)}, nil
}

// OpenNumbers reads the file of a data folder for a life that begins behind a record of its log, and
// sets numbers aside for it. Where there is none that counts, the life goes by the age of its data.
func OpenNumbers(folder string, l *Life, record uint64) (*Numbers, error) {
	n := &Numbers{path: filepath.Join(folder, numbersFile)}
	last := l.Core.LastJob()
	k, err := readNumbers(n.path)
	if errors.Is(err, errOtherVersion) {
		return nil, err
	}
	if err == nil && k.Identity == l.Identity && (!k.Clean || k.Record == record && scheduler.JobID(k.Given) == last) {
		l.jobsKnown, l.jobsGiven = true, k.Given
	}
	n.kept.Identity = l.Identity
	if l.New { // of data that is new none was given
		l.jobsKnown = l.JobsAbove == 0
	}
	first := max(uint64(last), l.jobsGiven, l.JobsAbove)
	if !l.jobsKnown {
		first = max(first, uint64(core.LastJobByAge(l.JobsAbove, l.age)))
	}
	return n, n.setAsideBehind(first)
}

var errOtherVersion = errors.New("version")

// readNumbers reads the file. It refuses a copy, and a file of another version.
func readNumbers(path string) (k numbers, err error) {
	f, err := os.Open(path)
	if err != nil {
		return k, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, numbersBytesMax))
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		return k, err
	}
	if k.Version != numbersVersion {
		remedy := "start the version of Hamadryad that wrote it"
		if k.Version > numbersVersion {
			remedy += ", or a newer one"
		}
		return k, fmt.Errorf("%s has %w %d, and this program reads %d: %s", path, errOtherVersion, k.Version, numbersVersion, remedy)
	}
	own, err := identify(f)
	if err == nil && own != k.File {
		err = errors.New("it is a copy")
	}
	return k, err
}

// SetAside has a job's number kept as given, before somebody hears of it. It seldom waits for the disk.
func (n *Numbers) SetAside(job scheduler.JobID) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone || uint64(job) <= n.kept.Given {
		return nil
	}
	return n.setAsideBehind(uint64(job))
}

// setAsideBehind writes that some numbers behind one may be given. Where that can't be written, the file goes.
func (n *Numbers) setAsideBehind(behind uint64) error {
	next := numbers{Identity: n.kept.Identity, Given: behind + numbersAhead}
	return n.write(next)
}

// Stop marks a clean stop behind the log's last record, with the last job that was given.
func (n *Numbers) Stop(last scheduler.JobID, record uint64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.write(numbers{Identity: n.kept.Identity, Given: uint64(last), Clean: true, Record: record})
}

func (n *Numbers) write(next numbers) error {
	next.Version = numbersVersion
	err := atomicfile.ReplaceBy(n.path, func(f *os.File) (err error) {
		if next.File, err = identify(f); err != nil {
			return err
		}
		text, err := json.Marshal(next)
		if err != nil {
			return err
		}
		_, err = f.Write(append(text, '\n'))
		return err
	})
	if err == nil {
		n.kept, n.gone = next, false
		return nil
	}
	if gone := n.remove(); gone != nil {
		return fmt.Errorf("%s can't be written, nor removed, and would have numbers of jobs repeat: %w", n.path, errors.Join(err, gone))
	}
	n.gone = true
	return nil
}

// remove has the next life go by the age of the data.
func (n *Numbers) remove() error {
	err := os.Remove(n.path)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, atomicfile.SyncFolder(filepath.Dir(n.path)))
}

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

// Numbers keeps, on disk and beside the event log, the bound of the job numbers that may have been
// given. So the next life continues above it, even if the log has lost its end. A copy of the file
// does not count: an old copy of the data does not know the later jobs. Safe for concurrent use.
type Numbers struct {
	path string

	mu   sync.Mutex
	kept numbers
	gone bool // there is no file: the next life uses the age of the data
}

// numbersVersion is the file's version.
const numbersVersion = 1

// numbers are the file.
type numbers struct {
	Version  int    `json:"version"`
	Identity string `json:"identity"` // of the data
	Given    uint64 `json:"given"`    // no job has a larger number
	// Clean says that the manager was stopped after Record, the log's last, and that all jobs up to
	// Given are in the log.
	Clean  bool   `json:"clean"`
	Record uint64 `json:"record"`
	// File is the file's identity: a copy has another one.
	File fileIdentity `json:"file"`
}

// fileIdentity identifies a file among all files that a machine ever had: an inode may be reused,
// at another time.
type fileIdentity struct {
	Inode uint64 `json:"inode"`
	Born  int64  `json:"bornNs"` // nanoseconds since 1970
}

// identify returns the identity of an open file; the error says why it is unknown.
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

// OpenNumbers reads the file of a data folder for a life that begins after a record of its log, and
// reserves numbers for it. Without a valid file, the life uses the age of its data.
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
	if l.New { // new data has given none
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

// SetAside records a job's number as given, before the number is sent to anyone. It seldom waits
// for the disk.
func (n *Numbers) SetAside(job scheduler.JobID) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone || uint64(job) <= n.kept.Given {
		return nil
	}
	return n.setAsideBehind(uint64(job))
}

// setAsideBehind writes that some numbers above one may be given. If that can't be written, it
// removes the file.
func (n *Numbers) setAsideBehind(behind uint64) error {
	next := numbers{Identity: n.kept.Identity, Given: behind + numbersAhead}
	return n.write(next)
}

// Stop marks a clean stop after the log's last record, with the last given job number.
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

// remove makes the next life use the age of the data.
func (n *Numbers) remove() error {
	err := os.Remove(n.path)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, atomicfile.SyncFolder(filepath.Dir(n.path)))
}

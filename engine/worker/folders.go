package worker

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// folders are an attempt's folders on its launcher's disk. Each is made when it is first needed.
// Safe for concurrent use.
type folders struct {
	scratch string // of temporary files
	spare   string // an empty folder of an earlier attempt, which becomes scratch; "": none
	store   string // of stored channel files

	once sync.Once // makes scratch
	err  error     // after once
}

func foldersOf(r *wire.RunGroup) folders {
	return folders{scratch: r.Scratch, spare: r.Spare, store: r.Store}
}

// makeScratch makes the folder of temporary files.
func (f *folders) makeScratch() error {
	f.once.Do(func() {
		if !f.renameSpare() {
			f.err = os.MkdirAll(f.scratch, 0o700)
		}
	})
	return f.err
}

// renameSpare reports whether the spare folder is the folder of temporary files now. Some file systems
// take ten times as long to make a folder. The launcher found the spare one empty, but a goroutine that
// the earlier attempt left behind may have written to it.
func (f *folders) renameSpare() bool {
	if f.spare == "" || os.Rename(f.spare, f.scratch) != nil {
		return false
	}
	if list, err := os.ReadDir(f.scratch); err == nil && len(list) == 0 {
		return true
	}
	_ = os.RemoveAll(f.scratch) // a failure appears when the folder is made
	return false
}

// makeStore makes the folder of stored files. It retries, because the launcher may concurrently
// remove the job's folder while that is empty.
func (f *folders) makeStore() (err error) {
	for range makeStoreTries {
		if err = os.MkdirAll(f.store, 0o700); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

// makeStoreTries bounds the tries of makeStore.
const makeStoreTries = 10

// Package secretfile reads files that hold secrets: keys, tokens and tickets. It refuses files that
// other users may read, as they may know the secret.
//
// Errors say what is wrong and what to do, and never contain the content. The caller names the
// file, and says what else to do when the secret leaked.
package secretfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Owner is the required owner of a file.
type Owner int

// Owners of files.
const (
	Anybody    Owner = iota // any owner; its mode keeps all others out
	SelfOrRoot              // this process's user, or root
	Self                    // this process's user, which writes the file
)

// Options are what Read accepts.
type Options struct {
	BytesMax int64 // of the file
	Owner    Owner
	NoLinks  bool // the file itself, not a link to it
}

// ReadFile returns a file's content. It never waits for the writer of a pipe.
func ReadFile(path string, o Options) ([]byte, error) {
	how := os.O_RDONLY | syscall.O_NONBLOCK
	if o.NoLinks {
		how |= syscall.O_NOFOLLOW
	}
	f, err := os.OpenFile(path, how, 0)
	if errors.Is(err, syscall.ELOOP) && o.NoLinks {
		return nil, errors.New("it is a link: put the file itself there")
	}
	if err != nil {
		return nil, errors.Unwrap(err) // without the file's name, which the caller adds
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("it is no file (mode %v)", info.Mode())
	}
	if err == nil {
		err = Check(info, o.Owner)
	}
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, o.BytesMax+1))
	if err == nil && int64(len(text)) > o.BytesMax {
		err = fmt.Errorf("it has more than %d bytes", o.BytesMax)
	}
	return text, err
}

// Check returns why others than the owner may reach a file or folder; nil: none may.
func Check(info fs.FileInfo, owner Owner) error {
	uid, self := info.Sys().(*syscall.Stat_t).Uid, uint32(os.Geteuid()) //nolint:gosec // a user's id is not negative
	if owner != Anybody && uid != self && (owner != SelfOrRoot || uid != 0) {
		return fmt.Errorf("it belongs to user %d, and this process is user %d's: whoever put it there may know what is in it", uid, self)
	}
	mode := info.Mode().Perm()
	if mode&0o077 == 0 {
		return nil
	}
	return fmt.Errorf("others may reach it (mode %04o), and may know what is in it: chmod %o it", mode, mode&0o700)
}

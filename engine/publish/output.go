package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/storage"
)

const (
	// SuccessName is the file that marks an output folder as complete. It holds the mark of the job
	// that published it.
	SuccessName = "_SUCCESS"
	// IncompleteName is in place of SuccessName in the output of a job array of which elements
	// failed. The output has the files of the others.
	IncompleteName = "_INCOMPLETE"
	// readyName is the folder within the temporary one that becomes the output.
	readyName = "publish"
	// removedSuffix is added to the name of a temporary folder during its removal.
	removedSuffix = ".removed"
	// successMax bounds the bytes read of a _SUCCESS file.
	successMax = 4 << 10
)

// Part is a file to be published.
type Part struct {
	Temporary string `json:"temporary"` // its name in the temporary folder
	Name      string `json:"name"`      // its name below the output folder
	Node      string `json:"-"`         // the node that wrote it, for messages
}

// Output is one output folder of a job. Its methods are for one goroutine.
type Output struct {
	Folder    string // the output folder to be made
	Temporary string // the folder with the parts
	Mark      string // content of _SUCCESS, or _INCOMPLETE: no other job has the same
	By        string // a name that no other publisher has, such as the attempt's
	Parts     []Part
	// Incomplete says that files are missing: those of a job array's failed elements.
	Incomplete bool

	store storage.Store
}

func (o *Output) open() (err error) {
	if o.store == nil {
		o.store, err = storage.For(o.Folder)
	}
	return err
}

func (o *Output) ready() string { return storage.Join(o.Temporary, readyName) }

// Publish makes the complete output appear. It may be called again after any error, and by another
// process. If there is an output that is not this job's, the error is fs.ErrExist, and that output
// stays as it is.
func (o *Output) Publish(ctx context.Context) error {
	if done, err := o.Published(ctx); done || err != nil {
		return err
	}
	if err := o.makeFolder(ctx, o.ready()); err != nil {
		return err
	}
	if err := o.fill(ctx); err != nil {
		return err
	}
	err := o.store.Rename(ctx, o.ready(), o.Folder)
	if err == nil {
		return nil
	}
	// Another publisher of this job may have done it at the same time, or another job may have
	// taken the name.
	if done, lookErr := o.Published(ctx); done || lookErr != nil {
		return lookErr
	}
	return err
}

// Published reports whether this job published the output. If the output is another job's, the
// error is fs.ErrExist.
func (o *Output) Published(ctx context.Context) (bool, error) {
	if err := o.open(); err != nil {
		return false, err
	}
	_, err := o.store.Stat(ctx, o.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	text, err := o.read(ctx, storage.Join(o.Folder, SuccessName), successMax)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = o.read(ctx, storage.Join(o.Folder, IncompleteName), successMax)
	}
	switch {
	case err == nil && string(text) == o.Mark:
		return true, nil
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return false, &takenError{o.Folder}
	}
	return false, err
}

// markName is the name of the file with the mark.
func (o *Output) markName() string {
	if o.Incomplete {
		return IncompleteName
	}
	return SuccessName
}

// takenError says that the output folder exists and is not this job's.
type takenError struct{ folder string }

func (e *takenError) Error() string {
	return e.folder + " is there and is not this job's: it is left as it is"
}

func (e *takenError) Is(target error) bool { return target == fs.ErrExist }

// Withdraw removes unpublished parts, for a job that shall have no output. It reports whether the
// output was published before. It renames the temporary folder first. So a publisher that still
// runs elsewhere can't finish any more, and the answer stays true.
func (o *Output) Withdraw(ctx context.Context) (published bool, err error) {
	if err := o.open(); err != nil {
		return false, err
	}
	removed := o.Temporary + removedSuffix
	err = o.store.Rename(ctx, o.Temporary, removed)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	published, err = o.Published(ctx)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	return published, errors.Join(o.store.Delete(ctx, removed), o.Remove(ctx))
}

// Remove removes the temporary folder.
func (o *Output) Remove(ctx context.Context) error {
	if err := o.open(); err != nil {
		return err
	}
	return o.store.Delete(ctx, o.Temporary)
}

// writeFile makes a small file under a name of this publisher's own, and renames it as given. So a
// file that a dying publisher left half written is never used. If the file exists already, it has
// the same content.
func (o *Output) writeFile(ctx context.Context, what, name, text string, rename renameFunc) error {
	made := storage.Join(o.Temporary, o.By+"."+what)
	f, err := o.store.Create(ctx, made)
	if err != nil {
		return fmt.Errorf("create %s: %w", made, err)
	}
	if _, err := io.WriteString(f, text); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", made, err), f.Abort())
	}
	if err := f.Commit(); err != nil {
		return fmt.Errorf("complete %s: %w", made, err)
	}
	if err := rename(ctx, made, name); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// read reads a file of at most limit bytes.
func (o *Output) read(ctx context.Context, name string, limit int64) ([]byte, error) {
	r, err := o.store.Open(ctx, name, 0, -1)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return text, err
}

// makeFolder makes a folder unless it exists.
func (o *Output) makeFolder(ctx context.Context, folder string) error {
	if err := o.store.Mkdir(ctx, strings.TrimRight(folder, "/")); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

package worker

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hamadryad/hamadryad/engine/publish"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/engine/worker/internal/failure"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// nameMax is the longest name, in bytes, of a file below an output folder. The temporary name then
// fits the limits of file systems.
const nameMax = 1000

// elementMax is the longest part of a name between slashes, in bytes: the limit of local file
// systems and HDFS. A longer name would fail only after all work is done.
const elementMax = 255

// escapedMax is the longest escaped name that is used as a temporary name; beyond it the temporary
// name is the file's number.
const escapedMax = 150

// files are the files that the group's nodes created in the job's output folders. Safe for
// concurrent use.
type files struct {
	attempt uint64
	kept    *keptFolders
	folders []string // the job's output folders
	bytes   atomic.Int64

	mu        sync.Mutex
	open      []*outputFile         // incomplete; each file is here or in committed, or was given up
	names     map[string]bool       // folder and name of all files ever opened
	committed []*wire.CommittedFile // complete
}

// built sets the files' attempt and folders, before the first file is created.
func (fs *files) built(attempt uint64, kept *keptFolders, folders []string) {
	fs.attempt, fs.kept, fs.folders = attempt, kept, folders
}

// written is how many bytes were written into all files.
func (fs *files) written() int64 { return fs.bytes.Load() }

// complete returns the complete files.
func (fs *files) complete() []*wire.CommittedFile {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.committed
}

// Create implements job.Runtime.
func (n *node) Create(ctx context.Context, f job.Folder, name string) (io.WriteCloser, error) {
	return n.group.files.create(ctx, n, f, name)
}

// create creates a file for a node.
func (fs *files) create(ctx context.Context, n *node, f job.Folder, name string) (io.WriteCloser, error) {
	if f.Index() < 0 || f.Index() >= len(fs.folders) {
		return nil, fmt.Errorf("create %q: the job has no output folder %d: declare it with Graph.Output in the builder", name, f.Index())
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	output := fs.folders[f.Index()]
	store, err := storage.For(output)
	if err != nil {
		return nil, failure.Invalid(err)
	}
	o := &outputFile{files: fs, node: n, about: &wire.CommittedFile{
		Output: uint32(f.Index()), Name: name, Stage: uint32(n.stage), Index: uint32(n.index),
	}}
	folder := fs.kept.temporary(output)
	if err := fs.kept.check(ctx, folder); err != nil {
		return nil, failure.OnOutput(fmt.Errorf("create: %w", err), folder)
	}
	if err := fs.add(o); err != nil {
		return nil, err
	}
	o.path = storage.Join(folder, o.about.Temporary)
	if o.file, err = store.Create(ctx, o.path); err != nil {
		fs.remove(o)
		return nil, failure.OnOutput(fmt.Errorf("create: %w", err), o.path)
	}
	return o, nil
}

// isMark reports whether a name is that of a file that publishing writes, or below it.
func isMark(name, mark string) bool { return name == mark || strings.HasPrefix(name, mark+"/") }

// checkName refuses names that would leave the folder, or be hidden in it.
func checkName(name string) error {
	if err := job.CheckUTF8("create: the name", name); err != nil {
		return err
	}
	switch {
	case name == "" || len(name) > nameMax || strings.ContainsRune(name, 0):
		return fmt.Errorf("create: a name has 1 to %d bytes, none of them zero; this one has %d", nameMax, len(name))
	case path.Clean(name) != name || path.IsAbs(name) || name == "." || name == ".." || strings.HasPrefix(name, "../"):
		return fmt.Errorf("create %q: use a plain relative path below the output folder", name)
	case slices.ContainsFunc(strings.Split(name, "/"), func(element string) bool { return len(element) > elementMax }):
		return fmt.Errorf("create %q: what stands between slashes has at most %d bytes, which is what file systems take", name, elementMax)
	case isMark(name, publish.SuccessName), isMark(name, publish.IncompleteName):
		return fmt.Errorf("create %q: the engine writes that file itself", name)
	}
	return nil
}

// add adds a file, refuses a second one of the same name, and chooses its temporary name.
func (fs *files) add(o *outputFile) error {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	key := strconv.Itoa(int(o.about.Output)) + "/" + o.about.Name
	if fs.names[key] {
		return fmt.Errorf("create %q: the node group made a file of that name already: put the node's index in", o.about.Name)
	}
	if fs.names == nil {
		fs.names = map[string]bool{}
	}
	fs.names[key] = true
	o.about.Temporary = temporaryName(fs.attempt, o.about, len(fs.names))
	fs.open = append(fs.open, o)
	return nil
}

// temporaryName is unique within the job's temporary folder, and has no slashes.
func temporaryName(attempt uint64, about *wire.CommittedFile, number int) string {
	escaped := url.PathEscape(about.Name)
	if len(escaped) > escapedMax {
		escaped = "," + hex.EncodeToString(binaryNumber(number)) // no escaped name contains a comma
	}
	return "a" + strconv.FormatUint(attempt, 10) + "." + strconv.Itoa(int(about.Output)) + "." + escaped
}

func binaryNumber(n int) []byte {
	return []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
}

func (fs *files) remove(o *outputFile) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for i, other := range fs.open {
		if other == o {
			fs.open = append(fs.open[:i], fs.open[i+1:]...)
			return
		}
	}
}

// keep adds a file to the complete ones.
func (fs *files) keep(o *outputFile) {
	fs.remove(o)
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.committed = append(fs.committed, o.about)
}

// closed reports whether the node left no file open.
func (fs *files) closed(n *node) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, o := range fs.open {
		if o.node == n {
			return false
		}
	}
	return true
}

// abort discards files that are still open.
func (fs *files) abort() {
	fs.mu.Lock()
	open := fs.open
	fs.open = nil
	fs.mu.Unlock()
	for _, o := range open {
		o.abort()
	}
}

// outputFile is a file that Create returned.
type outputFile struct {
	files *files
	node  *node // its creator
	about *wire.CommittedFile
	path  string

	mu   sync.Mutex // a goroutine left behind may write while the attempt ends
	file storage.File
	err  error // why it is no longer usable
}

func (o *outputFile) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	o.node.goesOn()
	n, err := o.file.Write(p)
	o.about.Bytes += int64(n)
	o.files.bytes.Add(int64(n))
	if err != nil {
		err = failure.OnOutput(fmt.Errorf("write: %w", err), o.path)
	}
	return n, err
}

// Close keeps the file: it appears under its name when the job succeeds.
func (o *outputFile) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		if errors.Is(o.err, fs.ErrClosed) {
			return nil
		}
		return o.err
	}
	if o.err = o.file.Commit(); o.err != nil {
		o.err = failure.OnOutput(fmt.Errorf("complete: %w", o.err), o.path)
		return o.err
	}
	o.err = fs.ErrClosed
	o.files.keep(o)
	return nil
}

func (o *outputFile) abort() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = failure.ErrAttemptOver
		_ = o.file.Abort() // a file that stays is removed with the temporary folder
	}
}

// Open implements job.Runtime.
func (n *node) Open(ctx context.Context, s job.Split) (io.ReadCloser, error) {
	store, err := storage.For(s.Path)
	if err != nil {
		return nil, failure.Invalid(err)
	}
	info, err := store.Stat(ctx, s.Path)
	if err != nil {
		return nil, failure.OnInput(err, s.Path)
	}
	if s.Version != "" && info.Version != s.Version {
		return nil, failure.Input(fmt.Errorf("input %s changed since the job was submitted (size %d then, %d now): submit the job again", s.Path, s.Size, info.Size))
	}
	r, err := store.Open(ctx, s.Path, s.Offset, -1)
	if err != nil {
		return nil, failure.OnInput(err, s.Path)
	}
	n.At(s.Path, s.Offset)
	return &inputFile{ReadCloser: r, node: n, path: s.Path, read: n.reads(n.group.place.nearest(s.Places))}, nil
}

// inputFile counts the bytes read, and names the file in errors.
type inputFile struct {
	io.ReadCloser
	node *node
	path string
	read *atomic.Int64
}

func (f *inputFile) Read(p []byte) (int, error) {
	n, err := f.ReadCloser.Read(p)
	f.read.Add(int64(n))
	f.node.goesOn()
	if err != nil && !errors.Is(err, io.EOF) {
		err = failure.OnInput(err, f.path)
	}
	return n, err
}

package publish

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/storage"
)

const (
	// listName is the file in a temporary folder that lists the parts to publish.
	listName = "_PARTS"
	// listMax bounds the bytes read of the list.
	listMax = 1 << 30
	// listVersion is the version of the list's format.
	listVersion = 1
)

// head is the first line of the list.
type head struct {
	Version int    `json:"version"` // listVersion
	Output  string `json:"output"`
	Mark    string `json:"mark"`
	Parts   int    `json:"parts"` // lines that follow
	// Incomplete is Output's.
	Incomplete bool `json:"incomplete,omitempty"`
}

// Keep keeps unpublished parts in their temporary folder, with a list of the parts to publish, for
// Resume. It reports whether the output was published before; then it removes the temporary folder.
func (o *Output) Keep(ctx context.Context) (published bool, err error) {
	published, err = o.Published(ctx)
	if published {
		return true, o.Remove(ctx)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	var text strings.Builder
	if err := o.List(&text); err != nil {
		return false, err
	}
	return false, o.writeFile(ctx, listName, storage.Join(o.Temporary, listName), text.String(), o.store.Rename)
}

// List writes the list that Keep puts into the temporary folder: JSON, a line for each part.
func (o *Output) List(w io.Writer) error {
	e := json.NewEncoder(w)
	if err := e.Encode(head{listVersion, o.Folder, o.Mark, len(o.Parts), o.Incomplete}); err != nil {
		return err
	}
	for _, p := range o.Parts {
		if err := e.Encode(p); err != nil {
			return err
		}
	}
	return nil
}

// Resume publishes what Keep left in a temporary folder, and returns the output folder: the job's,
// unless folder names another. It may be called again. It reads the list in the temporary folder,
// unless listed is given.
func Resume(ctx context.Context, temporary, by, folder string, listed io.Reader) (string, error) {
	store, err := storage.For(temporary)
	if err != nil {
		return "", err
	}
	if listed == nil {
		file, err := store.Open(ctx, storage.Join(temporary, listName), 0, -1)
		if errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%s holds no parts with a list: it was published already, or is no job's folder, or the list is in the log of the job's last attempt: %w", temporary, err)
		}
		if err != nil {
			return "", err
		}
		defer file.Close()
		listed = file
	}
	o := &Output{Temporary: temporary, By: by, store: store}
	if err := o.readList(listed); err != nil {
		return "", fmt.Errorf("the list of parts of %s: %w", temporary, err)
	}
	if folder != "" {
		o.Folder = folder
	}
	if err := o.Publish(ctx); err != nil {
		return "", err
	}
	return o.Folder, o.Remove(ctx)
}

// readList reads what List wrote. Other lines may surround the list, as in a log. An incomplete
// list is an error.
func (o *Output) readList(r io.Reader) error {
	lines := bufio.NewReader(io.LimitReader(r, listMax))
	var h head
	for h.Output == "" || !strings.HasPrefix(o.Temporary, h.Output+".") {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("its first line is not there: %w", err)
		}
		if h = (head{}); json.Unmarshal(line, &h) != nil {
			h.Output = ""
		}
	}
	if h.Version != listVersion {
		remedy := "publish with the version of Hamadryad that ran the job"
		if h.Version > listVersion {
			remedy += ", or a newer one"
		}
		return fmt.Errorf("the list has version %d, and this program reads %d: %s", h.Version, listVersion, remedy)
	}
	o.Folder, o.Mark, o.Incomplete = h.Output, h.Mark, h.Incomplete
	d := json.NewDecoder(lines)
	d.DisallowUnknownFields()
	for range h.Parts {
		var p Part
		if err := d.Decode(&p); err != nil {
			return fmt.Errorf("part %d of %d: %w", len(o.Parts)+1, h.Parts, err)
		}
		o.Parts = append(o.Parts, p)
	}
	return CheckNames(o.Parts)
}

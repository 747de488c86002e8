package configedit

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hamadryad/hamadryad/engine/wire"
)

// checksMax bounds the checks that run at once: each starts the policy's program.
const checksMax = 2

// Candidate is a configuration read from a text.
type Candidate interface {
	// Shown are its values, those from the environment included, in order of key.
	Shown() []*wire.Setting
	// Validate has the policy check its settings, in a process beside the running one.
	Validate(ctx context.Context) error
	// Offer asks the running policy to accept its settings. When it does, version is called and
	// everything else takes effect with the returned number. The outcome comes once: nil after
	// that, or why the policy does not accept. A policy may still accept later.
	Offer(version func() uint64) <-chan error
	// Withdraw offers the policy the settings that were in force before the offer.
	Withdraw()
}

// Change names the author of a new text, and the text that the author has seen.
type Change struct {
	Known   string // Tag of the file's text that the author saw
	Who, By string
	Comment string
}

// Editor changes the file's text. Safe for concurrent use: one change is made at a time.
type Editor struct {
	versions *VersionStore
	started  Started
	reads    func(text []byte) (Candidate, error)
	checks   chan struct{}
	mu       sync.Mutex // held for a change
}

// NewEditor returns an editor for a manager started with these settings. reads makes a
// configuration of a text of the file, with the environment and flags of that start.
func NewEditor(versions *VersionStore, started Started, reads func(text []byte) (Candidate, error)) *Editor {
	return &Editor{versions: versions, started: started, reads: reads, checks: make(chan struct{}, checksMax)}
}

// Text is the file's current text.
func (e *Editor) Text() ([]byte, error) { return e.versions.place.text() }

// ReadOnly returns why the file can't be changed here; nil: it can.
func (e *Editor) ReadOnly() error {
	if _, err := e.Text(); err != nil {
		return err
	}
	return e.versions.place.writable()
}

// Versions lists the kept versions, without texts, the newest first.
func (e *Editor) Versions() []Version { return e.versions.Versions() }

// Version returns a version with its text.
func (e *Editor) Version(n uint64) (Version, error) { return e.versions.Version(n) }

// Check returns the mistakes of a text; nil: there are none, and the policy takes its settings. The
// words are those of "hamadryad config check".
func (e *Editor) Check(ctx context.Context, text []byte) error {
	_, err := e.check(ctx, text)
	return err
}

func (e *Editor) check(ctx context.Context, text []byte) (Candidate, error) {
	if len(text) > TextBytesMax {
		return nil, fmt.Errorf("the text has %d bytes; one of at most %d is taken here", len(text), TextBytesMax)
	}
	select {
	case e.checks <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-e.checks }()
	c, err := e.reads(text)
	if err != nil {
		return nil, err
	}
	return c, c.Validate(ctx)
}

// Difference is the changes that a text would make.
type Difference struct {
	Lines []Line
	Keys  []Key
	// Overridden are the settings in the text without effect, because the environment or a flag
	// sets them.
	Overridden []*wire.Setting
}

// Diff returns what a text would change in the file and in the values in force. The error says that
// the text makes no configuration; the policy is not asked.
func (e *Editor) Diff(text []byte) (Difference, error) {
	now, err := e.Text()
	if err != nil {
		return Difference{}, err
	}
	after, err := e.reads(text)
	if err != nil {
		return Difference{}, err
	}
	d := Difference{Lines: Lines(now, text)}
	for _, x := range after.Shown() {
		if x.Over != "" {
			d.Overridden = append(d.Overridden, x)
		}
	}
	before, err := e.reads(now)
	if err != nil { // no value of a file with mistakes counts: the last accepted ones do
		var last Version
		if last, err = e.Version(e.versions.newest().Number); err == nil {
			before, err = e.reads(last.Text)
		}
	}
	if err == nil {
		d.Keys = e.started.Keys(before.Shown(), after.Shown())
	}
	return d, nil
}

// Apply puts a text into the file and in force, and returns its version. The error matches
// ErrChanged when the file has another text than Change.Known, ErrReadOnly when it can't be
// written, and ErrInvalid when there are mistakes in the text or the policy refuses it. Then nothing
// has changed.
func (e *Editor) Apply(ctx context.Context, text []byte, by Change) (Version, error) {
	return e.apply(ctx, text, by, Applied)
}

// RollBack applies the text of an earlier version.
func (e *Editor) RollBack(ctx context.Context, n uint64, by Change) (Version, error) {
	v, err := e.Version(n)
	if err != nil {
		return Version{}, err
	}
	return e.apply(ctx, v.Text, by, fmt.Sprintf("rolled back to %d", n))
}

func (e *Editor) apply(ctx context.Context, text []byte, by Change, origin string) (Version, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	old, err := e.Text()
	last := e.versions.newest()
	switch {
	case err != nil:
		return Version{}, err
	case last.Tag == Tag(text) && last.Tag == Tag(old) && (by.Known == last.Tag || by.Known == last.Before):
		return last, nil // it is in force: a client that lost the answer repeats its call
	case Tag(old) != by.Known:
		return Version{}, fmt.Errorf("%w: it is %.12s now, and you saw %.12s: look at it, and change that", ErrChanged, Tag(old), by.Known)
	}
	if err := e.versions.place.writable(); err != nil {
		return Version{}, err
	}
	c, err := e.check(ctx, text)
	if err != nil {
		return Version{}, fmt.Errorf("%w:\n%w", ErrInvalid, err)
	}
	if err := e.keepOld(old); err != nil {
		return Version{}, err
	}
	put, err := e.versions.ReplaceText(old, text, Version{Who: by.Who, By: by.By, Comment: by.Comment, Origin: origin})
	if err != nil {
		return Version{}, err
	}
	keep := sync.OnceValues(put.KeepVersion)
	err = outcome(ctx, c.Offer(func() uint64 {
		_, _ = keep() // Apply returns the error
		return e.versions.newest().Number
	}))
	if err == nil {
		return keep()
	}
	undone, unput := put.Undo()
	if !undone { // accepted at the last moment
		return keep()
	}
	c.Withdraw()
	return Version{}, errors.Join(fmt.Errorf("%w: the policy refuses it, and the file is as it was:\n%w", ErrInvalid, err), unput)
}

// outcome waits for what becomes of an offer.
func outcome(ctx context.Context, offered <-chan error) error {
	select {
	case err := <-offered:
		return err
	case <-ctx.Done():
		return errors.New("the policy did not say in time whether it takes its settings")
	}
}

// keepOld keeps the text that is about to be replaced, if it was just written by hand and is valid:
// its author may want it back.
func (e *Editor) keepOld(old []byte) error {
	if e.versions.newest().Tag == Tag(old) {
		return nil
	}
	if _, err := e.reads(old); err != nil {
		return nil //nolint:nilerr // a text with mistakes was never in force
	}
	return e.versions.recordByHand(old)
}

// OnFileChange offers a text that was written into the file by hand, as Apply does with its own.
// The text becomes a version when the policy has accepted it. The outcome comes once; nil without
// an outcome when the file has another text by now. A nil text means that there is no file.
func (e *Editor) OnFileChange(text []byte, c Candidate) <-chan error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.versions.isCurrent(text) {
		return nil
	}
	return c.Offer(func() uint64 {
		if err := e.versions.recordByHand(text); err != nil {
			e.versions.o.Log.Error("no version is kept of a configuration that is in force", "error", err)
		}
		return e.versions.newest().Number
	})
}

// IsCurrent reports whether the file has a text. A nil text is always current. A file that was removed has none.
func (e *Editor) IsCurrent(text []byte) bool { return e.versions.isCurrent(text) }

// Newest is the version that was in force last; its number is 0 when there is none.
func (e *Editor) Newest() Version { return e.versions.newest() }

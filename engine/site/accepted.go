package site

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
)

// accepted is a configuration that a policy has run with, as the manager keeps it, or that a
// launcher has joined with: the contents of its files. Flags and variables are those of the
// process's start.
type accepted struct {
	Texts map[string][]byte `json:"texts"`
	At    time.Time         `json:"at"` // when it was read
	// Joined is the content of the token with which a launcher joined; nil: it had none.
	Joined *joined `json:"joined,omitempty"`
}

// sourceOf makes a configuration's bytes for the manager to keep.
func sourceOf(c *config.Config) ([]byte, error) { return sourceWith(c, nil) }

func sourceWith(c *config.Config, of *joined) ([]byte, error) {
	return json.Marshal(accepted{Texts: c.Texts, At: time.Now().UTC().Round(time.Second), Joined: of})
}

// lastSite returns the configuration that the manager of the sources accepted last;
// nil when there is none.
func lastSite(s config.Sources) (*Site, time.Time, error) {
	b, err := policyhost.Accepted(config.DataFolder(s, "manager"))
	if b == nil || err != nil {
		return nil, time.Time{}, err
	}
	at, err := recall(&s, b)
	if err != nil {
		return nil, at, err
	}
	last, err := Load(s)
	return last, at, err
}

// recall makes the sources read the kept files, and returns when they were read.
func recall(s *config.Sources, kept []byte) (time.Time, error) {
	var a accepted
	if err := json.Unmarshal(kept, &a); err != nil {
		return a.At, fmt.Errorf("the configuration that was accepted last: %w", err)
	}
	s.Texts = a.Texts
	return a.At, nil
}

// Start is the configuration to start a manager with: that of the sources, or, when that has
// mistakes, the last accepted one, with the mistakes. A restarting manager has running work that
// would be lost while it is down. last is the last accepted configuration; nil: there is none, or
// now is it.
func Start(s config.Sources) (now, last *Site, problem error, err error) {
	now, wrong := Load(s)
	before, at, err := lastSite(s)
	if err != nil {
		before, err = nil, fmt.Errorf("and what was accepted before can't be used either: %w", err)
	}
	switch {
	case wrong == nil:
		return now, before, nil, nil
	case before == nil:
		return nil, nil, nil, errors.Join(wrong, err)
	}
	return before, nil, fmt.Errorf("%w\nin force is what was accepted and read at %s", wrong, at.Format(time.RFC3339)), nil
}

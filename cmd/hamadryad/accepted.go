package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/manager"
)

// accepted is a configuration that a policy has run with, as the manager keeps it:
// the contents of its files. Flags and variables are those of the manager's start.
type accepted struct {
	Texts map[string][]byte `json:"texts"`
	At    time.Time         `json:"at"` // when it was read
}

// sourceOf makes a configuration's bytes for the manager to keep.
func sourceOf(c *config.Config) ([]byte, error) {
	return json.Marshal(accepted{Texts: c.Texts, At: time.Now().UTC().Round(time.Second)})
}

// lastSite returns the configuration that the manager of the sources accepted last;
// nil when there is none.
func lastSite(s config.Sources) (*site, time.Time, error) {
	b, err := manager.Accepted(config.DataFolder(s))
	if b == nil || err != nil {
		return nil, time.Time{}, err
	}
	var a accepted
	if err := json.Unmarshal(b, &a); err != nil {
		return nil, a.At, fmt.Errorf("the configuration that was accepted last: %w", err)
	}
	s.Texts = a.Texts
	last, err := loadSite(s)
	return last, a.At, err
}

// startSite is the configuration to start a manager with: that of the sources, or,
// when that has mistakes, the one that was accepted last, with the mistakes. A
// manager that starts anew has work that runs and would be lost while it is down.
func startSite(s config.Sources) (now *site, last *manager.Policy, problem error, err error) {
	now, wrong := loadSite(s)
	before, at, err := lastSite(s)
	if err != nil {
		before, err = nil, fmt.Errorf("and what was accepted before can't be used either: %w", err)
	}
	switch {
	case wrong == nil && before == nil:
		return now, nil, nil, nil
	case wrong == nil:
		return now, &before.policy, nil, nil
	case before == nil:
		return nil, nil, nil, errors.Join(wrong, err)
	}
	return before, nil, fmt.Errorf("%w\nin force is what was accepted and read at %s", wrong, at.Format(time.RFC3339)), nil
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/launcher"
	"github.com/hamadryad/hamadryad/engine/manager/supervision"
)

// accepted is a configuration that a policy has run with, as the manager keeps it, or
// that a launcher has joined with: the contents of its files. Flags and variables are
// those of the process's start.
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
	b, err := supervision.Accepted(config.DataFolder(s, "manager"))
	if b == nil || err != nil {
		return nil, time.Time{}, err
	}
	at, err := recall(&s, b)
	if err != nil {
		return nil, at, err
	}
	last, err := loadSite(s)
	return last, at, err
}

// recall lets the sources read what was kept, and returns when that was read.
func recall(s *config.Sources, kept []byte) (time.Time, error) {
	var a accepted
	if err := json.Unmarshal(kept, &a); err != nil {
		return a.At, fmt.Errorf("the configuration that was accepted last: %w", err)
	}
	s.Texts = a.Texts
	return a.At, nil
}

// startSite is the configuration to start a manager with: that of the sources, or,
// when that has mistakes, the one that was accepted last, with the mistakes. A
// manager that starts anew has work that runs and would be lost while it is down.
func startSite(s config.Sources) (now *site, last *supervision.Policy, problem error, err error) {
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

// startLauncher is what to start a launcher with: what the sources say, or, when that
// has mistakes, what it joined with last, with the mistakes. A machine that comes back
// while a file is wrong would be missing otherwise.
func startLauncher(s config.Sources) (launcher.Config, error) {
	now, wrong := loadLauncher(s)
	if wrong == nil {
		return now, nil
	}
	kept, err := launcher.Accepted(config.DataFolder(s, "launcher"))
	if kept == nil || err != nil {
		return now, errors.Join(wrong, err)
	}
	at, err := recall(&s, kept)
	if err != nil {
		return now, errors.Join(wrong, err)
	}
	last, err := loadLauncher(s)
	if err != nil {
		return now, errors.Join(wrong, fmt.Errorf("and what was accepted before can't be used either: %w", err))
	}
	last.Source = nil // it is kept
	last.Problem = fmt.Errorf("%w\nin force is what was accepted and read at %s", wrong, at.Format(time.RFC3339))
	return last, nil
}

// loadLauncher makes a launcher's configuration and checks what can be without
// starting it.
func loadLauncher(s config.Sources) (launcher.Config, error) {
	c, err := config.Load(s)
	if err != nil {
		return launcher.Config{}, err
	}
	cfg := launcherConfig(c)
	if cfg.Source, err = sourceOf(c); err != nil {
		return cfg, err
	}
	return cfg, cfg.Check()
}

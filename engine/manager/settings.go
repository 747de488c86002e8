package manager

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hamadryad/hamadryad/engine/manager/internal/conditions"
	"github.com/hamadryad/hamadryad/engine/manager/internal/configedit"
	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// openSettings opens the configuration's versions. That of the start is told to the core with its
// settings. A disk that takes none stops no manager.
func (m *manager) openSettings() error {
	versions, err := configedit.Open(configedit.Options{Folder: filepath.Join(m.cfg.Data, "settings"), File: m.cfg.File, Keep: m.cfg.VersionsKept, Now: nil, Log: m.log})
	if err != nil {
		return err
	}
	if m.cfg.Text != nil {
		v, err := versions.BeginWith(m.cfg.Text)
		if err != nil {
			m.log.Error("no version is kept of the configuration that the manager starts with", "error", err)
		}
		m.cfg.Core.Version = v.Number
	}
	m.taken = Update{Core: m.cfg.Core, Policy: m.cfg.Policy, Shown: m.cfg.Shown}
	m.editor = configedit.NewEditor(versions, configedit.Started(m.cfg.Shown), m.candidate)
	return nil
}

// candidate makes a configuration of a text of the file.
func (m *manager) candidate(text []byte) (configedit.Candidate, error) {
	if m.cfg.Reads == nil {
		return nil, fmt.Errorf("%w: nothing reads configurations here", configedit.ErrReadOnly)
	}
	u, err := m.cfg.Reads(text)
	return candidate{m, u}, err
}

// candidate is a configuration that may come into force. The editor calls Take and Took one at a
// time.
type candidate struct {
	m *manager
	u Update
}

func (c candidate) Shown() []*wire.Setting { return c.u.Shown }

func (c candidate) Validate(ctx context.Context) error {
	return policyhost.Validate(ctx, c.u.Policy, c.m.cfg.Data)
}

func (c candidate) Activate(ctx context.Context) error {
	var err error
	select {
	case err = <-c.m.supervisor.Update(c.u.Policy):
	case <-ctx.Done():
		err = errors.New("the policy did not say in time whether it takes its settings")
	}
	if err != nil {
		c.m.supervisor.Update(c.m.taken.Policy)
	}
	return err
}

func (c candidate) Committed(version uint64) {
	c.u.Core.Version = version
	c.m.takeOver(c.u)
}

func (m *manager) takeUpdates(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case u := <-m.cfg.Updates:
			m.hear(ctx, u)
		}
	}
}

// errMistakes is what becomes of a file with mistakes.
var errMistakes = errors.New("the configuration has mistakes")

// hear takes what somebody wrote into the configuration's file. It gets a version when the policy
// has taken it.
func (m *manager) hear(ctx context.Context, u Update) {
	m.editor.OnFileChange(ctx, u.Text, candidate{m, u}, func() <-chan error {
		if u.Problem != "" {
			m.wrongConfig(u.Problem)
			told := make(chan error, 1)
			told <- errMistakes
			return told
		}
		u.Core.Version = m.taken.Core.Version // until the policy has taken it
		m.takeOver(u)
		return m.supervisor.Update(u.Policy)
	})
}

// takeOver puts in force what the policy is not asked about.
func (m *manager) takeOver(u Update) {
	m.taken = u
	m.conditions.Clear(conditions.Configuration)
	m.shown.Loaded(u.Shown)
	m.model.Bound(shownOf(u.Core))
	s := u.Core
	s.Heartbeat, s.Identity = m.cfg.Heartbeat, m.life.Identity
	s.Access = m.changedRules(u.Core.Access)
	_ = m.inbox.Input(context.Background(), wire.NewInput(&wire.SiteSettings{Json: s.JSON()})) // it fails when the manager ends
}

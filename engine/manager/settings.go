package manager

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hamadryad/hamadryad/engine/manager/internal/api"
	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
	"github.com/hamadryad/hamadryad/engine/manager/internal/configedit"
	"github.com/hamadryad/hamadryad/engine/manager/internal/inbox"
	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// openSettings opens the configuration's versions. The version of the start goes to the core with
// its settings. A full disk does not stop the manager.
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
		m.start.Core.Version = v.Number
	}
	m.cfg.Core.Version = m.start.Core.Version
	if until := m.inForce.Load(); until != m.start {
		m.cfg.Core.Version = versions.NumberOf(until.Text)
	}
	m.editor = configedit.NewEditor(versions, configedit.Started(m.cfg.Shown), m.candidate)
	return nil
}

// candidate makes a configuration of a text of the file.
func (m *manager) candidate(text []byte) (configedit.Candidate, error) {
	if m.cfg.Reads == nil {
		return nil, fmt.Errorf("%w: nothing reads configurations here", configedit.ErrReadOnly)
	}
	u, err := m.cfg.Reads(text)
	return &candidate{m: m, u: &u}, err
}

// candidate is a configuration that may come into force.
type candidate struct {
	m      *manager
	u      *Update
	before *Update // in force at the offer
}

func (c *candidate) Shown() []*wire.Setting { return c.u.Shown }

func (c *candidate) Validate(ctx context.Context) error {
	return policyhost.Validate(ctx, c.u.Policy, c.m.cfg.Data)
}

func (c *candidate) Offer(version func() uint64) <-chan error {
	c.before = c.m.inForce.Load()
	return c.m.supervisor.Update(c.m.policyOf(c.u, version))
}

func (c *candidate) Withdraw() { c.m.supervisor.Update(c.before.Policy) }

// policyOf is the policy of a configuration. When a policy has accepted it, the rest takes effect.
func (m *manager) policyOf(u *Update, version func() uint64) policyhost.Policy {
	u.Policy.InForce = func() {
		if m.inForce.Load() == u { // the same policy was started again
			m.fileIsRight(u)
			return
		}
		u.Core.Version = version()
		m.putInForce(u)
	}
	return u.Policy
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

// hear offers a text written by hand into the configuration's file, and writes the outcome into the
// audit, as for a change by a request.
func (m *manager) hear(ctx context.Context, u Update) {
	before, text := m.editor.Newest().Tag, u.Text
	if u.Problem != "" {
		m.wrongConfig(u.Problem)
		text, _ = m.editor.Text() // an unreadable text counts as none
		m.auditFile(before, text, errors.New(u.Problem))
		return
	}
	m.clearFile()
	offered := m.editor.OnFileChange(u.Text, &candidate{m: m, u: &u})
	if offered == nil {
		return
	}
	go m.await(ctx, offered, before, text)
}

// await notes the outcome of an offered text.
func (m *manager) await(ctx context.Context, offered <-chan error, before string, text []byte) {
	select {
	case err := <-offered:
		if errors.Is(err, policyhost.ErrNewer) || errors.Is(err, inbox.ErrStopping) {
			return
		}
		if err != nil {
			m.shown.Refuse(err)
		}
		m.auditFile(before, text, err)
	case <-ctx.Done():
	}
}

// offerStart starts the policy. If another configuration is in force until the policy has accepted
// the file's, the file's is a change by hand.
func (m *manager) offerStart(ctx context.Context) {
	offered := m.supervisor.BeginWith(m.policyOf(m.start, func() uint64 { return m.start.Core.Version }))
	if until := m.inForce.Load(); until != m.start {
		go m.await(ctx, offered, configedit.Tag(until.Text), m.start.Text)
	}
}

// lastPolicy is the policy that runs when the one to start with rejects its settings; nil: none.
func (m *manager) lastPolicy() *policyhost.Policy {
	if m.cfg.Last == nil {
		return nil
	}
	p := m.policyOf(m.cfg.Last, func() uint64 { return m.cfg.Core.Version })
	return &p
}

// auditFile writes the line of a change by hand, whose author is unknown. A text that has a version
// already was applied by a request, which has a line of its own.
func (m *manager) auditFile(before string, text []byte, wrong error) {
	after := configedit.Tag(text)
	if text == nil || wrong == nil && before == after {
		return
	}
	_, e := audit.BeginEntry(context.Background(), m.audit, audit.Line{Proof: audit.ByFile, Method: api.ApplyMethod, What: m.cfg.File})
	e.Changes()
	e.Changed(before, after)
	_ = e.End(wrong) // it is kept, and the log says so
}

// fileIsRight drops the problem of the configuration's file, if the file has this text.
func (m *manager) fileIsRight(u *Update) {
	if u.Text != nil && m.editor.IsCurrent(u.Text) {
		m.clearFile()
	}
}

func (m *manager) clearFile() {
	m.conditions.Clear(policyhost.ConditionConfiguration)
	m.shown.Refuse(nil)
}

// putInForce puts a configuration in force, except for the policy's settings, which the policy has
// accepted.
func (m *manager) putInForce(u *Update) {
	m.inForce.Store(u)
	m.fileIsRight(u)
	m.shown.Loaded(u.Shown)
	m.model.Bound(shownOf(u.Core))
	if u.InForce != nil {
		u.InForce()
	}
	s := u.Core
	s.Heartbeat, s.Identity = m.cfg.Heartbeat, m.life.Identity
	s.Access = m.changedRules(u.Core.Access)
	_ = m.inbox.Input(context.Background(), wire.NewInput(&wire.SiteSettings{Json: s.JSON()})) // it fails when the manager ends
}

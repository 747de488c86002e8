package api

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
	"github.com/hamadryad/hamadryad/engine/manager/internal/configedit"
	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
	"github.com/hamadryad/hamadryad/engine/wire"
)

const (
	// ApplyMethod names a change of the configuration in the audit, including one by hand.
	ApplyMethod = "ApplySettings"
	// ApplyMax bounds a change of the configuration: the policy is asked twice, and another program
	// may have to be started. After it the change is undone.
	ApplyMax = 2 * time.Minute
	// diffLinesMax bounds the lines of a comparison.
	diffLinesMax = 5000
)

// Settings returns the configuration in force.
func (s *Server) Settings(ctx context.Context, _ *wire.Empty) (*wire.SettingsReply, error) {
	r := &wire.SettingsReply{File: s.needs.File}
	for _, x := range s.needs.Shown.inForce(s.needs.Supervisor.Shown()) {
		r.Settings = append(r.Settings, s.shown(x))
	}
	if p, ok := s.needs.Conditions.Of(policyhost.ConditionConfiguration); ok {
		r.Problem, r.ProblemAt = p.Text, p.At.UnixNano()
	} else if why, since := s.needs.Shown.Refused(); why != "" {
		r.Problem, r.ProblemAt = why, since.UnixNano()
	}
	if text, err := s.needs.Editor.Text(); err == nil {
		if r.Tag = configedit.Tag(text); s.administers(ctx, "read the configuration's text") == nil {
			r.Text = text
		}
	}
	if err := s.needs.Editor.ReadOnly(); err != nil {
		r.ReadOnly = err.Error()
	}
	if list := s.needs.Editor.Versions(); len(list) > 0 {
		r.Version = list[0].Number
	}
	return r, nil
}

// shown is a setting with the description of its key.
func (s *Server) shown(x *wire.Setting) *wire.Setting {
	return &wire.Setting{
		Key: x.Key, Value: x.Value, From: x.From, Next: x.Next, NextFrom: x.NextFrom, Over: x.Over,
		Restart: !s.needs.Shown.live(x.Key), Fixed: x.From != "default" && !strings.HasPrefix(x.From, s.needs.File+":"),
	}
}

// Pages returns the address of the web pages.
func (s *Server) Pages(context.Context, *wire.Empty) (*wire.PagesReply, error) {
	return &wire.PagesReply{Address: s.needs.Web, Tls: s.needs.Keys != nil}, nil
}

// administers refuses a caller that may not see and change the whole configuration.
func (s *Server) administers(ctx context.Context, what string) error {
	rules := s.needs.Rules()
	if rules == nil {
		return nil
	}
	if err := rules.May(auth.User, callerOf(ctx, rules), access.Rule{Kind: auth.User, Roles: []access.Role{access.Administrator}, What: what}); err != nil {
		return denied(err)
	}
	return nil
}

// textOf is the text of a request.
func (s *Server) textOf(text []byte, version uint64) ([]byte, error) {
	if version == 0 {
		return text, nil
	}
	v, err := s.needs.Editor.Version(version)
	return v.Text, ofEditor(err)
}

// DiffSettings returns the mistakes of a text, or the changes that it would make.
func (s *Server) DiffSettings(ctx context.Context, q *wire.SettingsText) (*wire.SettingsDiff, error) {
	text, err := s.textOf(q.Text, q.Version)
	if err != nil {
		return nil, err
	}
	r := &wire.SettingsDiff{}
	if now, err := s.needs.Editor.Text(); err == nil {
		r.Tag = configedit.Tag(now)
	}
	var d configedit.Difference
	if q.Check {
		ctx, cancel := context.WithTimeout(ctx, ApplyMax)
		defer cancel()
		err = s.needs.Editor.Check(ctx, text)
	} else {
		d, err = s.needs.Editor.Diff(text)
	}
	switch {
	case errors.Is(err, configedit.ErrReadOnly), ctx.Err() != nil:
		return nil, ofEditor(err)
	case err != nil:
		for _, p := range configedit.Problems(err) {
			r.Problems = append(r.Problems, &wire.SettingsProblem{File: p.File, Line: int64(p.Line), Text: p.Text})
		}
		return r, nil
	}
	r.Truncated = len(d.Lines) > diffLinesMax
	for _, l := range d.Lines[:min(len(d.Lines), diffLinesMax)] {
		r.Lines = append(r.Lines, &wire.DiffLine{Kind: l.Kind, Old: int64(l.Old), New: int64(l.New), Text: strings.ToValidUTF8(l.Text, "\uFFFD"), Unended: l.Unended})
	}
	for _, k := range d.Keys {
		r.Keys = append(r.Keys, &wire.DiffKey{Key: k.Key, Before: k.Before, After: k.After, BeforeFrom: k.BeforeFrom, From: k.From, Restart: k.Restart})
	}
	for _, x := range d.Overridden {
		r.Overridden = append(r.Overridden, s.shown(x))
	}
	return r, nil
}

// ApplySettings puts a text into the file and in force. The audit has the hashes of the texts
// before and after.
func (s *Server) ApplySettings(ctx context.Context, q *wire.ApplyRequest) (*wire.SettingsVersion, error) {
	text, err := s.textOf(q.Text, q.Version)
	if err != nil {
		return nil, err
	}
	entry := audit.Of(ctx)
	now := ""
	if text, err := s.needs.Editor.Text(); err == nil {
		now = configedit.Tag(text)
	}
	entry.Changed(now, configedit.Tag(text))
	asks := submitter(ctx, q.Principal)
	by := configedit.Change{Known: q.Tag, Who: asks.GetName(), By: asks.GetBy(), Comment: q.Comment}
	// The caller may disconnect meanwhile: the change is finished, or undone.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ApplyMax)
	defer cancel()
	var v configedit.Version
	if q.Version == 0 {
		v, err = s.needs.Editor.Apply(ctx, text, by)
	} else {
		v, err = s.needs.Editor.RollBack(ctx, q.Version, by)
	}
	if err != nil {
		return nil, ofEditor(err)
	}
	return versionOf(v), nil
}

// SettingsVersions returns the texts that were in force.
func (s *Server) SettingsVersions(ctx context.Context, q *wire.VersionsRequest) (*wire.VersionsReply, error) {
	list := s.needs.Editor.Versions()
	if q.Version != 0 {
		if err := s.administers(ctx, "read a version of the configuration"); err != nil {
			return nil, err
		}
		v, err := s.needs.Editor.Version(q.Version)
		if err != nil {
			return nil, ofEditor(err)
		}
		list = []configedit.Version{v}
	}
	r := &wire.VersionsReply{}
	for _, v := range list {
		r.Versions = append(r.Versions, versionOf(v))
	}
	return r, nil
}

func versionOf(v configedit.Version) *wire.SettingsVersion {
	return &wire.SettingsVersion{Number: v.Number, At: v.At.UnixNano(), Who: v.Who, By: v.By, Comment: v.Comment, Origin: v.Origin, Before: v.Before, Tag: v.Tag, Text: v.Text}
}

// codesOfEditor are the gRPC codes for errors of an editor; the first match counts.
var codesOfEditor = []struct {
	of   error
	code codes.Code
}{
	{configedit.ErrChanged, codes.Aborted},
	{configedit.ErrReadOnly, codes.FailedPrecondition},
	{configedit.ErrNone, codes.NotFound},
	{configedit.ErrInvalid, codes.InvalidArgument},
	{context.DeadlineExceeded, codes.DeadlineExceeded},
	{context.Canceled, codes.Canceled},
}

// ofEditor is an error of an editor with a status; nil for nil.
func ofEditor(err error) error {
	if err == nil {
		return nil
	}
	for _, c := range codesOfEditor {
		if errors.Is(err, c.of) {
			return status.Error(c.code, err.Error())
		}
	}
	return status.Error(codes.Internal, err.Error())
}

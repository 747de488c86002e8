package rest

import (
	"context"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/rest/api"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Settings is the configuration (clients.Server). It judges who may.
type Settings interface {
	Settings(ctx context.Context, q *wire.Empty) (*wire.SettingsReply, error)
	DiffSettings(ctx context.Context, q *wire.SettingsText) (*wire.SettingsDiff, error)
	ApplySettings(ctx context.Context, q *wire.ApplyRequest) (*wire.SettingsVersion, error)
	SettingsVersions(ctx context.Context, q *wire.VersionsRequest) (*wire.VersionsReply, error)
}

// ApplyMax is how long a change of the configuration, or its check, may take to be answered.
const ApplyMax = 150 * time.Second

// patient gives operations time to answer that ask the policy.
func patient(next api.StrictHandlerFunc, operation string) api.StrictHandlerFunc {
	switch operation {
	case "ApplySettings", "RollBackSettings", "CheckSettings":
		return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(ApplyMax + writeMax)) // a server in a test may have none
			return next(ctx, w, r, request)
		}
	}
	return next
}

// fileTag is an ETag of the hash of a text, and hashOf the other way round.
func fileTag(hash string) *string {
	if hash == "" {
		return nil
	}
	tag := `"` + hash + `"`
	return &tag
}

func hashOf(tag string) string { return strings.Trim(tag, `"`) }

// GetSettings tells the configuration in force.
func (s *Server) GetSettings(ctx context.Context, _ api.GetSettingsRequestObject) (api.GetSettingsResponseObject, error) {
	r, err := s.needs.Settings.Settings(ctx, &wire.Empty{})
	if err != nil {
		return nil, err
	}
	body := api.Settings{Settings: []api.Setting{}, File: r.File, Version: int64(r.Version), ReadOnly: pointer(r.ReadOnly), Problem: pointer(r.Problem)}
	if r.Text != nil {
		text := string(r.Text)
		body.Text = &text
	}
	for _, x := range r.Settings {
		body.Settings = append(body.Settings, settingOf(x))
	}
	return api.GetSettings200JSONResponse{Body: body, Headers: api.GetSettings200ResponseHeaders{ETag: fileTag(r.Tag)}}, nil
}

func settingOf(x *wire.Setting) api.Setting {
	return api.Setting{Key: x.Key, Value: x.Value, From: x.From, Next: whenSet(x.NextFrom, x.Next), NextFrom: pointer(x.NextFrom), Restart: x.Restart, Fixed: x.Fixed, Over: pointer(x.Over)}
}

// whenSet is a value that was set somewhere; nil: it was not.
func whenSet(from, value string) *string {
	if from == "" {
		return nil
	}
	return &value
}

// CheckSettings says what is wrong with a text.
func (s *Server) CheckSettings(ctx context.Context, q api.CheckSettingsRequestObject) (api.CheckSettingsResponseObject, error) {
	d, err := s.needs.Settings.DiffSettings(ctx, &wire.SettingsText{Text: []byte(q.Body.Text), Check: true})
	if err != nil {
		return nil, err
	}
	return api.CheckSettings200JSONResponse{Problems: problemsOf(d)}, nil
}

func problemsOf(d *wire.SettingsDiff) []api.SettingsProblem {
	problems := []api.SettingsProblem{}
	for _, p := range d.Problems {
		problems = append(problems, api.SettingsProblem{File: p.File, Line: int(p.Line), Text: p.Text})
	}
	return problems
}

// DiffSettings says what a text would change.
func (s *Server) DiffSettings(ctx context.Context, q api.DiffSettingsRequestObject) (api.DiffSettingsResponseObject, error) {
	d, err := s.needs.Settings.DiffSettings(ctx, &wire.SettingsText{Text: []byte(q.Body.Text)})
	if err != nil {
		return nil, err
	}
	body := api.SettingsDiff{Problems: problemsOf(d), Lines: []api.SettingsLine{}, Keys: []api.SettingsKey{}, Truncated: d.Truncated}
	for _, l := range d.Lines {
		body.Lines = append(body.Lines, api.SettingsLine{Kind: api.SettingsLineKind(l.Kind), Old: pointer(int(l.Old)), New: pointer(int(l.New)), Text: l.Text, Unended: pointer(l.Unended)})
	}
	for _, k := range d.Keys {
		body.Keys = append(body.Keys, api.SettingsKey{Key: k.Key, Before: k.Before, After: k.After, BeforeFrom: k.BeforeFrom, From: k.From, Restart: k.Restart})
	}
	if len(d.Overridden) > 0 {
		overridden := []api.Setting{}
		for _, x := range d.Overridden {
			overridden = append(overridden, settingOf(x))
		}
		body.Overridden = &overridden
	}
	return api.DiffSettings200JSONResponse{Body: body, Headers: api.DiffSettings200ResponseHeaders{ETag: fileTag(d.Tag)}}, nil
}

// ApplySettings puts a text into the configuration's file.
func (s *Server) ApplySettings(ctx context.Context, q api.ApplySettingsRequestObject) (api.ApplySettingsResponseObject, error) {
	m := &wire.ApplyRequest{Principal: anonymous(), Text: []byte(q.Body.Text), Tag: hashOf(q.Params.IfMatch)}
	if q.Body.Comment != nil {
		m.Comment = *q.Body.Comment
	}
	v, err := s.needs.Settings.ApplySettings(ctx, m)
	if err != nil {
		return nil, err
	}
	return api.ApplySettings200JSONResponse{Body: versionOf(v), Headers: api.ApplySettings200ResponseHeaders{ETag: fileTag(v.Tag)}}, nil
}

// RollBackSettings applies a version again.
func (s *Server) RollBackSettings(ctx context.Context, q api.RollBackSettingsRequestObject) (api.RollBackSettingsResponseObject, error) {
	m := &wire.ApplyRequest{Principal: anonymous(), Version: uint64(q.Version), Tag: hashOf(q.Params.IfMatch)}
	if q.Body != nil && q.Body.Comment != nil {
		m.Comment = *q.Body.Comment
	}
	v, err := s.needs.Settings.ApplySettings(ctx, m)
	if err != nil {
		return nil, err
	}
	return api.RollBackSettings200JSONResponse{Body: versionOf(v), Headers: api.RollBackSettings200ResponseHeaders{ETag: fileTag(v.Tag)}}, nil
}

// ListSettingsVersions lists the versions that are kept.
func (s *Server) ListSettingsVersions(ctx context.Context, _ api.ListSettingsVersionsRequestObject) (api.ListSettingsVersionsResponseObject, error) {
	r, err := s.needs.Settings.SettingsVersions(ctx, &wire.VersionsRequest{})
	if err != nil {
		return nil, err
	}
	l := api.SettingsVersionList{Versions: []api.SettingsVersion{}, Total: len(r.Versions)}
	for _, v := range r.Versions {
		l.Versions = append(l.Versions, versionOf(v))
	}
	return api.ListSettingsVersions200JSONResponse(l), nil
}

// GetSettingsVersion tells one version with its text.
func (s *Server) GetSettingsVersion(ctx context.Context, q api.GetSettingsVersionRequestObject) (api.GetSettingsVersionResponseObject, error) {
	r, err := s.needs.Settings.SettingsVersions(ctx, &wire.VersionsRequest{Version: uint64(q.Version)})
	if err != nil {
		return nil, err
	}
	if len(r.Versions) != 1 {
		return nil, status.Errorf(codes.NotFound, "there is no version %d", q.Version)
	}
	v := versionOf(r.Versions[0])
	text := string(r.Versions[0].Text)
	v.Text = &text
	return api.GetSettingsVersion200JSONResponse(v), nil
}

func versionOf(v *wire.SettingsVersion) api.SettingsVersion {
	return api.SettingsVersion{
		Version: int64(v.Number), Time: time.Unix(0, v.At).UTC(), Who: pointer(v.Who), By: pointer(v.By), Comment: pointer(v.Comment), Origin: v.Origin,
		Before: pointer(v.Before), Sha256: v.Tag,
	}
}

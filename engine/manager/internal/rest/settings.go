package rest

import (
	"context"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Settings is the configuration (api.Server). It refuses callers without the rights.
type Settings interface {
	Settings(ctx context.Context, q *wire.Empty) (*wire.SettingsReply, error)
	DiffSettings(ctx context.Context, q *wire.SettingsText) (*wire.SettingsDiff, error)
	ApplySettings(ctx context.Context, q *wire.ApplyRequest) (*wire.SettingsVersion, error)
	SettingsVersions(ctx context.Context, q *wire.VersionsRequest) (*wire.VersionsReply, error)
}

// ApplyMax is how long a change of the configuration, or its check, may take to be answered.
const ApplyMax = 150 * time.Second

// patient gives operations that call the policy more time to answer.
func patient(next restapi.StrictHandlerFunc, operation string) restapi.StrictHandlerFunc {
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

// GetSettings returns the configuration in force.
func (s *Server) GetSettings(ctx context.Context, _ restapi.GetSettingsRequestObject) (restapi.GetSettingsResponseObject, error) {
	r, err := s.needs.Settings.Settings(ctx, &wire.Empty{})
	if err != nil {
		return nil, err
	}
	return restapi.GetSettings200JSONResponse{Body: restapi.SettingsOf(r), Headers: restapi.GetSettings200ResponseHeaders{ETag: fileTag(r.Tag)}}, nil
}

// CheckSettings returns the mistakes of a text.
func (s *Server) CheckSettings(ctx context.Context, q restapi.CheckSettingsRequestObject) (restapi.CheckSettingsResponseObject, error) {
	d, err := s.needs.Settings.DiffSettings(ctx, &wire.SettingsText{Text: []byte(q.Body.Text), Check: true})
	if err != nil {
		return nil, err
	}
	return restapi.CheckSettings200JSONResponse{Problems: restapi.SettingsProblemsOf(d)}, nil
}

// DiffSettings returns the changes that a text would make.
func (s *Server) DiffSettings(ctx context.Context, q restapi.DiffSettingsRequestObject) (restapi.DiffSettingsResponseObject, error) {
	d, err := s.needs.Settings.DiffSettings(ctx, &wire.SettingsText{Text: []byte(q.Body.Text)})
	if err != nil {
		return nil, err
	}
	return restapi.DiffSettings200JSONResponse{Body: restapi.SettingsDiffOf(d), Headers: restapi.DiffSettings200ResponseHeaders{ETag: fileTag(d.Tag)}}, nil
}

// ApplySettings puts a text into the configuration's file.
func (s *Server) ApplySettings(ctx context.Context, q restapi.ApplySettingsRequestObject) (restapi.ApplySettingsResponseObject, error) {
	m := &wire.ApplyRequest{Principal: anonymous(), Text: []byte(q.Body.Text), Tag: hashOf(q.Params.IfMatch)}
	if q.Body.Comment != nil {
		m.Comment = *q.Body.Comment
	}
	v, err := s.needs.Settings.ApplySettings(ctx, m)
	if err != nil {
		return nil, err
	}
	return restapi.ApplySettings200JSONResponse{Body: restapi.SettingsVersionOf(v), Headers: restapi.ApplySettings200ResponseHeaders{ETag: fileTag(v.Tag)}}, nil
}

// RollBackSettings applies a version again.
func (s *Server) RollBackSettings(ctx context.Context, q restapi.RollBackSettingsRequestObject) (restapi.RollBackSettingsResponseObject, error) {
	m := &wire.ApplyRequest{Principal: anonymous(), Version: uint64(q.Version), Tag: hashOf(q.Params.IfMatch)}
	if q.Body != nil && q.Body.Comment != nil {
		m.Comment = *q.Body.Comment
	}
	v, err := s.needs.Settings.ApplySettings(ctx, m)
	if err != nil {
		return nil, err
	}
	return restapi.RollBackSettings200JSONResponse{Body: restapi.SettingsVersionOf(v), Headers: restapi.RollBackSettings200ResponseHeaders{ETag: fileTag(v.Tag)}}, nil
}

// ListSettingsVersions lists the kept versions.
func (s *Server) ListSettingsVersions(ctx context.Context, _ restapi.ListSettingsVersionsRequestObject) (restapi.ListSettingsVersionsResponseObject, error) {
	r, err := s.needs.Settings.SettingsVersions(ctx, &wire.VersionsRequest{})
	if err != nil {
		return nil, err
	}
	l := restapi.SettingsVersionList{Versions: []restapi.SettingsVersion{}, Total: len(r.Versions)}
	for _, v := range r.Versions {
		l.Versions = append(l.Versions, restapi.SettingsVersionOf(v))
	}
	return restapi.ListSettingsVersions200JSONResponse(l), nil
}

// GetSettingsVersion returns one version with its text.
func (s *Server) GetSettingsVersion(ctx context.Context, q restapi.GetSettingsVersionRequestObject) (restapi.GetSettingsVersionResponseObject, error) {
	r, err := s.needs.Settings.SettingsVersions(ctx, &wire.VersionsRequest{Version: uint64(q.Version)})
	if err != nil {
		return nil, err
	}
	if len(r.Versions) != 1 {
		return nil, status.Errorf(codes.NotFound, "there is no version %d", q.Version)
	}
	v := restapi.SettingsVersionOf(r.Versions[0])
	text := string(r.Versions[0].Text)
	v.Text = &text
	return restapi.GetSettingsVersion200JSONResponse(v), nil
}

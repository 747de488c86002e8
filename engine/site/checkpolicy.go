package site

import (
	"context"
	"errors"
	"log/slog"

	"github.com/hamadryad/hamadryad/engine/manager/supervision"
	"github.com/hamadryad/hamadryad/engine/policy"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// CheckPolicy lets the plug-in check its settings.
func (s *Site) CheckPolicy(ctx context.Context) error {
	host, err := policy.Launch(ctx, policy.Options{
		Path: s.Plugin.Path, Checksum: s.Plugin.Checksum, StartTimeout: s.Plugin.StartTimeout, Dir: supervision.SocketFolder(""),
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	defer host.Close()
	return problems(host.Check(ctx, s.Plugin.Config))
}

// problems leaves out the frames round a policy's own words.
func problems(err error) error {
	var p scheduler.Problems
	if errors.As(err, &p) {
		return p
	}
	return err
}

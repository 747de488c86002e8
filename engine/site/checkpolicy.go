package site

import (
	"context"

	"github.com/hamadryad/hamadryad/engine/manager/supervision"
)

// CheckPolicy lets the plug-in check its settings.
func (s *Site) CheckPolicy(ctx context.Context) error { return supervision.Judge(ctx, s.Plugin, "") }

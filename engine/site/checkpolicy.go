package site

import (
	"context"
	"fmt"

	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
)

// CheckPolicy lets the plug-in check its settings, and shadows theirs.
func (s *Site) CheckPolicy(ctx context.Context) error { return policyhost.Validate(ctx, s.Plugin, "") }

// Doubts are possible mistakes of a valid configuration: lists of pools that the policy does not
// have, if the policy lists all its pools. A job may still make such a pool.
func (s *Site) Doubts(ctx context.Context) []string {
	if s.Rules == nil || len(s.Rules.Pools) == 0 {
		return nil
	}
	place := s.From("auth.pools")
	pools, all, err := policyhost.Pools(ctx, s.Plugin, s.CoreSettings.Kinds, s.CoreSettings.PolicyLimits)
	switch {
	case err != nil:
		return []string{fmt.Sprintf("%s: auth.pools: whether the policy has these pools can't be said: %v", place, err)}
	case !all:
		return nil
	}
	doubts := s.Rules.Missing(pools)
	for i, text := range doubts {
		doubts[i] = place + ": " + text
	}
	return doubts
}

package site

import (
	"fmt"
	"log/slog"

	"github.com/hamadryad/hamadryad/engine/auth/oidc"
	"github.com/hamadryad/hamadryad/engine/config"
)

// oidcOf are the settings of the section auth.oidc. For an earlier accepted configuration, the CA
// file may be gone: then the issuer can't be reached, and the manager says so.
func oidcOf(c *config.Config, accepted bool) (oidc.Settings, error) {
	o := c.Auth.OIDC
	s := oidc.Settings{
		Issuer: o.Issuer, Audience: o.Audience, NameClaim: o.NameClaim, NamePrefix: o.NamePrefix,
		GroupsClaim: o.GroupsClaim, GroupsPrefix: o.GroupsPrefix, CA: o.CA,
	}
	key, err := s.Check()
	if err == nil || accepted && key == "ca" {
		return s, nil
	}
	key = "auth.oidc." + key
	place := c.From(key)
	if place == "default" { // missing keys are reported in the section
		place = c.From("auth.oidc")
	}
	return s, fmt.Errorf("%s: %s: %w", place, key, err)
}

// Tokens verifies the tokens of users without a certificate; nil if the site takes none. The caller
// starts its Run.
func (s *Site) Tokens(log *slog.Logger) *oidc.Verifier {
	if s.Auth.Mode == config.AuthOff || s.OIDC.Issuer == "" {
		return nil
	}
	return oidc.New(s.OIDC, oidc.Options{Log: log})
}

// changeTokens has a running manager take over changed settings. Whether it takes tokens at all is
// fixed at the start, with its listeners.
func (s *Site) changeTokens(tokens *oidc.Verifier, log *slog.Logger) {
	switch {
	case tokens != nil:
		tokens.Set(s.OIDC)
	case s.OIDC.Issuer != "" && s.Auth.Mode != config.AuthOff:
		log.Warn("auth.oidc counts when the manager is started again: it listens for certificates alone until then")
	}
}

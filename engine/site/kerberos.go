package site

import (
	"fmt"
	"log/slog"

	"github.com/hamadryad/hamadryad/engine/auth/kerberos"
	"github.com/hamadryad/hamadryad/engine/config"
)

// Kerberos verifies the tickets of users without a certificate; nil if the site takes none.
func (s *Site) Kerberos(log *slog.Logger) (*kerberos.Verifier, error) {
	k := s.Auth.Kerberos
	if s.Auth.Mode == config.AuthOff || k.Keytab == "" {
		return nil, nil
	}
	v, err := kerberos.New(kerberos.Options{Keytab: k.Keytab, Realms: k.Realms, Log: log})
	if err != nil {
		return nil, fmt.Errorf("%s: auth.kerberos.keytab: %w", s.From("auth.kerberos.keytab"), err)
	}
	return v, nil
}

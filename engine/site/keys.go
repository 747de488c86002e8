package site

import (
	"fmt"
	"log/slog"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/config"
)

// Keys opens the certificates of the process that the configuration is of, which is of a
// kind; nil where auth.mode is off.
func Keys(c *config.Config, kind auth.Kind, log *slog.Logger) (*certs.Keys, error) {
	if c.Auth.Mode == config.AuthOff {
		return nil, nil
	}
	files := certs.Files{CA: c.Auth.CA, Certificate: c.Auth.Certificate, Key: c.Auth.Key}
	keys, err := certs.Open(files, certs.Options{Cluster: c.Auth.Cluster, Kinds: []auth.Kind{kind}, Log: log})
	if err != nil {
		return nil, fmt.Errorf("%s: auth.certificate: %w", c.From("auth.certificate"), err)
	}
	return keys, nil
}

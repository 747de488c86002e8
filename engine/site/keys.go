package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/hamadryad/hamadryad/engine/auth"
	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/auth/join"
	"github.com/hamadryad/hamadryad/engine/config"
)

// Keys opens the certificates of a process of some kind, by its configuration; nil where auth.mode
// is off.
func Keys(c *config.Config, kind auth.Kind, log *slog.Logger) (*certs.Keys, error) {
	if c.Auth.Mode == config.AuthOff {
		return nil, nil
	}
	keys, err := certs.Open(filesOf(c), certs.Options{Cluster: c.Auth.Cluster, Kinds: []auth.Kind{kind}, Log: log})
	if err != nil {
		return nil, fmt.Errorf("%s: auth.certificate: %w", c.From("auth.certificate"), err)
	}
	return keys, nil
}

func filesOf(c *config.Config) certs.Files {
	return certs.Files{CA: c.Auth.CA, Certificate: c.Auth.Certificate, Key: c.Auth.Key}.Filled()
}

// launcherKeys are a launcher's certificates. The launcher first joins with its token if it has no
// certificate from that token yet. The function keeps the certificate renewed until its context
// ends; nil: only people renew it.
func launcherKeys(c *config.Config, log *slog.Logger) (*certs.Keys, func(context.Context), error) {
	if c.Auth.Mode == config.AuthOff {
		return nil, nil, nil
	}
	files := filesOf(c)
	if c.Auth.Token != "" {
		if err := joinOnce(c, files, log); err != nil {
			return nil, nil, fmt.Errorf("%s: auth.token: %w", c.From("auth.token"), err)
		}
	}
	keys, err := Keys(c, auth.Launcher, log)
	if err != nil || c.Auth.Join == "" {
		return keys, nil, err
	}
	return keys, func(ctx context.Context) { join.Keep(ctx, c.Auth.Join, keys, files, log) }, nil
}

// joinOnce joins with the token, unless the certificate already came from it. So a new token brings
// a new certificate, in place of an expired or revoked one, and an old token that stays in place
// has no effect. A token that fails is logged, and does not stop a launcher with a certificate.
func joinOnce(c *config.Config, files certs.Files, log *slog.Logger) error {
	_, err := os.Stat(files.Certificate)
	has := err == nil
	token, err := tokenOf(c)
	if has && errors.Is(err, fs.ErrNotExist) {
		return nil // it was removed, as a used token should be
	}
	if err != nil {
		return err
	}
	if has && join.Joined(token, files) {
		return nil
	}
	if err = join.Join(context.Background(), c.Auth.Join, token, files); err == nil || !has {
		return err
	}
	if _, wrong := certs.Open(files, certs.Options{Log: log}); wrong != nil {
		return err
	}
	log.Warn("the token gives no new certificate: the launcher goes on with the one that it has", "launcher", token.Launcher, "certificate", files.Certificate, "error", err)
	return nil
}

// tokenOf is the launcher's token.
func tokenOf(c *config.Config) (join.Token, error) {
	token, err := readToken(c.Auth.Token)
	if name := c.Launcher.Name; err == nil && name != "" && name != token.Launcher {
		err = fmt.Errorf("it is a token for launcher %s, and launcher.name is %s", token.Launcher, name)
	}
	return token, err
}

// Joins serves launchers that join; nil if the site has no such service. It does not listen yet.
func (s *Site) Joins(keys *certs.Keys, log *slog.Logger) (*join.Server, error) {
	if keys == nil || s.Auth.CAKey == "" {
		return nil, nil
	}
	ca, err := authority(s.Config)
	if err != nil {
		return nil, err
	}
	return &join.Server{Folder: tokenFolder(s.Config), Authority: ca, Keys: keys, Log: log}, nil
}

// authority opens the cluster's CA, with its key.
func authority(c *config.Config) (*certs.Authority, error) {
	ca, err := certs.OpenAuthority(cmp.Or(filesOf(c).CA, filepath.Join(filepath.Dir(c.Auth.CAKey), certs.FileCA)), c.Auth.CAKey)
	if err != nil {
		return nil, fmt.Errorf("%s: auth.caKey: %w", c.From("auth.caKey"), err)
	}
	return ca, nil
}

// tokenFolder is where the manager keeps the hashes of launchers' tokens.
func tokenFolder(c *config.Config) string { return filepath.Join(c.Manager.Data, "tokens") }

package site

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/hamadryad/hamadryad/engine/auth/oidc"
	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/manager"
)

// ManagerConfig is the manager's part of the site. The caller adds the fields that are not
// configuration.
func (s *Site) ManagerConfig() manager.Config {
	m := s.Manager
	return manager.Config{
		Listen: m.Listen, HTTP: m.HTTP, Data: m.Data, Socket: m.Socket,
		NoSync: !m.EventLog.Sync, LogFileBytes: int64(m.EventLog.FileSize), LogKeep: m.EventLog.Keep, LogKeepBytes: int64(m.EventLog.KeepSize),
		FreezeMax: m.EventLog.FreezeMax, BlobBytes: int64(m.Programs), AuditUploads: m.Audit.Uploads, AuditFileBytes: int64(m.Audit.FileSize), AuditKeep: m.Audit.Keep, Heartbeat: m.Heartbeat, Lease: m.Lease, LauncherLostAfter: m.LauncherLostAfter, IdleShownAfter: m.IdleShownAfter,
		KerberosRealms: s.Auth.Kerberos.Realms,
		WebHosts:       m.Web.Hosts, WebActionsOff: m.Web.Actions == config.ActionsOff,
		History: manager.HistoryOptions{
			Folder: m.History.Folder, Store: m.History.Store, KeepFor: m.History.KeepFor, JobsMax: m.History.JobsMax, BytesMax: int64(m.History.BytesMax), AttemptsMax: m.History.AttemptsMax,
			Tails: manager.LogArchiveOptions{JobBytes: int64(m.History.Tails.JobBytes), UserBytes: int64(s.Limits.UserTails), BytesASecond: int64(m.History.Tails.BytesASecond)},
		},
		Limits: Connections(s.Config), UserBlobBytes: int64(s.Limits.UserPrograms), UploadRate: int64(s.Limits.UploadRate),
		UserUploads: s.Limits.UserUploads, UserStreams: s.Limits.UserStreams,
		TailBytes: int64(m.History.Tails.Bytes), FailedTailBytes: int64(m.History.Tails.FailedBytes),
		Core: s.CoreSettings, Policy: s.Plugin, Shown: s.Shown, Text: s.Texts[s.File], VersionsKept: m.Versions,
	}
}

// Update is the part of the site that a running manager takes over. Changed settings of auth.oidc
// go to tokens, which may be nil, when the configuration is in force.
func (s *Site) Update(tokens *oidc.Verifier, log *slog.Logger) manager.Update {
	return manager.Update{
		Text: s.Texts[s.File], Core: s.CoreSettings, Policy: s.Plugin, Shown: s.Shown,
		InForce: func() { s.changeTokens(tokens, log) },
	}
}

// unnamed is the file's name in messages about a text if a manager has no file.
const unnamed = "configuration"

// Reads makes the update for a running manager from another text of the sources' file; tokens are
// Update's.
func Reads(from config.Sources, tokens *oidc.Verifier, log *slog.Logger) func(text []byte) (manager.Update, error) {
	return func(text []byte) (manager.Update, error) {
		if text == nil {
			text = []byte{}
		}
		from := from
		from.Text, from.File = text, cmp.Or(from.File, unnamed)
		s, err := Load(from)
		if err != nil {
			return manager.Update{}, err
		}
		return s.Update(tokens, log), nil
	}
}

// Watch forwards changes of the configuration; tokens are Update's. One with mistakes changes
// nothing and says why.
func (s *Site) Watch(ctx context.Context, from config.Sources, updates chan<- manager.Update, tokens *oidc.Verifier, log *slog.Logger) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	defer signal.Stop(signals)
	var watched atomic.Pointer[[]string]
	watched.Store(&s.Watched)
	config.Watch(ctx, func() []string { return *watched.Load() }, signals, func() {
		changed, err := Load(from)
		u := manager.Update{}
		if err != nil {
			u.Problem = err.Error()
		} else {
			watched.Store(&changed.Watched)
			log.Info("the configuration changed", "file", from.File)
			u = changed.Update(tokens, log)
		}
		select {
		case updates <- u:
		case <-ctx.Done():
		}
	}, log)
}

package manager

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/hamadryad/hamadryad/engine/auth/certs"
	"github.com/hamadryad/hamadryad/engine/auth/join"
	"github.com/hamadryad/hamadryad/engine/auth/proof"
	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
	"github.com/hamadryad/hamadryad/internal/connlimit"
	"github.com/hamadryad/hamadryad/internal/kerberos"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// FreezeMaxDefault is Config.FreezeMax by default: half the bound of a core step.
const FreezeMaxDefault = 5 * time.Millisecond

// IdleShownAfterDefault is Config.IdleShownAfter by default.
const IdleShownAfterDefault = time.Minute

// Config has all settings of a manager. Zero durations and sizes mean the
// defaults of the comments.
type Config struct {
	Listen string // gRPC address, 127.0.0.1:0 when empty
	HTTP   string // address of /metrics and /healthz, 127.0.0.1:0 when empty
	Data   string // folder; made when missing
	Socket string // path of a Unix socket for users of this machine; "": none

	NoSync       bool  // do not wait for the disk (eventlog.Options.NoSync)
	LogFileBytes int64 // eventlog.SegmentBytesDefault
	LogKeep      int   // eventlog.KeepSegmentsDefault
	LogKeepBytes int64 // eventlog.KeepBytesDefault
	BlobBytes    int64 // programs and plans; 16 GiB
	// Of one user: bytes of programs and plans (blobs.UserBytesDefault), uploads at once
	// (blobs.UserUploadsDefault), least bytes per second of an upload (api.UploadRateDefault), and
	// streams of events and logs (rest.UserStreamsDefault).
	UserBlobBytes, UploadRate int64
	UserUploads, UserStreams  int
	// ClearEvery is the period of looking for folders of jobs that were announced and never
	// submitted; 0: api.ClearEveryDefault.
	ClearEvery time.Duration
	// FreezeMax bounds the core's pause for a checkpoint, as estimated. If that is not enough the
	// checkpoint is made from the event log, beside the core; FreezeMaxDefault.
	FreezeMax time.Duration
	// Remaker is the command that makes such a checkpoint in a process of its own (RemakeAsked);
	// empty: a goroutine of this process does.
	Remaker []string
	// remakeAgain is the delay after a failed try; a test lowers it.
	remakeAgain time.Duration

	// ReleaseMemory gives memory of this process back to the system at rest. It is for a process that
	// runs only a manager.
	ReleaseMemory bool

	WebHosts      []string // host names of HTTP, besides addresses, localhost and the machine's own name
	WebActionsOff bool     // no changes over HTTP

	AuditUploads   bool  // also log programs and plans that arrived complete in the audit
	AuditFileBytes int64 // of one file of the audit; audit.FileBytesDefault
	AuditKeep      int   // full files of it; audit.KeepDefault

	// History says how much is kept of ended jobs; its Folder is history below Data when empty.
	History HistoryOptions
	// TailBytes is how much of the end of an attempt's log launchers send, and FailedTailBytes that
	// of a failed attempt; 0: nothing.
	TailBytes, FailedTailBytes int64

	// KerberosRealms are the realms whose principals are users, and whose tickets jobs may carry.
	// KDCs are found by KRB5_CONFIG; empty: no ticket is taken.
	KerberosRealms []string
	// renewTicket requests another ticket from the KDC; nil: by KRB5_CONFIG. A test replaces the
	// KDC.
	renewTicket func(kerberos.TGT) (kerberos.TGT, error)

	Heartbeat         time.Duration // 500 ms
	Lease             time.Duration // 10 s
	LauncherLostAfter time.Duration // 20 s
	// IdleShownAfter is after how long without progress an attempt is named in its job's status;
	// IdleShownAfterDefault.
	IdleShownAfter time.Duration

	Core   core.Settings // core.DefaultSettings with the site's changes
	Policy policyhost.Policy
	// Fallback makes the fallback: the policy that decides in this process when the plug-in keeps failing.
	// Required.
	Fallback func() scheduler.TaskScheduler
	// Last is the last accepted configuration, by the data folder's Accepted. It stays in force
	// until the policy has accepted another one, and when the policy rejects its settings at the
	// manager's start; nil: then the manager does not start.
	Last *Update
	// File is the configuration's file, for messages; "" when there is none. Problem says why the
	// file can't be applied as it is now; the last accepted configuration stays in force.
	File    string
	Problem error
	// Text is the file's text at the manager's start; nil: there is none.
	Text []byte
	// Reads makes an Update of a new text of the file, with all else as at the start; nil: the
	// configuration is changed by hand alone.
	Reads func(text []byte) (Update, error)
	// VersionsKept is how many versions of the file are kept; configedit.KeepDefault.
	VersionsKept int
	// Shown are the configuration's values, as "config show" lists them.
	Shown policyhost.Shown
	// InForce is Update.InForce of the start's configuration.
	InForce func()
	// Updates brings changed settings while the manager runs; nil: none come.
	Updates <-chan Update
	// Keys are the manager's certificate. With them all its listeners speak TLS, also with callers
	// that have a certificate; nil: names of callers are not proved.
	Keys *certs.Keys
	// Schemes authenticate users without a certificate, by a header of the call (proof.Edge); they
	// need Keys. None: a caller without a certificate gets no connection.
	Schemes map[string]proof.Scheme
	// Joins serves launchers that have no certificate yet, or want a new one, at the address Join;
	// nil: no such service.
	Joins *join.Server
	Join  string
	// Limits bound connections by address and principal; zeros are connlimit's defaults.
	Limits connlimit.Limits
	// Ready is called once, when the manager answers at these addresses; nil: not.
	Ready func(grpc, http string)
	// Watchdog is called on a goroutine of its own when the manager serves. It returns when ctx
	// ends, as it does when the manager stops. lives returns why the manager has to be restarted;
	// nil: it need not. A call of lives takes ten seconds at most. A nil Watchdog: none.
	Watchdog func(ctx context.Context, lives func(context.Context) error)
	Log      *slog.Logger // nil: slog.Default
}

// Update is a changed configuration. Settings that it lacks take effect at the next start.
type Update struct {
	// Problem says why the file as it is now changes nothing; then the other fields are empty.
	Problem string
	Text    []byte // of the file; nil: unknown
	Core    core.Settings
	Policy  policyhost.Policy
	Shown   policyhost.Shown
	// InForce is called when the policy has accepted its settings, with the rest of the
	// configuration. In it the caller applies the settings that are not the manager's; nil: there
	// are none.
	InForce func()
}

// start returns the configuration to start with, and the one that counts until the policy has
// accepted that: the last accepted one, when the policy has something to check. Settings that can't
// change while a manager runs count at once.
func (c *Config) start() (start, until *Update) {
	start = &Update{Text: c.Text, Core: c.Core, Policy: c.Policy, Shown: c.Shown, InForce: c.InForce}
	if c.Last == nil || policyhost.SameSettings(c.Policy, c.Last.Policy) {
		return start, start
	}
	s := c.Last.Core
	s.Kinds, s.Seed, s.Heartbeat = c.Core.Kinds, c.Core.Seed, c.Core.Heartbeat
	if s.Access == nil || c.Core.Access == nil {
		s.Access = c.Core.Access
	}
	c.Core = s
	return start, c.Last
}

func (c *Config) fill() error {
	c.Listen = cmp.Or(c.Listen, "127.0.0.1:0")
	c.HTTP = cmp.Or(c.HTTP, "127.0.0.1:0")
	c.BlobBytes = cmp.Or(c.BlobBytes, 16<<30)
	c.FreezeMax = cmp.Or(c.FreezeMax, FreezeMaxDefault)
	c.Heartbeat = cmp.Or(c.Heartbeat, 500*time.Millisecond)
	c.Lease = cmp.Or(c.Lease, 10*time.Second)
	c.LauncherLostAfter = cmp.Or(c.LauncherLostAfter, 20*time.Second)
	c.IdleShownAfter = cmp.Or(c.IdleShownAfter, IdleShownAfterDefault)
	c.History.Folder = cmp.Or(c.History.Folder, filepath.Join(c.Data, "history"))
	c.Policy.Fill()
	if c.Log == nil {
		c.Log = slog.Default()
	}
	c.Core.Heartbeat = c.Heartbeat
	switch {
	case c.Data == "":
		return fmt.Errorf("the manager needs a folder for its data: set manager.data")
	case c.Fallback == nil:
		return fmt.Errorf("the manager needs a fallback: Config.Fallback makes a policy")
	case c.Policy.Path == "":
		return fmt.Errorf("the manager needs the path of a policy plug-in: set policy.path or policy.name")
	case c.Keys != nil && c.Core.Access == nil:
		return fmt.Errorf("the manager needs rules of who may do what, with certificates: nobody is let in by default")
	case c.Keys == nil && len(c.Schemes) > 0:
		return fmt.Errorf("the manager takes headers that prove users over TLS alone: it needs a certificate")
	case c.Heartbeat >= c.Lease || c.Lease >= c.LauncherLostAfter:
		return fmt.Errorf("heartbeat (%v) must be less than lease (%v), and lease less than launcherLostAfter (%v)", c.Heartbeat, c.Lease, c.LauncherLostAfter)
	}
	return c.Core.Check()
}

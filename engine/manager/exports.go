package manager

import (
	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/manager/internal/api"
	"github.com/hamadryad/hamadryad/engine/manager/internal/audit"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history"
	"github.com/hamadryad/hamadryad/engine/manager/internal/history/logarchive"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// HistoryOptions bound the kept history of ended jobs, and name its place.
type HistoryOptions = history.Options

// LogArchiveOptions bound the ends of attempts' logs that history keeps (HistoryOptions.Tails).
type LogArchiveOptions = logarchive.Options

// AuditLine is a line of the audit's files. Its JSON is the form of those files.
type AuditLine = audit.Line

// DescribeAccess adds to a reply what the rules let a caller do: roles, pools, and the users it may
// act for. The manager answers the same for the rules in force.
func DescribeAccess(rules *access.Rules, caller access.Caller, r *wire.AccessReply) {
	api.DescribeAccess(rules, caller, r)
}

package client

import (
	"fmt"
	"strings"

	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// Locality says in one line how near a job's attempts ran to the stored files that
// they read: "15 node-local (94%), 1 rack-local (6%), 0 remote (0%)". It is "" when
// none of them has read any.
func Locality(s *wire.JobStatus) string {
	var all uint32
	for _, n := range s.LocalAttempts {
		all += n
	}
	if all == 0 {
		return ""
	}
	var parts []string
	for level, n := range s.LocalAttempts {
		parts = append(parts, fmt.Sprintf("%d %v (%.0f%%)", n, scheduler.Locality(level), 100*float64(n)/float64(all)))
	}
	return strings.Join(parts, ", ")
}

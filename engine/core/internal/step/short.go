package step

import (
	"fmt"
	"unicode/utf8"
)

// Shorten cuts a reason at Settings.ReasonBytes, and marks the cut. Thousands of reasons are
// kept, sent to the policy and shown.
func (s *Step) Shorten(reason string) string {
	most := s.Set.ReasonBytes
	if len(reason) <= most {
		return reason
	}
	end := max(most-shortenedSuffix, 0)
	for end > 0 && !utf8.RuneStart(reason[end]) {
		end--
	}
	return reason[:end] + fmt.Sprintf("... (%d bytes more)", len(reason)-end)
}

// shortenedSuffix is the length reserved for the mark of a cut, so that a cut reason is not cut
// again.
const shortenedSuffix = 40

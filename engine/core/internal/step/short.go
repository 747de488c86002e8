package step

import (
	"fmt"
	"unicode/utf8"
)

// Short cuts a reason at Settings.ReasonBytes, and says so: thousands of them are kept,
// told to the policy and shown.
func (s *Step) Short(reason string) string {
	most := s.Set.ReasonBytes
	if len(reason) <= most {
		return reason
	}
	end := max(most-shortRoom, 0)
	for end > 0 && !utf8.RuneStart(reason[end]) {
		end--
	}
	return reason[:end] + fmt.Sprintf("... (%d bytes more)", len(reason)-end)
}

// shortRoom is for the words that say what was cut, so that what was cut once stays.
const shortRoom = 40

package wire

import (
	"fmt"
	"strings"
)

// Text says what failed, in which node and at which record; the program's stack follows on lines of
// its own. It is "" for nil and for a failure without a message.
func (x *Failure) Text() string {
	if x.GetMessage() == "" {
		return ""
	}
	text := x.Message
	if x.Stage != "" {
		text = fmt.Sprintf("stage %s, node %d: %s", x.Stage, x.Index, x.Message)
	}
	if x.Record != "" {
		text += "\n  at record: " + x.Record
	}
	if x.Stack != "" {
		text += "\n  " + strings.ReplaceAll(strings.TrimSpace(x.Stack), "\n", "\n  ")
	}
	return text
}

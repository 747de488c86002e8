package replay

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// eventsMax bounds the described events of one round.
const eventsMax = 10

// describeEvents describes the first events of a round, one in a line.
func describeEvents(events []scheduler.Event) (lines []string) {
	for _, e := range events[:min(len(events), eventsMax)] {
		lines = append(lines, printable(describeEvent(e)))
	}
	if more := len(events) - eventsMax; more > 0 {
		lines = append(lines, fmt.Sprintf("... and %d more", more))
	}
	return lines
}

// describeEvent is an event's type with its fields that are not zero. Its time is left out: the
// round has one.
func describeEvent(e scheduler.Event) string {
	v := reflect.Indirect(reflect.ValueOf(e))
	words := []string{v.Type().Name()}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.IsExported() && f.Name != "At" && !v.Field(i).IsZero() {
			words = append(words, fmt.Sprintf("%s %v", f.Name, v.Field(i).Interface()))
		}
	}
	return strings.Join(words, ", ")
}

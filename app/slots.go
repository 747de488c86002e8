package app

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/plan"
)

// slotsFlag collects STAGE=KIND flags.
type slotsFlag plan.Kinds

// String implements flag.Value.
func (f *slotsFlag) String() string {
	return byStage(*f, func(kind string) string { return kind })
}

// byStage formats values by stage as a flag takes them; the value of "" is for all stages.
func byStage[V any](values map[string]V, text func(V) string) string {
	var all []string
	for _, stage := range slices.Sorted(maps.Keys(values)) {
		one := text(values[stage])
		if stage != "" {
			one = stage + "=" + one
		}
		all = append(all, one)
	}
	return strings.Join(all, ",")
}

// Set implements flag.Value.
func (f *slotsFlag) Set(s string) error {
	i := strings.LastIndexByte(s, '=')
	if i <= 0 || i == len(s)-1 {
		return fmt.Errorf("write it as STAGE=KIND, such as map=fast")
	}
	stage, kind := s[:i], s[i+1:]
	if _, twice := (*f)[stage]; twice {
		return fmt.Errorf("it is given twice for the same stage")
	}
	if *f == nil {
		*f = slotsFlag{}
	}
	(*f)[stage] = kind
	return nil
}

package app

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Flags of stages are repeated, and each gives a value to one stage, or to all with "" for its name.

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

// cutStage splits STAGE=VALUE; without a = the stage is "".
func cutStage(s string) (stage, value string) {
	if i := strings.LastIndexByte(s, '='); i >= 0 {
		return s[:i], s[i+1:]
	}
	return "", s
}

// addForStage adds the value of a stage, which may have none yet.
func addForStage[M ~map[string]V, V any](values *M, stage string, value V) error {
	if _, twice := (*values)[stage]; twice {
		return fmt.Errorf("it is given twice for the same tasks")
	}
	if *values == nil {
		*values = M{}
	}
	(*values)[stage] = value
	return nil
}

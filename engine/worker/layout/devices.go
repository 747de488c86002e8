package layout

import (
	"strconv"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
)

// devicesPrefix begins the names of the variables with the indices of devices.
const devicesPrefix = "HAMADRYAD_RESOURCE_"

// DevicesVariable returns the environment variable with the indices of a kind of countable resource
// that a process holds, separated by commas, such as HAMADRYAD_RESOURCE_LICENSE_X for "license-x".
func DevicesVariable(kind scheduler.ResourceKind) string {
	return devicesPrefix + strings.ToUpper(strings.ReplaceAll(kind, "-", "_"))
}

// isDevicesVariable reports whether an environment variable is that of some kind. The launcher sets
// such variables, and nobody else may.
func isDevicesVariable(name string) bool { return strings.HasPrefix(name, devicesPrefix) }

// DevicesIn returns the indices by kind in an environment (os.Environ); nil: none.
func DevicesIn(environment []string) map[scheduler.ResourceKind][]int {
	var all map[scheduler.ResourceKind][]int
	for _, v := range environment {
		name, value, _ := strings.Cut(v, "=")
		suffix, is := strings.CutPrefix(name, devicesPrefix)
		if !is {
			continue
		}
		var indices []int
		for text := range strings.SplitSeq(value, ",") {
			if n, err := strconv.Atoi(text); err == nil {
				indices = append(indices, n)
			}
		}
		if all == nil {
			all = map[scheduler.ResourceKind][]int{}
		}
		all[strings.ToLower(strings.ReplaceAll(suffix, "_", "-"))] = indices
	}
	return all
}

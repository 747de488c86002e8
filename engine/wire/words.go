package wire

import "fmt"

// NoLauncher is the message that no launcher has a name; it says where to find the launchers'
// names.
func NoLauncher(name string) string {
	return fmt.Sprintf("there is no launcher %.256q: \"hamadryad launchers\" lists them; those that were lost long ago are forgotten", name)
}

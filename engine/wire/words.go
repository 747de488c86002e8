package wire

import "fmt"

// NoLauncher says that there is no launcher of a name, and where those stand that there are.
func NoLauncher(name string) string {
	return fmt.Sprintf("there is no launcher %.256q: \"hamadryad launchers\" lists them; those that were lost long ago are forgotten", name)
}

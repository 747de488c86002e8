// Faultypolicies is a plug-in with the faulty policy named by its own file name, with - for spaces:
// a test links the binary under the names it wants.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hamadryad/hamadryad/policytest/faultypolicies"
	"github.com/hamadryad/hamadryad/sdk/scheduler/serve"
)

func main() {
	name := strings.ReplaceAll(filepath.Base(os.Args[0]), "-", " ")
	for _, a := range faultypolicies.All() {
		if a.Name == name {
			serve.Main(a.New)
		}
	}
	fmt.Fprintf(os.Stderr, "no bad policy is called %q\n", name)
	os.Exit(1)
}

package lint_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain runs the tests in the module's root: they read the tree by its paths.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

package storagetest_test

import (
	"testing"

	"github.com/hamadryad/hamadryad/sdk/storage"
	"github.com/hamadryad/hamadryad/sdk/storage/storagetest"
)

// In the tests of a store, this function is TestContract, with the store in place of Local.
func ExampleRun() {
	_ = func(t *testing.T) { storagetest.Run(t, storage.Local{}, t.TempDir()) }
}

package storage_test

import (
	"testing"

	"github.com/hamadryad/hamadryad/sdk/storage"
	"github.com/hamadryad/hamadryad/sdk/storage/storagetest"
)

func TestContract(t *testing.T) { storagetest.Run(t, storage.Local{}, t.TempDir()) }

package hdfs

import (
	"testing"

	"github.com/hamadryad/hamadryad/internal/hdfstest"
	"github.com/hamadryad/hamadryad/sdk/storage/storagetest"
)

func TestContract(t *testing.T) {
	s := store(t, hdfstest.Shared(t), Options{})
	storagetest.Run(t, s, mkdir(t, s, "hdfs:///contract"))
}

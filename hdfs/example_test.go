package hdfs_test

import (
	"context"
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/hdfs"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// The import alone makes hdfs:// URLs work, by Hadoop's configuration on this machine.
func Example() {
	store, err := storage.For("hdfs:///logs/today")
	fmt.Printf("%T %v\n", store, err)
	// Output: *hdfs.Store <nil>
}

// A store with settings of its own takes the place of the one that the import registered.
func ExampleNew() {
	store := hdfs.New(hdfs.Options{ConfDir: "/etc/hadoop/conf", Wait: 5 * time.Minute})
	storage.Register("hdfs", store)
	warning, err := store.Check(context.Background(), "hdfs:///")
	fmt.Println(warning, err)
}

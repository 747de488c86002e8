package minihdfs

import (
	"context"
	"embed"
	"io"

	"github.com/hamadryad/hamadryad/internal/minihdfs/kit"
)

//go:embed pom.xml Hdfs.java
var source embed.FS

// Kit is what a small HDFS runs from: Hadoop's jars and our daemon's classes.
type Kit = kit.Kit

// Prepare returns the kit, and makes it first when this version of it is not yet in
// the user's cache folder: that takes 64 MB and, from the network, about a minute.
// See kit.Prepare.
func Prepare(ctx context.Context, log io.Writer) (*Kit, error) {
	return kit.Prepare(ctx, "hdfs", source, log)
}

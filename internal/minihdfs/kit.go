package minihdfs

import (
	"context"
	"embed"
	"io"

	"github.com/hamadryad/hamadryad/internal/minihdfs/kit"
)

//go:embed pom.xml Hdfs.java
var source embed.FS

// Kit is Hadoop's jars and our daemon's classes.
type Kit = kit.Kit

// Prepare returns the kit. It makes this version first when the user's cache folder lacks it: that
// takes 64 MB and, from the network, about a minute. See kit.Prepare.
func Prepare(ctx context.Context, log io.Writer) (*Kit, error) {
	return kit.Prepare(ctx, "hdfs", source, log)
}

package parts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"github.com/hamadryad/hamadryad/internal/minihdfs"
)

// hdfsTimeout bounds the start of the small HDFS, with the fetch of its jars.
const hdfsTimeout = 12 * time.Minute

// StartHDFS starts a small HDFS with its data in the cluster's folder.
func StartHDFS(ctx context.Context, data string) (*minihdfs.Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, hdfsTimeout)
	defer cancel()
	kit, err := minihdfs.Prepare(ctx, os.Stderr)
	if err != nil {
		return nil, fmt.Errorf("--hdfs: %w", err)
	}
	small, err := minihdfs.Start(ctx, kit, minihdfs.Options{DataNodes: hdfsNodes, Folder: filepath.Join(data, "hdfs")})
	if err != nil {
		return nil, fmt.Errorf("--hdfs: %w", err)
	}
	if me, err := user.Current(); err == nil {
		// Relative paths of "hdfs dfs" and of streaming jobs lie there.
		if err := small.MakeFolder(ctx, "/user/"+me.Username); err != nil {
			return nil, errors.Join(fmt.Errorf("--hdfs: the home folder: %w", err), small.Stop())
		}
	}
	fmt.Fprintf(os.Stderr, "HDFS is ready at hdfs:///, its web page at http://%s; put files with\n  %s dfs -put FILE /\n", small.WebHDFS(), small.Script())
	return small, nil
}

// HadoopEnvironment lets clients find the small HDFS, and users its commands.
func HadoopEnvironment(small *minihdfs.Cluster) []string {
	return []string{
		"HADOOP_CONF_DIR=" + small.ConfDir(),
		"PATH=" + filepath.Dir(small.Script()) + string(os.PathListSeparator) + os.Getenv("PATH"),
	}
}

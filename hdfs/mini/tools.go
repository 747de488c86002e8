package mini

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
)

const toolHeap = "-Xmx512m"

// tools are Hadoop's commands, by what follows hdfs on its command line.
var tools = map[string]string{
	"dfs":      "org.apache.hadoop.fs.FsShell",
	"dfsadmin": "org.apache.hadoop.hdfs.tools.DFSAdmin",
	"fsck":     "org.apache.hadoop.hdfs.tools.DFSck",
}

// Command is one of Hadoop's own tools, not yet started: what `hdfs TOOL ARGS...`
// runs. TOOL is dfs, dfsadmin or fsck.
func (c *Cluster) Command(ctx context.Context, tool string, args ...string) *exec.Cmd {
	class := tools[tool]
	if class == "" {
		class = tool
	}
	return c.kit.program(ctx, c.ConfDir(), toolHeap, append([]string{class}, args...)...)
}

// Run runs a tool and returns what it prints. An error has what it complains of.
func (c *Cluster) Run(ctx context.Context, tool string, args ...string) (string, error) {
	cmd := c.Command(ctx, tool, args...)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("hdfs %s %q: %w\n%s", tool, args, err, complaints.Bytes())
	}
	return out.String(), nil
}

package streaming

import (
	"slices"
	"strings"
	"testing"
)

// Paths without a scheme lie on the default file system, as in Hadoop; without one
// they are this machine's.
func TestDefaultFileSystem(t *testing.T) {
	const nn = "hdfs://nn.test:8020"
	for _, c := range []struct {
		args   []string
		inputs []string
		output string
	}{
		{nil, []string{"in", "/data/*.gz", "hdfs://other/x"}, "out"},
		{[]string{"-fs", nn + "/", "-D", "user.name=ann"}, []string{nn + "/user/ann/in", nn + "/data/*.gz", "hdfs://other/x"}, nn + "/user/ann/out"},
		{[]string{"-D", "fs.default.name=" + nn, "-fs", "local"}, []string{"in", "/data/*.gz", "hdfs://other/x"}, "out"},
		{[]string{"-D", "fs.defaultFS=" + nn, "-D", "fs.defaultFS=file:///"}, []string{"in", "/data/*.gz", "hdfs://other/x"}, "out"},
	} {
		j, err := Parse(append(c.args, "-input", "in,/data/*.gz", "-input", "hdfs://other/x", "-output", "out", "-mapper", "cat"))
		if err != nil {
			t.Errorf("%v: %v", c.args, err)
			continue
		}
		if !slices.Equal(j.inputs, c.inputs) || j.output != c.output {
			t.Errorf("%v: input %v, output %v", c.args, j.inputs, j.output)
		}
	}
	for _, c := range []struct{ args, says string }{
		{"-fs " + nn, "whose is not known"},
		{"-fs nn.test:8020", "URL of a file system"},
		{"-fs hdfs://", "URL of a file system"},
	} {
		_, err := Parse(append(strings.Fields(c.args), "-input", "in", "-output", "out", "-mapper", "cat"))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.args, err)
		}
	}
}

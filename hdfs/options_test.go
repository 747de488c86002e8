package hdfs

import (
	"context"
	"strings"
	"testing"
	"time"

	lib "github.com/colinmarc/hdfs/v2"

	"github.com/hamadryad/hamadryad/internal/hadoopsite"
)

// clean unsets what the machine may have set.
func clean(t *testing.T) {
	for _, name := range []string{"HADOOP_CONF_DIR", "HADOOP_HOME", "HADOOP_USER_NAME", "HAMADRYAD_USER", "HAMADRYAD_HDFS_CONF_DIR"} {
		t.Setenv(name, "")
	}
}

func TestOptionsFromEnvironment(t *testing.T) {
	clean(t)
	t.Setenv("HAMADRYAD_USER", "submitter")
	t.Setenv("HAMADRYAD_HDFS_HOSTS", "node0.test=a, 10.0.0.7=b")
	t.Setenv("HAMADRYAD_HDFS_PROPERTIES", "dfs.replication=2,fs.defaultFS=hdfs://x:1")
	t.Setenv("HAMADRYAD_HDFS_WAIT", "5m")
	s, err := settle(Options{Properties: map[string]string{"dfs.replication": "3"}, Data: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if s.User != "submitter" || s.Hosts["10.0.0.7"] != "b" || len(s.Hosts) != 2 || s.Wait != 5*time.Minute || s.Data != time.Hour || s.Call != CallDefault {
		t.Errorf("%+v", s.Options)
	}
	if s.site["dfs.replication"] != "3" || s.site["fs.defaultFS"] != "hdfs://x:1" {
		t.Errorf("%v", s.site)
	}
	t.Setenv("HADOOP_USER_NAME", "hadoop")
	if s, err := settle(Options{}); err != nil || s.User != "hadoop" {
		t.Errorf("%s, %v", s.User, err)
	}
}

func TestBadOptions(t *testing.T) {
	clean(t)
	for variable, value := range map[string]string{
		"HAMADRYAD_HDFS_HOSTS": "node0", "HAMADRYAD_HDFS_CALL": "soon", "HAMADRYAD_HDFS_DATA": "-1s", "HAMADRYAD_HDFS_CONF_DIR": t.TempDir(),
	} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, value)
			word := variable
			if variable == "HAMADRYAD_HDFS_CONF_DIR" {
				word = "core-site.xml"
			}
			_, err := New(Options{}).Stat(context.Background(), "hdfs://127.0.0.1:1/")
			says(t, variable, err, nil, word)
		})
	}
	for _, test := range [][3]string{{"fs.permissions.umask-mode", "u=rwx", "hdfs://127.0.0.1:1/"}, {"fs.defaultFS", "file:///", "hdfs:///"}} {
		_, err := New(Options{Properties: map[string]string{test[0]: test[1]}}).Stat(context.Background(), test[2])
		says(t, test[0], err, nil, test[0])
	}
}

func TestBadURLs(t *testing.T) {
	clean(t)
	for url, word := range map[string]string{"/x": "no hdfs:// URL", "hdfs:///x": "HADOOP_CONF_DIR", "hdfs://u@h/x": "host and port", "hdfs://h/\x00": "zero"} {
		_, err := New(Options{}).Stat(context.Background(), url)
		says(t, url, err, nil, word)
	}
	if err := New(Options{}).Rename(context.Background(), "hdfs://a:1/x", "hdfs://b:1/x"); err == nil || !strings.Contains(err.Error(), "one HDFS") {
		t.Error(err)
	}
}

func TestShape(t *testing.T) {
	defaults := lib.ServerDefaults{Replication: 3, BlockSize: 1 << 27}
	for _, test := range []struct {
		replication, size string
		want              shape
		err               string
	}{
		{"", "", shape{3, 1 << 27}, ""},
		{"1", "64m", shape{1, 64 << 20}, ""},
		{"2", "1048576", shape{2, 1 << 20}, ""},
		{"0", "", shape{}, "dfs.replication"},
		{"many", "", shape{}, "dfs.replication"},
		{"", "m", shape{}, "dfs.blocksize"},
		{"", "9999999999g", shape{}, "dfs.blocksize"},
	} {
		c := &cluster{set: settings{site: hadoopsite.Site{"dfs.replication": test.replication, "dfs.blocksize": test.size}}}
		got, err := c.shape(defaults)
		if test.err != "" {
			says(t, test.replication+" "+test.size, err, nil, test.err)
		} else if err != nil || got != test.want {
			t.Errorf("%q %q: %+v, %v", test.replication, test.size, got, err)
		}
	}
}

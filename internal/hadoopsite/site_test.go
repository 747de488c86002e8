package hadoopsite

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, properties := range files {
		text := "<?xml version=\"1.0\"?>\n<configuration>"
		for line := range strings.Lines(properties) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			text += "<property><name>" + name + "</name><value>\n" + value + " </value><final>true</final></property>\n"
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"</configuration>"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func load(t *testing.T, core, hdfs string) Site {
	t.Helper()
	s, err := Load(folder(t, map[string]string{"core-site.xml": core, "hdfs-site.xml": hdfs}))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestVariables(t *testing.T) {
	t.Setenv("SITE_TEST", "from outside")
	s := load(t, "a=1${b}\nb=2${c}2\nloop=${loop}\nenv=${env.SITE_TEST} ${env.SITE_NONE:-none}\nopen=${a\nunknown=${none} ${b}", "c=3")
	for name, want := range map[string]string{
		"a": "1232", "env": "from outside none", "open": "${a", "unknown": "${none} 232", "nothing": "", "loop": "${loop}",
	} {
		if got := s.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestFolders(t *testing.T) {
	home := t.TempDir()
	environment := map[string]string{"HADOOP_HOME": home}
	getenv := func(name string) string { return environment[name] }
	if got := Folder(func(string) string { return "" }); got != "" {
		t.Error(got)
	}
	os.MkdirAll(home+"/conf", 0o777)
	if got := Folder(getenv); got != home+"/conf" {
		t.Error(got)
	}
	os.MkdirAll(home+"/etc/hadoop", 0o777)
	if got := Folder(getenv); got != home+"/etc/hadoop" {
		t.Error(got)
	}
	environment["HADOOP_CONF_DIR"] = "/elsewhere"
	if got := Folder(getenv); got != "/elsewhere" {
		t.Error(got)
	}
}

func TestBadFolders(t *testing.T) {
	bad := t.TempDir()
	os.WriteFile(bad+"/core-site.xml", []byte("<configuration><property>"), 0o666)
	included := t.TempDir()
	os.WriteFile(included+"/hdfs-site.xml", []byte(`<configuration xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="more.xml"/></configuration>`), 0o666)
	for dir, want := range map[string]string{t.TempDir(): "HADOOP_CONF_DIR", bad: "core-site.xml", included: "more.xml"} {
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestClusters(t *testing.T) {
	pair := load(t, "fs.defaultFS=hdfs://pair", `dfs.nameservices=pair,one
dfs.ha.namenodes.pair=nn1, nn2
dfs.namenode.rpc-address.pair.nn1=a.test:8020
dfs.namenode.rpc-address.pair.nn2=b.test
dfs.namenode.rpc-address.one=c.test:1`)
	single := load(t, "fs.defaultFS=hdfs://a.test:9000/", "")
	for _, test := range []struct {
		site      Site
		authority string
		want      Cluster
	}{
		{pair, "", Cluster{"pair", []string{"a.test:8020", "b.test:8020"}}},
		{pair, "one", Cluster{"one", []string{"c.test:1"}}},
		{pair, "other:7", Cluster{"other:7", []string{"other:7"}}},
		{single, "", Cluster{"a.test:9000", []string{"a.test:9000"}}},
		{single, "a.test:9000", Cluster{"a.test:9000", []string{"a.test:9000"}}},
		{single, "b.test", Cluster{"b.test", []string{"b.test:8020"}}},
		{single, "[::1]:5", Cluster{"[::1]:5", []string{"[::1]:5"}}},
	} {
		if got, err := test.site.Cluster(test.authority); err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%q: %+v, %v, want %+v", test.authority, got, err, test.want)
		}
	}
	for _, test := range []struct {
		site      Site
		authority string
		want      string
	}{
		{Site{}, "", "fs.defaultFS"},
		{Site{"fs.defaultFS": "file:///"}, "", "file:///"},
		{Site{}, "user@host", "no host and port"},
		{load(t, "", "dfs.nameservices=pair\ndfs.ha.namenodes.pair=nn1,nn2"), "pair", "dfs.namenode.rpc-address.pair.nn1"},
	} {
		if c, err := test.site.Cluster(test.authority); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %+v, %v, want %s", test.authority, c, err, test.want)
		}
	}
}

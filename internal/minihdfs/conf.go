package minihdfs

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// logging reserves standard output for the tools' results.
const logging = `log4j.rootLogger=WARN,stderr
log4j.appender.stderr=org.apache.log4j.ConsoleAppender
log4j.appender.stderr.target=System.err
log4j.appender.stderr.layout=org.apache.log4j.PatternLayout
log4j.appender.stderr.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n
log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR
`

const (
	namePort = 9000
	httpPort = 9870
)

// writeConf writes the configuration folders of the clients and of the daemons; the daemons' has
// more properties.
func (c *Cluster) writeConf() error {
	core := map[string]string{"fs.defaultFS": c.NameNode(), "hadoop.tmp.dir": c.temporary()}
	site := map[string]string{
		"dfs.replication": fmt.Sprint(c.options.Replication),
		"dfs.blocksize":   fmt.Sprint(c.options.BlockSize),
	}
	if c.options.Pair {
		maps.Copy(site, c.pairSite())
	} else {
		site["dfs.namenode.rpc-address"], site["dfs.namenode.http-address"] = c.rpc(0), c.http(0)
	}
	maps.Copy(site, c.options.Properties)
	if err := writeSites(c.ConfDir(), core, site); err != nil {
		return err
	}
	maps.Copy(core, map[string]string{
		"net.topology.node.switch.mapping.impl": "Hdfs$Racks",
		// The DataNodes start at the same time as the NameNode and find it a moment later.
		"ipc.client.connect.retry.interval": "100",
		"ipc.client.connect.max.retries":    "100",
	})
	for i := range c.options.DataNodes {
		core["hamadryad.rack."+Host(i)] = Rack(i)
	}
	maps.Copy(site, map[string]string{
		"dfs.namenode.name.dir":                                     "file://" + filepath.Join(c.folder, "name"),
		"dfs.namenode.edits.noeditlogchannelflush":                  "true", // a killed daemon loses nothing; a power cut may
		"dfs.namenode.datanode.registration.ip-hostname-check":      "false",
		"dfs.namenode.fs-limits.min-block-size":                     "512",
		"dfs.namenode.safemode.extension":                           "0",
		"dfs.namenode.redundancy.interval.seconds":                  "1s",
		"dfs.namenode.heartbeat.recheck-interval":                   "1000", // with the heartbeat: a dead node is known after 12 s
		"dfs.heartbeat.interval":                                    "1",
		"dfs.datanode.hostname":                                     "${hamadryad.node}",
		"dfs.datanode.data.dir":                                     "file://" + filepath.Join(c.folder, "${hamadryad.node}"),
		"dfs.datanode.address":                                      "127.0.0.1:0",
		"dfs.datanode.http.address":                                 "127.0.0.1:0",
		"dfs.datanode.ipc.address":                                  "127.0.0.1:0",
		"dfs.datanode.du.reserved":                                  "0",
		"dfs.block.scanner.volume.bytes.per.second":                 "0", // damage is found by readers, so that tests see it
		"dfs.client.block.write.replace-datanode-on-failure.enable": "true",
	})
	if c.options.Pair {
		maps.Copy(site, c.pairDaemonSite())
	}
	maps.Copy(site, c.options.Properties)
	for _, d := range []string{"hdfs", "datanode"} { // the daemons want these in the class path, though empty
		if err := os.MkdirAll(filepath.Join(c.daemonConf(), "webapps", d), 0o755); err != nil {
			return err
		}
	}
	return writeSites(c.daemonConf(), core, site)
}

// writeSites writes a folder of Hadoop's configuration.
func writeSites(folder string, core, site map[string]string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, content := range map[string][]byte{"core-site.xml": sheet(core), "hdfs-site.xml": sheet(site), "log4j.properties": []byte(logging)} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// sheet is a configuration in Hadoop's form.
func sheet(properties map[string]string) []byte {
	var b bytes.Buffer
	b.WriteString("<configuration>\n")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		b.WriteString("  <property><name>")
		_ = xml.EscapeText(&b, []byte(name)) // a Buffer never fails
		b.WriteString("</name><value>")
		_ = xml.EscapeText(&b, []byte(properties[name]))
		b.WriteString("</value></property>\n")
	}
	b.WriteString("</configuration>\n")
	return b.Bytes()
}

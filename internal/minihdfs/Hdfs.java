// One daemon of a small HDFS: a NameNode or a DataNode in a process of its own, so
// that it can be killed like any other. It ends when its standard input does: whoever
// started it holds the other end, and is gone when that is closed.
//
//   java -cp CONF:CLASSES:JARS Hdfs namenode | datanode

import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.namenode.FSNamesystem;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.hdfs.server.namenode.ha.BootstrapStandby;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.net.DNSToSwitchMapping;

public class Hdfs {
  public static void main(String[] args) throws Exception {
    Thread watch = new Thread(Hdfs::endWithInput);
    watch.setDaemon(true);
    watch.start();
    if (args[0].equals("datanode")) {
      DataNode.main(new String[0]);
      return;
    }
    DefaultMetricsSystem.setMiniClusterMode(true); // formatting and serving count under one name
    HdfsConfiguration conf = new HdfsConfiguration();
    for (URI dir : FSNamesystem.getNamespaceDirs(conf)) {
      if (!new File(dir.getPath(), "current/VERSION").exists()) {
        prepare(conf);
      }
    }
    NameNode.main(new String[0]);
  }

  // The first NameNode makes the name space, the one that stands by takes it from there.
  private static void prepare(HdfsConfiguration conf) throws Exception {
    if (!Boolean.getBoolean("hamadryad.standby")) {
      NameNode.format(conf);
    } else if (BootstrapStandby.run(new String[] {"-nonInteractive"}, new HdfsConfiguration()) != 0) {
      throw new IOException("the name space can't be taken from the first NameNode");
    }
  }

  private static void endWithInput() {
    try {
      while (System.in.read() >= 0) {}
    } catch (IOException e) {
      // as good as its end
    }
    Runtime.getRuntime().halt(0);
  }

  /** Tells racks by host name, because the addresses of all nodes are the same. */
  public static class Racks extends Configured implements DNSToSwitchMapping {
    @Override
    public List<String> resolve(List<String> names) {
      List<String> racks = new ArrayList<>();
      for (String name : names) {
        racks.add(getConf().get("hamadryad.rack." + name, "/default-rack"));
      }
      return racks;
    }

    @Override
    public void reloadCachedMappings() {}

    @Override
    public void reloadCachedMappings(List<String> names) {}
  }
}

// Package mini runs a real, small HDFS on this machine: Hadoop's own NameNode and
// DataNodes, each a process of its own with a host name and a rack of its own, for
// tests and for people who want to try hdfs:// without a cluster.
//
//	kit, err := mini.Prepare(ctx, os.Stderr) // fetches the jars, the first time
//	cluster, err := mini.Start(ctx, kit, mini.Options{})
//	defer cluster.Stop()
//	output, err := cluster.Run(ctx, "dfs", "-put", "words.txt", "/in")
//
// The jars come through Maven and stay in the user's cache folder; a JDK from 11 to
// 21 and Maven must be installed. The daemons end with this process, whatever ends
// it: each reads its standard input until the end of file, and has asked the kernel
// for the parent's death signal.
//
// Hosts are called node0.test, node1.test and so on and need no name service:
// clients reach a DataNode by the address that the NameNode gives them, on
// loopback. WebHDFS redirects those who read or write to such a name: ReadFile and
// WriteFile know where it is. Nodes 0 and 1 share /rack0, 2 and 3 /rack1.
package mini

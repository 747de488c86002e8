// Package minihdfs runs a real, small HDFS on this machine, for tests and for trying hdfs:// without a
// cluster. Hadoop's own NameNode and DataNodes run as processes, each with a host name and a rack
// of its own.
//
//	kit, err := minihdfs.Prepare(ctx, os.Stderr) // fetches the jars, the first time
//	cluster, err := minihdfs.Start(ctx, kit, minihdfs.Options{})
//	defer cluster.Stop()
//	output, err := cluster.Run(ctx, "dfs", "-put", "words.txt", "/in")
//
// The jars come through Maven and stay in the user's cache folder. A JDK from 11 to 21 and Maven
// must be installed. The daemons end with this process, however it ends. Each reads its standard
// input until the end of file, and has asked the kernel for the parent's death signal.
//
// Hosts are called node0.test, node1.test and so on, and need no name service. Clients reach a
// DataNode by the address that the NameNode gives them, on loopback. WebHDFS redirects readers and
// writers to such a name, which ReadFile and WriteFile resolve. Nodes 0 and 1 share /rack0, 2 and 3
// /rack1.
package minihdfs

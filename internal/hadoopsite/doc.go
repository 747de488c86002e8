// Package hadoopsite reads Hadoop's configuration: core-site.xml and hdfs-site.xml of a
// folder, with ${variables}, and what they say of a cluster's NameNodes.
//
//	s, err := hadoopsite.Load("/etc/hadoop/conf")
//	name, err := s.Cluster("")       // that of fs.defaultFS
//	name.Addresses                   // the NameNodes
package hadoopsite

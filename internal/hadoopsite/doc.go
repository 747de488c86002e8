// Package hadoopsite reads Hadoop's configuration: core-site.xml and hdfs-site.xml of a folder,
// with ${variables}, and the NameNodes that they name.
//
//	s, err := hadoopsite.Load("/etc/hadoop/conf")
//	name, err := s.Cluster("")       // the cluster of fs.defaultFS
//	name.Addresses                   // the NameNodes
package hadoopsite

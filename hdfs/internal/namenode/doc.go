// Package namenode queries a NameNode, in its own protocol, for the locations of a file's blocks.
// The HDFS client that reads and writes does not expose them.
//
//	c, err := namenode.Handshake(conn, "nn1.example.com", namenode.Options{User: "alice"})
//	blocks, err := c.BlockLocations("/words.txt", 0, 1<<30)
//
// It implements Hadoop's RPC of version 9, with messages of protobuf. If Options.Login is set, it
// authenticates the user by Kerberos (SASL's mechanism GSSAPI, RFC 4752). It takes the strongest
// protection that the NameNode offers (hadoop.rpc.protection). Signed and encrypted calls are those
// of RFC 4121, so encryption types of RC4 and DES do not work.
//
// Limits: a Conn makes one call at a time and has no deadline. The caller sets the connection's
// deadlines, closes it to abort a call, and chooses among several NameNodes. There are no
// delegation tokens.
package namenode

// Package packet verifies what a DataNode sends. A Reader stands between the connection and an HDFS
// client that does not verify checksums. It passes on the same bytes, packet by packet, once all
// chunks of the packet have the right sum. What is wrong is an error before any byte of it is
// passed on.
//
//	q, err := packet.ParseRequest(sent)     // what the client asked
//	r := packet.NewReader(connection, q)    // what the client reads instead
//
// The format is that of Hadoop's data transfer protocol, version 28: messages of
// hadoop-hdfs-client's datatransfer.proto, packets as its PacketReceiver reads and
// BlockSender writes them. Streams that are encrypted look different and are not
// understood: ParseRequest refuses them.
package packet

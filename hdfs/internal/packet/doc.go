// Package packet verifies what a DataNode sends. A Reader sits between the connection and an HDFS
// client that does not verify checksums. It passes on the same bytes, packet by packet, after all
// chunks of the packet matched their checksums. Otherwise it returns an error before it passes on
// any byte of the packet.
//
//	q, err := packet.ParseRequest(sent)     // what the client asked
//	r := packet.NewReader(connection, q)    // what the client reads instead
//
// The format is Hadoop's data transfer protocol, version 28: messages of hadoop-hdfs-client's
// datatransfer.proto, packets as its PacketReceiver reads and BlockSender writes them. Encrypted
// streams look different and are not supported: ParseRequest refuses them.
package packet

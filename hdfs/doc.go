// Package hdfs makes HDFS a storage.Store. Importing it is enough: it registers the scheme hdfs.
//
//	import _ "github.com/hamadryad/hamadryad/hdfs"
//
// Paths are hdfs://namenode:port/path, hdfs://nameservice/path, and hdfs:///path for the default
// file system of Hadoop's configuration, which is found through HADOOP_CONF_DIR or HADOOP_HOME.
// Options documents the other settings and their environment variables.
//
// It builds on github.com/colinmarc/hdfs, and works around that client's faults:
//
//   - Bytes: each packet that a DataNode sends is verified before the client sees
//     it (package packet), because the client returns corrupt data. A
//     file shorter than its range, one that changed while it was read, and one that
//     the client does not understand (encrypted, erasure-coded) are errors.
//   - Time: every connection has a deadline for each step, every call one for all
//     its tries, and all of them end with their context.
//   - NameNodes: a call is retried, with bounded back-off, through a restart, a
//     fail-over and safe mode.
//   - DataNodes: a failed DataNode is avoided for a minute, not for ever.
//   - Writes: a file is written under a temporary name and renamed when all its
//     replicas are acknowledged and its length is right. The client can't mend a
//     broken pipeline. So a file that is still small is written again. A larger one is
//     lost (storage.ErrUnavailable), and the attempt starts again.
//
// A small client of the NameNode's protocol (internal/namenode) queries block locations, because
// the library does not expose them. Store.Check reports whether that works.
//
// Limits: there are no delegation tokens, no encrypted RPC other than SASL's, and no short-circuit
// reads. Data that DataNodes encrypt can't be verified on its way. It is read in small parts, which
// is slower, and only with the cipher suite AES/CTR/NoPadding.
//
// # Readers
//
// Each reader has its own client and so its own DataNode connections. A corrupt replica is an
// ordinary failure, after which the library continues with another. Verification does not slow
// large reads. Where SASL wraps the stream, the store reads parts smaller than a checksum chunk,
// which the library does verify.
//
// The library never forgets that a DataNode failed. After any failure the store chooses the replica
// when the library dials: a request names only the block, so any holder can answer. If all replicas
// failed, the store asks the NameNode for their locations again, three rounds in all.
//
// # Calls without an answer
//
// A call without an answer is repeated by a new client, because the library's connection may be out
// of step. A rename or a new folder that the lost call already made is recognised. The library can
// only rename with the option to overwrite. So the store makes that call itself, without the
// option, on the library's connection.
//
// A writer has its own client; closing it gives up the lease. Permanent write errors are
// storage.ErrUnavailable, and the attempt counts as lost.
//
// # Places
//
// The client of the NameNode uses HAMADRYAD_HDFS_CALL and _WAIT for deadlines and tries, as other
// calls do. An answer has at most 128 MiB and 1,048,576 blocks. WebHDFS is not used. If no NameNode
// returns locations, the log says so once with the cause. Work then runs without locality, and no
// NameNode is asked for 30 s.
package hdfs

// Package schedwire encodes the values of package scheduler as protobuf messages and decodes them.
// Manager and policy plug-ins exchange these messages. The manager's event log stores a policy's
// answers in the same form.
//
//	bytes, err := schedwire.EncodeRound(&round)
//	again, err := schedwire.DecodeRound(bytes)
//
// A message holds columns: one packed list for each attribute. A round can have tens of thousands
// of rows, and one message for each row costs four times as much. Strings are indices into a table
// that each message carries.
//
// Frequent values of rounds are encoded and decoded without a message (direct_encode.go,
// direct_decode.go). This fast path leaves everything rare, unusual or damaged to the message's
// path, and gives the same results.
//
// New* functions make messages of values and Decode methods the reverse. Encode* and Decode*
// functions do the same on bytes. Encoding is deterministic. An empty list decodes as nil. Decoding
// checks everything that the format promises. Columns agree in length, indices are in range,
// enumerations are known, and times do not go back within a round. A bad message is an error that
// wraps ErrBadMessage, never a panic. Only the manager can check whether a job exists.
//
// A manager and a plug-in may be of different versions. A plug-in's decoders (ReadRound,
// SnapshotReader, Config, Environment) skip and count unknown content: see Unknown. A manager
// refuses an answer with unknown content. So a new column of an answer is omitted if all of its
// rows are 0.
//
// Results of Decode* functions share no memory with the bytes. Events of bundles that are alike share
// their list of groups. Results of Decode methods share
// their byte strings with the message.
//
// The functions may be called from any goroutine; a value must not change while it is encoded. The
// package does not import gRPC: the service is in package rpc below it.
package schedwire

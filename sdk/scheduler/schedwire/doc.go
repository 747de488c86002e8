// Package schedwire turns the values of package scheduler into protobuf messages and
// back: what manager and policy plug-ins exchange, and what the manager's event
// log keeps of a policy's answers.
//
// A message holds columns: one packed list for each attribute, not one message
// for each row, because a round can have tens of thousands of rows. Strings are
// indices into a table that each message carries.
//
// What rounds have thousands of goes from values to bytes and back without the message
// between (direct_encode.go, direct_decode.go): a short cut that leaves all that is
// seldom, strange or damaged to the message's way, and gives the same.
//
// New* functions make messages of values and Decode methods the reverse.
// Encode* and Decode* functions do the same on bytes. Encoding is
// deterministic. An empty list decodes as nil. Decoding checks everything that
// the format promises (columns agree in length, indices are in range,
// enumerations are known, times do not go back within a round) and reports a
// bad message as an error that wraps ErrBadMessage; it never panics. It does not
// check what only the manager can know, such as whether a job exists.
//
// A manager and a plug-in may be of different versions. What a plug-in reads (ReadRound,
// SnapshotReader, Config, Environment) skips and counts what it does not know: see
// Unknown. What it answers is refused by a manager that does not know all of it. So
// whoever adds a column to an answer leaves it out where all of its rows are 0.
//
// What Decode* functions return shares nothing with the bytes; what Decode methods
// return shares its byte strings with the message.
//
// The functions may be called from any goroutine; a value must not change
// while it is encoded. The package does not import gRPC: the service is in
// package rpc below it.
//
// One message for each row costs four times as much as columns.
package schedwire

// Package schedwire turns the values of package scheduler into protobuf messages and back. Manager
// and policy plug-ins exchange these, and the manager's event log keeps a policy's answers as such.
//
//	bytes, err := schedwire.EncodeRound(&round)
//	again, err := schedwire.DecodeRound(bytes)
//
// A message holds columns: one packed list for each attribute. A round can have tens of thousands
// of rows, and one message for each row costs four times as much. Strings are indices into a table
// that each message carries.
//
// Values that rounds have thousands of go to bytes and back without a message between
// (direct_encode.go, direct_decode.go). This short cut leaves everything that is seldom, strange or
// damaged to the message's way, and gives the same.
//
// New* functions make messages of values and Decode methods the reverse. Encode* and Decode*
// functions do the same on bytes. Encoding is deterministic. An empty list decodes as nil. Decoding
// checks everything that the format promises. Columns agree in length, indices are in range,
// enumerations are known, and times do not go back within a round. A bad message is an error that
// wraps ErrBadMessage, never a panic. Whether a job exists, only the manager can check.
//
// A manager and a plug-in may be of different versions. What a plug-in reads (ReadRound,
// SnapshotReader, Config, Environment) skips and counts what it does not know: see Unknown. What it
// answers is refused by a manager that does not know all of it. So a new column of an answer is
// left out where all of its rows are 0.
//
// What Decode* functions return shares nothing with the bytes; what Decode methods return shares
// its byte strings with the message.
//
// The functions may be called from any goroutine; a value must not change while it is encoded. The
// package does not import gRPC: the service is in package rpc below it.
package schedwire

// Package direct carries rounds and their answers between a manager and its plug-in on one machine.
// They go on a pair of connected sockets, without gRPC. A plug-in in Go uses package serve and never
// this one.
//
// The manager makes the pair before it starts the plug-in. The plug-in inherits one socket, and
// finds its number in the environment (Key). If it writes Greeting before its handshake, rounds come
// on the socket instead of the calls AssignTasks and Rounds. All other calls stay with gRPC, and a
// plug-in that ignores the socket gets rounds by gRPC too.
//
// The manager sends the length of a round in four bytes, the lowest first, and the encoded round.
// The plug-in answers with a gRPC status code and a length, of four bytes each. The encoded
// decisions follow, or for a code other than 0 the text of the error.
//
//	near, far, err := direct.Pair()    // in the manager; the plug-in inherits far
//	err = c.Serve(bytesMax, handle)    // in the plug-in, with c from Inherited
//	answer, err := near.Ask(round, answerBytesMax)
//
// Both sides check each length before they read what follows. Nothing but bytes of bounded length is
// taken from the other side.
package direct

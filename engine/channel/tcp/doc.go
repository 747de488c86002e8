// Package tcp is the streamed channel between two workers of a bundle. The worker
// that reads has one Listener for all its channels; the one that writes dials a
// connection for each channel.
//
//	writer  hello(protocol, key, token)
//	reader  accept(window)             or no(code, text)
//	writer  block(cost) and the block, end(records), abort(text), beat
//	reader  credit(cost), done, gone, beat
//
// Flow control: a batch costs what it takes in the reader's memory, and no more
// than a window of it is under way or waits for the reading node; only a batch
// larger than the window travels alone. Both ends always read their socket, so
// that a slow node never hides a dead peer.
//
// A stream ends well in two ways: the writer's end, answered by done; or the
// reader's gone, when its node closed the source on purpose, after which the writer
// drops what its node still writes. All else (a reset, an end of the connection
// without end, silence, an abort, damaged bytes) is channel.ErrPeerLost at the
// end that is left: it never looks like end of data.
//
// Silence is counted in ticks of a timer, not by a deadline: a worker that was
// itself stopped (suspended) for an hour counts one tick when it goes on, and does
// not blame its peers.
package tcp

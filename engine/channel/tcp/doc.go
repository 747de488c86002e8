// Package tcp is the streamed channel between two workers of a bundle. The reading worker has one
// Listener for all its channels. The writing worker dials a connection for each channel.
//
//	writer  hello(protocol, key, token)
//	reader  accept(window)             or no(code, text)
//	writer  block(cost) and the block, full, end(records), abort(text), beat
//	reader  credit(cost), aside(cost), done, gone, beat
//
// Flow control: a batch costs its memory at the reader. At most a window of bytes is in flight or
// waits for the reading node. Only a batch larger than the window travels alone. Both ends always
// read their socket, so a slow node never hides a dead peer.
//
// Two nodes can wait for each other: one writes to this channel while the other first reads another
// of its inputs. So a writer that has waited for room for Options.Stall sends full. If the node
// took nothing meanwhile, the reader's end spills the waiting batches to a nameless file. It
// answers aside, which is a credit. The node gets all batches in order. The spill is bounded. If it
// is full, too, and stays so, the Listener calls Options.Stuck.
//
// A stream ends well in two ways. One is the writer's end, answered by done. The other is the
// reader's gone, when its node closed the source on purpose; then the writer drops what its node
// still writes. Everything else is channel.ErrPeerLost at the remaining end, and never looks like
// end of data. That is a reset, a connection closed without end, silence, an abort, or damaged
// bytes.
//
// Silence is counted in ticks of a timer, not by a deadline. A worker that was suspended for an
// hour counts one tick when it goes on, and does not blame its peers.
//
// A broken channel fails the bundle, which starts again as a whole. All tcp channels of a worker
// share 64 GiB of disk for spilling (launcher.spillMax), which is also the bound of one shm
// channel. When that is full and the node took nothing for some minutes, the attempt fails. The
// message names the writer, its output, the reader, and the input that the reader waits for.
package tcp

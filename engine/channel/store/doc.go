// Package store serves stored channel files to other machines, and fetches from
// there. A launcher runs one Server; a worker has one Fetcher for all its inputs.
//
// A connection carries requests one after the other, so a thousand maps read by two hundred reduces
// do not need two hundred thousand connections. A request names a file (job, attempt, channel),
// shows the attempt's token, and asks for a range of one partition's stored bytes. The answer is
// the partition's size and records, the bytes as they are in the file, and an explicit end; or an
// error:
//
//	fetcher  hello(protocol, version)
//	fetcher  want(job, attempt, channel, token, partition, offset, limit)
//	store    have(bytes, records, n)   n bytes   end(n)
//	store    no(code, text)
//
// A fetcher may send requests for many small partitions together (Batch), and reads the answers in
// their order; the store sends them together, too. A source that gets no answer so asks alone.
//
// A Server that is told of merged files (package merged) answers requests for small partitions from them.
// One read of a merged file answers dozens of requests, and the answers are the same.
//
// The fetcher asks for a window at a time, takes it into memory at once, and fetches the next while
// the last is read. So no connection ever waits for user code. A reader may hold a thousand sources
// open, and read them in any order over a few connections. A slow reader never blocks a store, and
// deadlines can be short. A broken connection is dialled again and continues where it stopped.
//
// A connection that shows no valid token within five seconds is closed, and so is a connection
// whose first token is wrong.
package store

package channel

import (
	"errors"
	"fmt"
)

// The kinds of failure that the reader of a channel acts on differently. Test
// with errors.Is; the error's text has the details (which file or peer, where).
var (
	// ErrUnreachable: the peer that serves the stored file could not be reached,
	// or broke off, several times in a row. The file may still be there.
	ErrUnreachable = errors.New("store unreachable")
	// ErrLost: the peer answers and has no such file. Its producer must run again.
	ErrLost = errors.New("stored channel is gone")
	// ErrDamaged: the data do not match their checksums, twice. Their producer must run again.
	ErrDamaged = errors.New("channel data is damaged")
	// ErrVersion: the data have another version than this program reads, and show no damage. A
	// retry is no use; the data are left as they are.
	ErrVersion = errors.New("channel data has another version")
	// ErrRefused: the peer does not accept the token or the request. A retry is no use.
	ErrRefused = errors.New("refused by peer")
	// ErrPeerLost: the other end of a tcp or shm channel ended without finishing
	// the stream. Its bundle must be restarted.
	ErrPeerLost = errors.New("other end of the channel was lost")
	// ErrDiskFull: no room for a stored channel or a spill.
	ErrDiskFull = errors.New("no space left on disk")
	// ErrClosed: the channel's own end was closed or aborted before.
	ErrClosed = errors.New("channel is closed")
)

// OtherVersion is the error, matching ErrVersion, for data of a version that this program does not
// read.
func OtherVersion(what string, has, reads uint32) error {
	remedy := "use the version of Hamadryad that wrote it"
	if has > reads {
		remedy += ", or a newer one"
	}
	return fmt.Errorf("%w: %s has version %d, and this program reads version %d: %s", ErrVersion, what, has, reads, remedy)
}

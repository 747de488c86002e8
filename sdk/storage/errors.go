package storage

import "errors"

// ErrUnavailable is an error of the store itself: it can't be reached, or lost a
// part of itself together with what was being written there. Nothing is wrong with
// the request, and the same work may succeed later. An attempt that fails with it
// counts as lost.
var ErrUnavailable = errors.New("the storage is not available")

package request

import (
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Lists with pages that cursors lead through.
const (
	Jobs      = "jobs"
	Attempts  = "attempts"
	Decisions = "decisions"
	Queue     = "queue"
	Elements  = "elements"
	Launchers = "launchers"
	Schedules = "schedules"
	Users     = "users"
)

// A cursor is the place behind which a page ends, with the name of its list. Without the name, a
// cursor of another list would be a valid place, and silently skip items.

// Cursor is the cursor for a place in a list.
func Cursor(list, place string) *string {
	text := list + "-" + place
	return &text
}

// PlaceOf reads the place from a cursor of a list; "": the first page.
func PlaceOf(list string, cursor *string) (place string, err error) {
	if cursor == nil || *cursor == "" {
		return "", nil
	}
	place, ours := strings.CutPrefix(*cursor, list+"-")
	if !ours || place == "" {
		return "", NotGiven(*cursor)
	}
	return place, nil
}

// NotGiven is the error of an invalid cursor.
func NotGiven(cursor string) error {
	return status.Errorf(codes.InvalidArgument, "cursor: %.64q is none that was given here: send the \"next\" of the page before, or none for the first page", cursor)
}

// Many places are numbers. They are given in ascending order and never again, so new entries are in
// front of all pages, or behind.

// Number is the place of a number.
func Number[N ~uint64](behind N) string { return strconv.FormatUint(uint64(behind), 36) }

// NumberOf reads the number from a cursor of a list; 0: the first page.
func NumberOf(list string, cursor *string) (uint64, error) {
	place, err := PlaceOf(list, cursor)
	if err != nil || place == "" {
		return 0, err
	}
	n, err := strconv.ParseUint(place, 36, 64)
	if err != nil || n == 0 {
		return 0, NotGiven(*cursor)
	}
	return n, nil
}

// LimitDefault is how many entries a page has without a limit in the request.
const LimitDefault = 100

// LimitOf is how many entries a page has at most.
func LimitOf(limit *int) int {
	if limit == nil {
		return LimitDefault
	}
	return *limit
}

package request

import (
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A cursor is the number behind which a page ends. Numbers are given in ascending order and never
// again, so what comes meanwhile is in front of all pages, or behind.

// Cursor is the one of a page that ends there.
func Cursor[N ~uint64](behind N) *string {
	text := strconv.FormatUint(uint64(behind), 36)
	return &text
}

// CursorOf reads one; 0: it is the first page.
func CursorOf(text *string) (uint64, error) {
	if text == nil || *text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(*text, 36, 64)
	if err != nil || n == 0 {
		return 0, status.Errorf(codes.InvalidArgument, "cursor: %.64q is none that was given: send the \"next\" of the page before, or none for the first page", *text)
	}
	return n, nil
}

// LimitDefault is how many entries a page has that names no limit.
const LimitDefault = 100

// LimitOf is how many entries a page has at most.
func LimitOf(limit *int) int {
	if limit == nil {
		return LimitDefault
	}
	return *limit
}

package rest

import (
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A cursor is the number behind which a page ends. Numbers are given in ascending order and never
// again, so what comes meanwhile is in front of all pages, or behind.

func cursor[N ~uint64](behind N) *string {
	text := strconv.FormatUint(uint64(behind), 36)
	return &text
}

// cursorOf reads one; 0: it is the first page.
func cursorOf(text *string) (uint64, error) {
	if text == nil || *text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(*text, 36, 64)
	if err != nil || n == 0 {
		return 0, status.Errorf(codes.InvalidArgument, "cursor: %.64q is none that was given: send the \"next\" of the page before, or none for the first page", *text)
	}
	return n, nil
}

func limitOf(limit *int) int {
	if limit == nil {
		return limitDefault
	}
	return *limit
}

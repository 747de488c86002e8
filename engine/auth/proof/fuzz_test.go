package proof_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// FuzzHeader puts arbitrary headers into a call. A scheme gets one credential, exactly as it stands
// in a single header, and errors do not repeat a refused one.
func FuzzHeader(f *testing.F) {
	for _, h := range []string{"Bearer " + secret, "bearer  " + secret + " ", "Bearer", "", "Bearer a b", "Bearer a,Bearer b", "bearer\t" + secret, "Odd =", "odd x==", "\x00", "Bearer " + strings.Repeat("x", 1<<16)} {
		f.Add(h, "")
		f.Add(h, h)
	}
	e := taking(time.Time{})
	f.Fuzz(func(t *testing.T, first, second string) {
		headers := []string{first}
		if second != "" {
			headers = append(headers, second)
		}
		ctx := peer.NewContext(t.Context(), &peer.Peer{AuthInfo: anonymous})
		_, err := e.Tap(metadata.NewIncomingContext(ctx, metadata.MD{"authorization": headers}), &tap.Info{FullMethodName: "/m"})
		scheme, credential, _ := strings.Cut(first, " ")
		if good := second == "" && strings.EqualFold(scheme, "bearer") && strings.Trim(credential, " ") == secret; good != (err == nil) {
			t.Errorf("%q: %v", headers, err)
		}
		if err == nil {
			return
		}
		if status.Code(err) != codes.Unauthenticated || len(err.Error()) > 500 || len(credential) > 20 && strings.Contains(err.Error(), credential) {
			t.Errorf("%q: %v", headers, err)
		}
	})
}

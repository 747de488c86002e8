package signature_test

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler/signature"
)

// A user signs a query, and the policy's authenticator finds by whose key it was signed.
func Example() {
	at := time.UnixMilli(1_700_000_000_000)
	query, authorization := signature.Sign("setSpending=0.01", nil, "ann", at, "her secret", signature.SHA256)
	s, err := signature.Read(query, nil, authorization)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.User, s.Query, s.By("her secret"), s.By("a guess"))
	// Output: ann setSpending=0.01 true false
}

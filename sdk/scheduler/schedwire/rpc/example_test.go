package rpc_test

import (
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/rpc"
)

// A plug-in in another language looks for this variable before it prints go-plugin's line.
func Example() {
	fmt.Printf("%s=%s, version %d\n", rpc.CookieKey, rpc.CookieValue, rpc.ProtocolVersion)
	// Output: HAMADRYAD_POLICY_PLUGIN=scheduling-policy, version 2
}

package direct_test

import (
	"fmt"
	"os"
	"strconv"

	"github.com/hamadryad/hamadryad/sdk/scheduler/schedwire/direct"
)

// Both ends in one process. A manager and a plug-in are two.
func Example() {
	near, far, err := direct.Pair()
	if err != nil {
		panic(err)
	}
	defer near.Close()
	os.Setenv(direct.Key, strconv.Itoa(int(far.Fd())))
	plugin, err := direct.Inherited()
	if err != nil {
		panic(err)
	}
	go plugin.Serve(100, func(round []byte) ([]byte, *direct.Fault) {
		return append([]byte("the answer to "), round...), nil
	})
	fmt.Println("takes rounds:", near.Greeted())
	answer, err := near.Ask([]byte("a round"), 100)
	fmt.Println(string(answer), err)
	// Output:
	// takes rounds: true
	// the answer to a round <nil>
}

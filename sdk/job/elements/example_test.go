package elements_test

import (
	"fmt"

	"github.com/hamadryad/hamadryad/sdk/job/elements"
)

func Example() {
	s, err := elements.Parse("7-9,0-20:10")
	fmt.Println(s, s.Len(), s.At(1), err)
	at, found := s.Find(9)
	fmt.Println(at, found)
	_, err = elements.Parse("9-1")
	fmt.Println(err)
	// Output:
	// 0,7-10,20 6 7 <nil>
	// 3 true
	// the range "9-1" goes backwards: write 1-9
}

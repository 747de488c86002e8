package streaming_test

import (
	"fmt"

	"github.com/hamadryad/hamadryad/mapreduce/streaming"
)

// A command line of Hadoop's is understood, or refused with what to do instead.
func ExampleParse() {
	j, err := streaming.Parse([]string{"-D", "mapreduce.job.reduces=2", "-input", "logs", "-output", "hits", "-mapper", "grep GET", "-reducer", "uniq -c"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(j)
	// Output:
	// input: logs
	// output: hits
	// mapper: ["grep" "GET"]
	// reducer: ["uniq" "-c"]
	// reducers: 2
	// setting: mapreduce.job.reduces=2
}

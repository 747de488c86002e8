package settings_test

import (
	"fmt"
	"time"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
)

// Settings are read over their defaults. A mistake is named by file and line.
func ExampleDecode() {
	type options struct {
		Wait  time.Duration `yaml:"wait"`
		Order string        `yaml:"order"`
	}
	o := options{Wait: time.Second, Order: "fifo"}
	err := settings.Decode(scheduler.Config{File: "site.yaml", Line: 1, Text: []byte("wait: 30s\n")}, &o)
	fmt.Println(o, err)
	fmt.Println(settings.Decode(scheduler.Config{File: "site.yaml", Line: 1, Text: []byte("wait: 30s\nordr: fair\n")}, &o))
	// Output:
	// {30s fifo} <nil>
	// site.yaml:2: unknown setting "ordr": correct its name or remove it; did you mean order?
}

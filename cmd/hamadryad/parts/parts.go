// Package parts has the parts of "hamadryad local": the number of launchers, their hosts and
// command lines, and the small HDFS beside them. Package local keeps them running.
package parts

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/shirou/gopsutil/v4/mem"

	"github.com/hamadryad/hamadryad/engine/launcher"
)

// Options are the flags of local. PlaceLaunchers and Prepare make them whole, in this order.
type Options struct {
	Config    string
	Launchers int
	Slots     string
	Memory    string
	Data      string
	Policy    string
	LogLevel  string
	Hosts     []string
	HDFS      bool

	places []place // from hosts
}

// launchersMax keeps a mistyped number from filling the machine with processes.
const launchersMax = 256

// Prepare makes the data folder and fills in missing options.
func (o *Options) Prepare() (cleanup func(), err error) {
	cleanup = func() {}
	if o.Data == "" {
		if o.Data, err = os.MkdirTemp("", "hamadryad-local-"); err != nil {
			return cleanup, err
		}
		dir := o.Data
		cleanup = func() { os.RemoveAll(dir) }
	}
	if o.Data, err = filepath.Abs(o.Data); err != nil {
		return cleanup, err
	}
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return cleanup, err
	}
	if o.Memory == "" {
		machine, err := mem.VirtualMemory()
		if err != nil {
			return cleanup, fmt.Errorf("this machine's memory: %w; give --memory", err)
		}
		o.Memory = fmt.Sprint(int64(float64(machine.Total)*launcher.MemoryShare) / int64(o.Launchers))
	}
	return cleanup, nil
}

// Manager is the command line of the manager.
func (o *Options) Manager(address, page string) []string {
	args := append([]string{"serve", "manager", "--listen", address, "--http", page, "--data", filepath.Join(o.Data, "manager")}, o.shared()...)
	switch { // without the flag the configuration's policy decides
	case o.Policy == "":
	case filepath.Base(o.Policy) != o.Policy:
		args = append(args, "--policy-path", o.Policy)
	default:
		args = append(args, "--policy", o.Policy)
	}
	return args
}

// Launcher is the command line of a launcher.
func (o *Options) Launcher(i int, name, manager string) []string {
	args := append([]string{
		"--manager", manager, "serve", "launcher", "--name", name, "--memory", o.Memory,
		"--data", filepath.Join(o.Data, name), "--cache", filepath.Join(o.Data, "cache"),
	}, o.shared()...)
	if p := o.placeOf(i); p.host != "" {
		args = append(args, "--host", p.host, "--rack", p.rack)
	}
	if o.Slots != "" {
		args = append(args, "--slots", o.Slots)
	}
	return args
}

// shared are the flags of all parts.
func (o *Options) shared() []string {
	flags := []string{"--log-level", o.LogLevel}
	if o.Config != "" {
		flags = append(flags, "--config", o.Config)
	}
	return flags
}

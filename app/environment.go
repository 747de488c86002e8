package app

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/plan"
	"github.com/hamadryad/hamadryad/sdk/job"
)

const (
	// variableMax is the longest variable that travels with a job, name and value, in bytes:
	// Linux's limit.
	variableMax = 128<<10 - 1
	// variablesMax bounds the total size of the variables that travel with a job, in bytes.
	variablesMax = 1 << 20
)

// variables collects --env flags.
type variables struct {
	list []plan.Variable
	flag string // how it is written; "": as --env
}

// String implements flag.Value.
func (v *variables) String() string {
	var all []string
	for _, x := range v.list {
		all = append(all, x.Name+"="+x.Value)
	}
	return strings.Join(all, ",")
}

// Set implements flag.Value.
func (v *variables) Set(s string) error {
	name, value, given := strings.Cut(s, "=")
	if err := checkVariable(name); err != nil {
		return err
	}
	if !given {
		if value, given = os.LookupEnv(name); !given {
			return fmt.Errorf("%s is not set here: write %s %[1]s=VALUE", name, cmp.Or(v.flag, "--env"))
		}
	}
	v.list = append(v.list, plan.Variable{Name: name, Value: value})
	return nil
}

// checkVariable refuses names that no process may have, and those of the engine.
func checkVariable(name string) error {
	switch {
	case name == "" || strings.ContainsAny(name, "=\x00"):
		return fmt.Errorf("%q is no name of a variable: write NAME or NAME=VALUE", name)
	case strings.HasPrefix(name, "HAMADRYAD_") || name == "KRB5CCNAME":
		return fmt.Errorf("%s is set by the engine in each process: it does not travel", name)
	}
	return nil
}

// environment returns the variables that travel with a job: those its definition names, and those
// of --env, which win.
func (v *variables) environment(d job.Definition) ([]plan.Variable, error) {
	var all []plan.Variable
	for _, name := range d.Env {
		if err := checkVariable(name); err != nil {
			return nil, fmt.Errorf("job %s, Definition.Env: %w", d.Name, err)
		}
		value, given := os.LookupEnv(name)
		all = append(all, plan.Variable{Name: name, Value: value, Unset: !given})
	}
	size := 0
	for _, x := range v.list {
		all = slices.DeleteFunc(all, func(other plan.Variable) bool { return other.Name == x.Name })
		all = append(all, x)
	}
	for _, x := range all {
		if len(x.Name)+len(x.Value) > variableMax {
			return nil, fmt.Errorf("environment variable %s takes %d bytes, more than %d: put it into a file", x.Name, len(x.Name)+len(x.Value), variableMax)
		}
		size += len(x.Name) + len(x.Value)
	}
	if size > variablesMax {
		return nil, fmt.Errorf("the environment variables that travel take %d bytes, more than %d: put them into files", size, variablesMax)
	}
	return all, nil
}

// set sets the variables in this process, so that the builder sees what the job's workers see.
func (v *variables) set() error {
	for _, x := range v.list {
		if err := os.Setenv(x.Name, x.Value); err != nil {
			return fmt.Errorf("%s %s: %w", cmp.Or(v.flag, "--env"), x.Name, err)
		}
	}
	return nil
}

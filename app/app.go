// Package app is the one line of an application's main: it submits the
// program's jobs, or is the worker that runs them.
//
//	func main() { app.Main(wordCount) }
//
// The program is the job: the same binary runs where a person starts it and, as a worker, wherever
// the manager places its nodes. So Main or Drive must be the first thing in main, after the
// definition of flags. A worker has the values of the flags that are defined then, with package
// flag. It has the environment variables that Definition.Env and --env name, and no others. So what
// a builder or a node needs belongs into arguments or flags.
//
// A flag that the program declares under a name of one of the engine's, such as -env, is the
// program's. The engine's begins with hamadryad- there: --hamadryad-env.
//
// A program for loops over jobs, or one that looks at its result, uses Drive:
//
//	func main() {
//		top := flag.Int("top", 0, "print the N most frequent words")
//		app.Drive(func(ctx context.Context, c *app.Client) error {
//			result, err := c.Run(ctx, "count", c.Args())
//			...
//		}, count)
//	}
//
// The program exits with the codes of client.ExitCodes, which --help lists. The first ctrl-C kills
// the job and waits until nothing of it is left. The second leaves as soon as the manager knows of
// the kill. Signals within a second count as one.
package app

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/plan/declared"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/worker"
	"github.com/hamadryad/hamadryad/sdk/job"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// Exit codes of a program that a person runs, from the table client.ExitCodes.
const (
	ExitDone        = client.ExitDone
	ExitFailed      = client.ExitFailed
	ExitUsage       = client.ExitUsage
	ExitUnreachable = client.ExitUnreachable
	ExitRefused     = client.ExitRefused
	ExitOther       = client.ExitOther
	ExitInterrupted = client.ExitInterrupted
)

// wrongUse marks a usage error: the command line or its arguments are wrong.
func wrongUse(err error) error { return &client.ExitError{Code: ExitUsage, Err: err} }

// Options say how a program runs. The zero value is that of Main.
type Options struct {
	// Drive runs jobs itself, as the function that package function Drive is given. nil: the command
	// line names the job to submit.
	Drive func(ctx context.Context, c *Client) error
	// Reuse lets a worker process run nodes of one job after those of another, of the same user and
	// program, with the same limit of memory. It saves the start of a process for each job and slot.
	// The author promises that no node depends on, or leaves behind, anything in the process: global
	// variables, goroutines, open files, the working folder. The engine puts back environment
	// variables of the submission, gives each attempt its own folder, and ends child processes.
	// Workers are not reused where they run as the submitter (isolation), for jobs with Kerberos
	// tickets or counted resources, or after a job that gave values to the program's flags.
	Reuse bool
}

// MainWith is Main with options. It never returns.
func MainWith(o Options, defs ...job.Definition) {
	start(o, defs)
}

// Main offers jobs. Started by a person, it submits the job that the command line names (or the
// only one), follows it and prints its counters and outputs. In a worker it runs the job's nodes.
// It never returns.
func Main(defs ...job.Definition) {
	start(Options{}, defs)
}

// Drive is Main for programs that run jobs themselves, with Client.Run. The function drive runs
// only where a person started the program; its context ends with the first ctrl-C. Flags that the
// program defined with package flag before this call are parsed. Workers get the values that these
// flags have when Run is called. Variables that drive sets are not set in a worker. Drive never
// returns.
func Drive(drive func(ctx context.Context, c *Client) error, defs ...job.Definition) {
	start(Options{Drive: drive}, defs)
}

func start(o Options, defs []job.Definition) {
	if os.Getenv(worker.Variable) == "1" {
		worker.Main(defs, o.Reuse)
	}
	p := program{defs: defs, drive: o.Drive, flags: flag.CommandLine, errors: os.Stderr, unkilled: &inHand{}}
	ctx, stop := interruptible(p.unkilled, p.errors)
	code := p.run(ctx, os.Args)
	stop()
	os.Exit(code)
}

// program is one run of an application by a person.
type program struct {
	defs   []job.Definition
	drive  func(context.Context, *Client) error
	flags  *flag.FlagSet
	errors io.Writer // receives all output for the person
	// unkilled are the jobs whose kill a signal handler waits for; nil: none.
	unkilled *inHand
}

// run parses the command line, does the work and returns the exit code.
func (p *program) run(ctx context.Context, args []string) int {
	for _, arg := range args[1:] {
		if err := job.CheckUTF8("the argument", arg); err != nil {
			fmt.Fprintf(p.errors, "%s: %v\n", base(args[0]), err)
			return ExitUsage
		}
	}
	own := declared.Watch(p.flags)
	o, err := addFlags(p.flags)
	if err != nil {
		fmt.Fprintf(p.errors, "%s: %v\n", base(args[0]), err)
		return ExitUsage
	}
	p.flags.Init(args[0], flag.ContinueOnError)
	p.flags.SetOutput(p.errors)
	p.flags.Usage = func() { p.help(args[0], o) }
	if err := own.Parse(o.splitHadoop(p.flags, args[1:])); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return ExitDone
		}
		return ExitUsage // package flag has printed the reason
	}
	if o.user != "" { // storage.User reads this variable
		if err := os.Setenv(storage.UserVariable, o.user); err != nil {
			fmt.Fprintf(progress.Safe(p.errors), "%s: %s %q: %v\n", base(args[0]), o.flag("user"), o.user, err)
			return ExitUsage
		}
	}
	if err = cmp.Or(o.limits.check(o.flag), o.env.set()); err != nil {
		err = wrongUse(err)
	} else {
		err = p.work(ctx, o, own)
	}
	if err != nil {
		fmt.Fprintf(progress.Safe(p.errors), "%s: %v\n", base(args[0]), err) // err may hold a task's text
	}
	return exitCode(err)
}

func (p *program) work(ctx context.Context, o *options, own *declared.Flags) error {
	args := p.flags.Args()
	if err := checkNames(p.defs); err != nil {
		return wrongUse(err)
	}
	manager, err := client.Dial(o.manager, client.Options{Kerberos: client.Kerberos(o.kerberos), Waiting: func(why string) {
		fmt.Fprintln(progress.Safe(p.errors), "waiting:", why)
	}})
	if err != nil {
		return wrongUse(err)
	}
	defer manager.Close()
	c := &Client{manager: manager, defs: p.defs, options: o, flags: own, args: args, show: p.errors, unkilled: p.unkilled}
	if p.drive != nil {
		return p.drive(ctx, c)
	}
	name, args, err := p.choose(args)
	if err != nil {
		return wrongUse(err)
	}
	_, err = c.Run(ctx, name, args)
	return err
}

// choose finds the job to run: the only one, or the one the first argument names.
func (p *program) choose(args []string) (string, []string, error) {
	if len(p.defs) == 1 {
		return p.defs[0].Name, args, nil
	}
	if len(args) == 0 {
		return "", nil, errors.New("no job is named; --help lists them")
	}
	for _, d := range p.defs {
		if d.Name == args[0] {
			return d.Name, args[1:], nil
		}
	}
	return "", nil, fmt.Errorf("this program has no job %q; --help lists them", args[0])
}

func checkNames(defs []job.Definition) error {
	if len(defs) == 0 {
		return errors.New("the program offers no job: give app.Main a definition")
	}
	seen := map[string]bool{}
	for _, d := range defs {
		if d.Name == "" || d.Build == nil {
			return fmt.Errorf("a job definition (%q) has no name or no builder", d.Name)
		}
		if seen[d.Name] {
			return fmt.Errorf("two jobs of this program are called %q", d.Name)
		}
		seen[d.Name] = true
	}
	return nil
}

// exitCode is the exit code for the error that the program's work ended with.
func exitCode(err error) int {
	var failed *JobError
	switch {
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &failed):
		return ExitFailed
	}
	return client.ExitCodeOf(err)
}

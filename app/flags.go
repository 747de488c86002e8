package app

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/wire"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

// options are the engine's flags.
type options struct {
	manager       string
	name          string
	user          string
	pool          string
	priority      int
	attempts      attemptsFlag
	noSpeculation bool
	quiet         bool
	channels      string
	kerberos      string
	properties    properties
	env           variables
	memory        memoryFlag
	names         map[string]string // actual names of the flags, by their plain names
	slots         slotsFlag
	resources     resourcesFlag
	expected      expectFlag
	limits        limitFlags
	after         afterFlag
	elements      elementsFlag
}

// ownPrefix begins the name of an engine flag when the program declares a flag of the plain name.
const ownPrefix = "hamadryad-"

// addFlags adds the engine's flags to those that a program has declared. If the program declares a
// flag of the same name, the plain name stays the program's and the engine's begins with ownPrefix.
func addFlags(program *flag.FlagSet) (*options, error) {
	own := flag.NewFlagSet("", flag.ContinueOnError)
	o := declareFlags(own)
	o.names = map[string]string{}
	var err error
	own.VisitAll(func(f *flag.Flag) {
		name := f.Name
		if program.Lookup(name) != nil {
			name = ownPrefix + name
		}
		if o.names[f.Name] = name; program.Lookup(name) != nil {
			err = errors.Join(err, fmt.Errorf("the program declares the flags -%s and -%s, and the engine needs one of them for itself: give one another name", f.Name, name))
			return
		}
		program.Var(f.Value, name, f.Usage)
	})
	o.env.flag = o.flag("env")
	return o, err
}

// flag returns an engine flag as a person writes it.
func (o *options) flag(name string) string { return "--" + cmp.Or(o.names[name], name) }

// declareFlags declares the engine's flags.
func declareFlags(fs *flag.FlagSet) *options {
	o := &options{}
	fs.StringVar(&o.manager, "manager", client.DefaultAddress(), "`HOST:PORT` of the manager; $"+client.AddressVariable+" sets it too")
	fs.StringVar(&o.name, "name", "", "`NAME` of the job for people, in lists and logs; the program's own when not given")
	fs.StringVar(&o.user, "user", "", "`NAME` that the job runs under: it is shown with the job, policies may share by it, and files get it as their owner where no certificate or ticket proves a user; from "+storage.UserVariable+", or the system's user, when not given")
	fs.StringVar(&o.pool, "pool", "", "`POOL` (or queue) of the scheduling policy that the job belongs to")
	fs.IntVar(&o.priority, "priority", 0, "the job's priority; larger runs earlier")
	fs.Var(&o.attempts, "attempts", "`[STAGE=]N` how often a part of the job may be tried, such as 2 or map=2, whatever the program says; 0 is the site's default. May be repeated")
	fs.Var(&o.after, "after", "`JOB[:ok|any]` that has to end before this job starts, such as job-12. With ok, which is the default, it has to succeed, or this job fails; with any, each end of it suffices. The job is accepted at once, and its inputs have to exist then. May be repeated")
	fs.Var(&o.elements, "array", "`INDICES` of a job array, whose parts the program runs as elements of one job, each with its index: 0-99, each fifth of them (0-99:5), or a list (1,3,7-9); 0-99%10 runs at most 10 at once. A program that makes no array of them refuses")
	o.limits.declare(fs)
	fs.BoolVar(&o.noSpeculation, "no-speculation", false, "never run a second attempt of a slow part beside the first")
	fs.BoolVar(&o.quiet, "quiet", false, "print nothing but errors")
	fs.StringVar(&o.channels, "channels", os.Getenv(channelsVariable), "`FOLDER` (URL) that keeps what stages store for one another, such as hdfs:///tmp/channels; the launchers' disks when not given; from "+channelsVariable)
	fs.StringVar(&o.kerberos, "kerberos", "", "`auto`, on or off: whether the job carries your Kerberos ticket (kinit -r), so that its work comes to HDFS as you while the manager renews it; auto, which is the default, is on where the manager takes tickets of your realm; $"+client.KerberosVariable+" sets it too")
	fs.Var(&o.memory, "memory", "`[STAGE=]SIZE` that each task may use, such as 1GiB or map=2GiB, whatever the program says; one that holds more is ended. May be repeated")
	fs.Var(&o.slots, "slots", "`STAGE=KIND` of slots that the stage's tasks take, such as map=fast, whatever the program says. May be repeated")
	fs.Var(&o.resources, "resources", "`[STAGE=]KIND:COUNT` of countable resources that each task takes, such as gpu:1 or map=gpu:2,license-x:1, whatever the program says. May be repeated")
	fs.Var(&o.expected, "expect", "`STAGE=DURATION` that each task of the stage is expected to run, such as map=25s, whatever the program says; policies may plan by it, and nothing fails when it is wrong. May be repeated")
	fs.Var(&o.env, "env", "`NAME[=VALUE]` of an environment variable for the program, here and in all its workers; those of this process when no value is given. May be repeated. It is kept with the job: no place for secrets")
	fs.Func(hadoopName, hadoopHelp, o.setHadoop)
	fs.Var(&o.properties, "property", "`NAME=VALUE` for the scheduling policy; may be repeated")
	return o
}

// channelsVariable names the folder of file channels for all programs of a site.
const channelsVariable = "HAMADRYAD_CHANNELS"

// channelFolder returns the folder of file channels, in a form that means the same in every
// process. The folder must exist: a typing error in its name shows before any work.
func (o *options) channelFolder(ctx context.Context) (string, error) {
	if o.channels == "" {
		return "", nil
	}
	folder, err := storage.Absolute(o.channels)
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", o.flag("channels"), o.channels, err)
	}
	store, err := storage.For(folder)
	if err != nil {
		return "", fmt.Errorf("%s: %w", o.flag("channels"), err)
	}
	info, err := store.Stat(ctx, folder)
	if err == nil && !info.Folder {
		err = errors.New("it is no folder")
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: make that folder first, where all launchers' machines reach it", o.flag("channels"), folder, err)
	}
	return folder, nil
}

// properties collects NAME=VALUE flags.
type properties []*wire.Property

// String implements flag.Value.
func (p *properties) String() string {
	var all []string
	for _, x := range *p {
		all = append(all, x.Name+"="+x.Value)
	}
	return strings.Join(all, ",")
}

// Set implements flag.Value.
func (p *properties) Set(s string) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return fmt.Errorf("write it as NAME=VALUE")
	}
	*p = append(*p, &wire.Property{Name: name, Value: value})
	return nil
}

// merge adds the flags' properties to those of the graph, in order of name; a
// flag wins over the program.
func (p properties) merge(program map[string]string) ([]*wire.Property, error) {
	var all []*wire.Property
	byName := map[string]bool{}
	for _, x := range p {
		if byName[x.Name] {
			return nil, fmt.Errorf("property %q is given twice", x.Name)
		}
		byName[x.Name] = true
		all = append(all, x)
	}
	for name, value := range program {
		if !byName[name] {
			all = append(all, &wire.Property{Name: name, Value: value})
		}
	}
	slices.SortFunc(all, func(a, b *wire.Property) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

func base(path string) string { return filepath.Base(path) }

// help explains the program to a person.
func (p *program) help(path string, o *options) {
	name := base(path)
	job := "JOB "
	if len(p.defs) == 1 || p.drive != nil {
		job = ""
	}
	fmt.Fprintf(p.errors, "Usage: %s [flags] %sARGS...\n\nJobs:\n", name, job)
	for _, d := range p.defs {
		fmt.Fprintf(p.errors, "  %-14s %s\n", d.Name, d.Help)
	}
	fmt.Fprintf(p.errors, "\nFlags, before all other arguments:\n")
	p.flags.PrintDefaults()
	if taken := o.taken(); len(taken) > 0 {
		fmt.Fprintf(p.errors, "\nThe flags %s are the program's own. Those of the engine with these names begin with -%s.\n", strings.Join(taken, ", "), ownPrefix)
	}
	fmt.Fprintf(p.errors, `
On this machine alone, with a cluster of its own that ends with the job:
  hamadryad local -- %[1]s %[2]sARGS...
On a cluster that runs:
  %[1]s %[3]s manager.example:7070 %[4]s research %[2]sARGS...
  hamadryad jobs; hamadryad status JOB; hamadryad logs JOB
Ctrl-C kills the job; a second one leaves without waiting for its end.

Exit codes:
%[5]s`, path, job, o.flag("manager"), o.flag("pool"), client.ExitHelp())
}

// taken lists the names of the engine's flags that the program has taken.
func (o *options) taken() (list []string) {
	for name, is := range o.names {
		if name != is {
			list = append(list, "-"+name)
		}
	}
	slices.Sort(list)
	return list
}

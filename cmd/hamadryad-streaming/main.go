// Command hamadryad-streaming runs MapReduce jobs whose mapper and reducer are
// commands, with the command line of Hadoop streaming.
//
//	hamadryad local -- hamadryad-streaming -input books -output counts -mapper ./map.py -reducer ./reduce.py -files map.py,reduce.py
package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/app"
	"github.com/hamadryad/hamadryad/engine/worker"
	_ "github.com/hamadryad/hamadryad/hdfs" // hdfs:// paths
	"github.com/hamadryad/hamadryad/internal/hadoopsite"
	"github.com/hamadryad/hamadryad/mapreduce/streaming"
	"github.com/hamadryad/hamadryad/sdk/storage"
)

func main() {
	if os.Getenv(worker.Variable) == "" {
		prepare()
	}
	app.MainWith(app.Options{Reuse: true}, streaming.Definition())
}

// prepare converts the command line to one of package app: the engine's flags, then the job's
// arguments.
func prepare() {
	var flags []string
	args := os.Args[1:]
	if i := slices.Index(args, "--"); i >= 0 && (i == 0 || strings.HasPrefix(args[0], "--")) {
		flags, args = args[:i], args[i+1:]
	}
	args = append(hadoopDefaults(), args...)
	j, err := streaming.Parse(args)
	if errors.Is(err, streaming.ErrHelp) {
		fmt.Print(streaming.Help())
		os.Exit(app.ExitDone)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hamadryad-streaming:", err)
		os.Exit(app.ExitUsage)
	}
	for _, note := range j.Notes() {
		fmt.Fprintln(os.Stderr, "hamadryad-streaming:", note)
	}
	if j.Verbose() {
		fmt.Fprint(os.Stderr, j)
	}
	os.Args = slices.Concat(os.Args[:1], j.EngineFlags(), flags, []string{"--"}, args)
}

// hadoopDefaults are the settings that Hadoop's streaming would find in its configuration: the file
// system of paths without a scheme, and the user. They come first, so that the command line wins.
func hadoopDefaults() []string {
	folder := hadoopsite.Folder(os.Getenv)
	if folder == "" {
		return nil
	}
	conf, err := hadoopsite.Load(folder)
	if err != nil {
		fmt.Fprintln(os.Stderr, "hamadryad-streaming: Hadoop's configuration is left out:", err)
		return nil
	}
	root := cmp.Or(conf.Get("fs.defaultFS"), conf.Get("fs.default.name"))
	if !strings.HasPrefix(root, "hdfs://") {
		return nil
	}
	settings := []string{"-D", "fs.defaultFS=" + root}
	if name, err := storage.User(); err == nil {
		settings = append(settings, "-D", "mapreduce.job.user.name="+name)
	}
	return settings
}

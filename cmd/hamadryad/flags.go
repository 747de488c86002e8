package main

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/site"
	"github.com/hamadryad/hamadryad/internal/asynclog"
)

// configured is a command that reads the configuration. Flags set keys.
type configured struct {
	file string
	keys map[string]string // by flag
}

// configFlag names the file; its default is HAMADRYAD_CONFIG.
func (f *configured) configFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "config", os.Getenv("HAMADRYAD_CONFIG"), "configuration file; $HAMADRYAD_CONFIG sets it too")
}

// flag adds a flag that sets a key.
func (f *configured) flag(cmd *cobra.Command, name, key, usage string) {
	if f.keys == nil {
		f.keys = map[string]string{}
	}
	f.keys[name] = key
	if cmd.Flags().Lookup(name) == nil {
		cmd.Flags().String(name, "", usage+" ("+key+")")
	}
}

// Global flags for a process's credentials.
const (
	certificateFlag = "certificate"
	keyFlag         = "key"
	caFlag          = "ca"
)

// authFlags adds the flags of the section auth. Those for files are the root's.
func (f *configured) authFlags(cmd *cobra.Command) {
	f.flag(cmd, "auth", "auth.mode", "tls: all prove who they are by certificates; off: nobody does, on loopback alone")
	f.flag(cmd, "cluster", "auth.cluster", "name of the cluster that certificates must be of")
	f.keys[certificateFlag], f.keys[keyFlag], f.keys[caFlag] = "auth.certificate", "auth.key", "auth.ca"
}

// sources are the sources of the configuration, flags included.
func (f *configured) sources(cmd *cobra.Command) config.Sources {
	s := config.Sources{File: f.file, Environ: os.Environ(), Flags: map[string]string{}, CoreKeys: site.CoreKeys()}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if key, ok := f.keys[flag.Name]; ok {
			s.Flags[key] = flag.Value.String()
		}
	})
	return s
}

// standardError receives the log of managers and launchers. stderr may be a full pipe or a disk
// that does not respond: heartbeats must not wait for it.
var standardError = asynclog.New(os.Stderr)

// outliveLogReader keeps this process alive when the reader of its log ends, such as a restarted
// log program. Go ends a process whose stdout or stderr has no reader, unless it handles the
// signal. An ignored signal would be inherited by workers; a handled one is not.
func outliveLogReader() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// logger writes as the section log says, to stderr, and never waits for it. From then on the
// process outlives the reader of its log.
func logger(l config.Log) *slog.Logger {
	outliveLogReader()
	var level slog.Level
	_ = level.UnmarshalText([]byte(l.Level)) // the name was validated
	o := &slog.HandlerOptions{Level: level}
	if l.Format == "json" {
		o.ReplaceAttr = asText
		return slog.New(slog.NewJSONHandler(standardError, o))
	}
	return slog.New(slog.NewTextHandler(standardError, o))
}

// asText makes each field of a log in JSON a text. So a field has one type everywhere: log stores
// with typed fields refuse a line whose "error" or "job" has another type.
func asText(groups []string, a slog.Attr) slog.Attr {
	switch v := a.Value.Resolve(); {
	case v.Kind() == slog.KindString, v.Kind() == slog.KindGroup, a.Key == slog.TimeKey && len(groups) == 0:
	case v.Kind() == slog.KindTime:
		a.Value = slog.StringValue(v.Time().UTC().Format(time.RFC3339Nano))
	default:
		a.Value = slog.StringValue(v.String())
	}
	return a
}

var errNoConfig = client.Misuse("no configuration file is named: give --config FILE or set HAMADRYAD_CONFIG")

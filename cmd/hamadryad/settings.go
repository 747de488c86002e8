package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/supervision"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// managedCore are settings of the core that have another place in the
// configuration, or none.
var managedCore = []string{"tokenSeed", "simulated", "heartbeat", "seed", "kinds"}

// coreKeys are the names that may stand in the section core.
func coreKeys() []string {
	return slices.DeleteFunc(config.CoreKeys(core.Settings{}), func(k string) bool { return slices.Contains(managedCore, k) })
}

// configured is a command that reads the configuration. Flags stand for keys.
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

// sources are what the configuration is made from, flags included.
func (f *configured) sources(cmd *cobra.Command) config.Sources {
	s := config.Sources{File: f.file, Environ: os.Environ(), Flags: map[string]string{}, CoreKeys: coreKeys()}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if key, ok := f.keys[flag.Name]; ok {
			s.Flags[key] = flag.Value.String()
		}
	})
	return s
}

// site is a configuration in the forms that the engine takes.
type site struct {
	*config.Config
	core   core.Settings
	policy supervision.Policy
	shown  supervision.Shown
}

// loadSite makes one. Everything is checked that can be without starting anything.
func loadSite(s config.Sources) (*site, error) {
	c, err := config.Load(s)
	if err != nil {
		return nil, err
	}
	out := &site{Config: c, core: core.DefaultSettings()}
	if err := c.DecodeCore(&out.core); err != nil {
		return nil, err
	}
	out.core.Kinds, out.core.Seed = c.Manager.SlotKinds, c.Manager.Seed
	out.core.PolicyLimits.RoundDeadline = c.Policy.RoundDeadline
	if err := out.core.Check(); err != nil {
		return nil, fmt.Errorf("%s: section core: %w", orDefaults(c.File), err)
	}
	if out.policy, err = policyOf(c); err != nil && s.Texts == nil {
		return nil, err
	}
	out.shown = shownOf(c, out.core)
	out.policy.Shown = out.shown
	if out.policy.Source, err = sourceOf(c); err != nil {
		return nil, err
	}
	return out, nil
}

func shownOf(c *config.Config, settings core.Settings) supervision.Shown {
	var list supervision.Shown
	for _, s := range c.Settings(settings, coreKeys()) {
		list = append(list, &wire.Setting{Key: s.Key, Value: s.Value, From: s.From})
	}
	return list
}

func orDefaults(file string) string {
	if file == "" {
		return "defaults"
	}
	return file
}

// policyOf finds the plug-in that the configuration names.
func policyOf(c *config.Config) (supervision.Policy, error) {
	p := c.Policy
	path, err := findPolicy(p)
	return supervision.Policy{
		Name: p.Name, Path: path, Checksum: p.Checksum, Config: p.Config, StartTimeout: p.StartTimeout,
		FailuresMax: p.FailuresMax, FailuresWindow: p.FailuresWindow, SlowRound: p.SlowRound, Memory: int64(p.Memory), Store: p.Store, Trace: p.Trace,
	}, err
}

// findPolicy returns the path of a plug-in: the one that is named, or the program
// for the policy's name in policy.folder, or beside this program. When nothing is
// there it returns the path with the error.
func findPolicy(p config.Policy) (string, error) {
	if p.Path != "" {
		if _, err := os.Stat(p.Path); err != nil {
			return p.Path, fmt.Errorf("policy.path: %w", err)
		}
		return p.Path, nil
	}
	folder := p.Folder
	if folder == "" {
		self, err := os.Executable()
		if err != nil {
			return "", err
		}
		folder = filepath.Dir(self)
	}
	path := filepath.Join(folder, config.PolicyPrefix+p.Name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, fmt.Errorf("there is no policy %q: %s is not there; %s", p.Name, path, policiesIn(folder))
}

// policiesIn says which policies a folder has.
func policiesIn(folder string) string {
	found, _ := filepath.Glob(filepath.Join(folder, config.PolicyPrefix+"*"))
	var names []string
	for _, path := range found {
		names = append(names, strings.TrimPrefix(filepath.Base(path), config.PolicyPrefix))
	}
	if len(names) == 0 {
		return "that folder has no policies: build them (make build), or set policy.folder or policy.path"
	}
	return "that folder has " + strings.Join(names, ", ")
}

// logger writes as the section log says, to stderr, and never waits for it.
func logger(l config.Log) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l.Level)) // the name was validated
	o := &slog.HandlerOptions{Level: level}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(standardError, o))
	}
	return slog.New(slog.NewTextHandler(standardError, o))
}

var errNoConfig = errors.New("no configuration file is named: give --config FILE or set HAMADRYAD_CONFIG")

// Package site turns a configuration into the settings with which manager and launcher start.
//
// # Invariants
//
// A configuration with mistakes is refused as a whole. A manager or launcher that ran before starts
// with the one that it accepted then, and reports the mistakes. The first start of a data folder
// refuses them.
//
// A manager starts with configuration.accepted (package policyhost). A launcher reads its file
// once, and keeps the configuration it joined with in its data folder. When it restarts while the
// file has mistakes, it continues with that, because its machine would be missing otherwise. Its
// log and hamadryad_launcher_config_wrong say so.
package site

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hamadryad/hamadryad/engine/auth/access"
	"github.com/hamadryad/hamadryad/engine/auth/join"
	"github.com/hamadryad/hamadryad/engine/auth/oidc"
	"github.com/hamadryad/hamadryad/engine/config"
	"github.com/hamadryad/hamadryad/engine/core"
	"github.com/hamadryad/hamadryad/engine/manager/policyhost"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// managedCore are settings of the core that have another place in the
// configuration, or none.
var managedCore = []string{"identity", "tokenSeed", "simulated", "heartbeat", "seed", "kinds", "access", "version"}

// CoreKeys are the allowed names in the section core.
func CoreKeys() []string {
	return slices.DeleteFunc(config.CoreKeys(core.Settings{}), func(k string) bool { return slices.Contains(managedCore, k) })
}

// Site is a configuration in the forms that the engine takes.
type Site struct {
	*config.Config
	CoreSettings core.Settings
	Plugin       policyhost.Policy
	Shown        policyhost.Shown
	OIDC         oidc.Settings
	Rules        *access.Rules // as written; those of CoreSettings are nil where auth.mode is off
}

// Load makes a Site. It checks everything that can be checked without starting anything.
func Load(s config.Sources) (*Site, error) {
	c, err := config.Load(s)
	if err != nil {
		return nil, err
	}
	out := &Site{Config: c, CoreSettings: core.DefaultSettings()}
	if err := c.DecodeCore(&out.CoreSettings); err != nil {
		return nil, err
	}
	out.CoreSettings.Kinds, out.CoreSettings.Seed = c.Manager.SlotKinds, c.Manager.Seed
	out.CoreSettings.PolicyLimits.RoundDeadline = c.Policy.RoundDeadline
	// Mistakes count in any case: an author of lists wants to see them before turning the lists on.
	if out.Rules, err = access.Parse(c.Access); err != nil {
		return nil, err
	}
	if c.Auth.Mode != config.AuthOff {
		out.CoreSettings.Access = out.Rules
	}
	if out.OIDC, err = oidcOf(c, s.Texts != nil); err != nil {
		return nil, err
	}
	if err := out.CoreSettings.Check(); err != nil {
		return nil, ofCore(c, err)
	}
	if out.Plugin, err = policyOf(c); err != nil && s.Texts == nil {
		return nil, err
	}
	out.Shown = shownOf(c, out.CoreSettings)
	out.Plugin.Shown = out.Shown
	if out.Plugin.Source, err = sourceOf(c); err != nil {
		return nil, err
	}
	return out, nil
}

// hidden replaces a value that is itself a secret.
const hidden = "(a token, which is not shown)"

func shownOf(c *config.Config, settings core.Settings) policyhost.Shown {
	var list policyhost.Shown
	for _, s := range c.Settings(settings, CoreKeys()) {
		if s.Key == "auth.token" && strings.HasPrefix(s.Value, join.Prefix) {
			s.Value = hidden
		}
		list = append(list, &wire.Setting{Key: s.Key, Value: s.Value, From: s.From, Over: s.Over})
	}
	return list
}

// ofCore gives mistakes in settings of the core their places.
func ofCore(c *config.Config, err error) error {
	var wrong config.Errors
	for line := range strings.SplitSeq(err.Error(), "\n") {
		name, _, _ := strings.Cut(line, " ")
		name, _, _ = strings.Cut(name, ".")
		wrong = append(wrong, fmt.Sprintf("%s: core.%s", c.Place("core."+name), line))
	}
	return wrong
}

// policyOf finds the plug-in that the configuration names.
func policyOf(c *config.Config) (policyhost.Policy, error) {
	p := c.Policy
	path, err := FindPolicy(p)
	place := c.Place("policy.name")
	if p.Path != "" {
		place = c.Place("policy.path")
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", place, err)
	}
	shadows, wrong := shadowsOf(c)
	return policyhost.Policy{
		Shadows: shadows, ShadowInterval: c.Policy.ShadowInterval, Place: place, Name: p.Name, Path: path, Checksum: p.Checksum, Environment: p.Environment, Config: p.Config, StartTimeout: p.StartTimeout,
		FailuresMax: p.FailuresMax, FailuresWindow: p.FailuresWindow, SlowRound: p.SlowRound, Memory: int64(p.Memory), Store: p.Store, Trace: p.Trace, Transport: p.Transport,
	}, errors.Join(err, wrong)
}

// shadowsOf finds the plug-ins of the policies that decide without effect.
func shadowsOf(c *config.Config) (list []policyhost.Policy, err error) {
	place := c.Place("policy.shadow")
	for _, name := range c.Policy.Shadow {
		path, missing := FindPolicy(config.Policy{Name: name, Folder: c.Policy.Folder})
		if missing != nil {
			err = errors.Join(err, fmt.Errorf("%s: policy.shadow: %w", place, missing))
		}
		list = append(list, policyhost.Policy{
			Place: place, Name: name, Path: path, Environment: c.Policy.Environment, Config: c.Policy.ShadowConfigs[name],
			StartTimeout: c.Policy.StartTimeout, Memory: int64(c.Policy.Memory), Transport: c.Policy.Transport,
		})
	}
	return list, err
}

// FindPolicy returns the path of a plug-in: the named path, or the program for the policy's name in
// policy.folder, or beside this program. If there is no file it returns the path with the error.
func FindPolicy(p config.Policy) (string, error) {
	if p.Path != "" {
		if _, err := os.Stat(p.Path); err != nil {
			return p.Path, fmt.Errorf("policy.path: the plug-in can't be looked at (%w): name a program that is there", err)
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

// policiesIn lists the policies of a folder.
func policiesIn(folder string) string {
	found, _ := filepath.Glob(filepath.Join(folder, config.PolicyPrefix+"*"))
	var names []string
	for _, path := range found {
		names = append(names, config.PolicyName(path))
	}
	if len(names) == 0 {
		return "that folder has no policies: build them (make build), or set policy.folder or policy.path"
	}
	return "that folder has " + strings.Join(names, ", ")
}

package allocation

import (
	"fmt"
	"strings"

	"github.com/hamadryad/hamadryad/sdk/scheduler"
	"github.com/hamadryad/hamadryad/sdk/scheduler/settings"
)

// Placement rules, in the order in which a site may list them. The first rule that yields a pool
// decides.
const (
	ruleExplicit = "explicit" // the requested pool, or the one it was moved to
	ruleProperty = "property" // the job property named in the settings
	ruleUser     = "user"     // the user's name
	ruleGroup    = "group"    // the group property
	ruleDefault  = "default"  // the pool "default"
)

var ruleNames = []string{ruleExplicit, ruleProperty, ruleUser, ruleGroup, ruleDefault}

// Names under which a job's user can be referred to like a property.
var userProperties = []string{"user.name", "mapreduce.job.user.name"}

// Place is where a job belongs.
type Place struct {
	Pool *Pool
	// Refused says that the chosen pool is not declared and may not be created. Pool is where
	// the job goes if it is admitted nevertheless.
	Refused string
}

// Place applies the rules to a job. With strict, an undeclared pool counts only where the
// settings let such pools be created. It depends only on its arguments and the settings.
func (o *Config) Place(j *scheduler.Job, strict bool) Place {
	strict = strict && o.Undeclared != UndeclaredCreate
	refused := ""
	for _, rule := range o.rules {
		path := strings.Trim(o.rulePool(rule, j), "/")
		if path == "" || !goodPath(path) {
			if strict && refused == "" && writtenBySubmitter(rule) {
				refused = path // of a name that no pool can have; "": the job names none
			}
			continue
		}
		path = o.Table.leaf(path)
		if strict && !o.declares(path) && !o.isOwn(rule, path, j) {
			if refused == "" {
				refused = path
			}
			continue
		}
		return Place{o.Table.spec(path), refused}
	}
	path := o.Table.leaf(defaultPool)
	if strict && refused == "" && !o.declares(path) && !o.isOwn(ruleDefault, path, j) {
		refused = path
	}
	return Place{o.Table.spec(path), refused}
}

// writtenBySubmitter says whether a rule's pool is a name that a person wrote for the job.
func writtenBySubmitter(rule string) bool { return rule == ruleExplicit || rule == ruleProperty }

// Bounds of a refusal's text.
const (
	spelledMax = 1000 // pools whose names are compared with the refused one
	namedMax   = 8    // pools that are named
)

// Refusal says why no job may enter a pool, and what to do about it.
func (o *Config) Refusal(path string) string {
	open := o.Table.Open()
	hint := settings.Hint(path, open[:min(len(open), spelledMax)])
	names := "no pool is declared"
	if n := min(len(open), namedMax); n > 0 {
		names = "declared are " + strings.Join(open[:n], ", ")
		if len(open) > n {
			names += fmt.Sprintf(" and %d more", len(open)-n)
		}
	}
	return fmt.Sprintf("pool %q is not declared%s (%s): consider adding the pool to the allocation file, or to allocations.pools; "+
		"placement.undeclared: create would have each such job make its pool", path, hint, names)
}

// isOwn says whether an undeclared pool is no spelling mistake. A rule of the site chose it, or
// it is the default pool or the user's.
func (o *Config) isOwn(rule, path string, j *scheduler.Job) bool {
	if o.Undeclared != UndeclaredOwn {
		return false
	}
	return !writtenBySubmitter(rule) || path == defaultPool || path[strings.LastIndexByte(path, '/')+1:] == j.User
}

// Elsewhere says whether a job may enter another pool than the one it names, because another
// rule comes first.
func (o *Config) Elsewhere() bool { return o.rules[0] != ruleExplicit }

// declares says whether a pool is declared, or an alias of a declared pool.
func (o *Config) declares(path string) bool {
	if p := o.Table.pools[path]; p != nil {
		return p.declared
	}
	above, isDefault := strings.CutSuffix(path, "/"+defaultPool)
	return isDefault && o.declares(above)
}

func (o *Config) rulePool(rule string, j *scheduler.Job) string {
	switch rule {
	case ruleExplicit:
		return j.Pool
	case ruleProperty:
		return o.lookup(o.property, j)
	case ruleUser:
		return j.User
	case ruleGroup:
		return o.lookup(o.groupProperty, j)
	}
	return defaultPool
}

// referencesMax bounds the chain of references between properties' defaults; parse refuses
// cycles.
const referencesMax = 32

// lookup finds a property of a job, or its default, which may be a reference to another
// property: ${name}.
func (o *Config) lookup(name string, j *scheduler.Job) string {
	for range referencesMax {
		for _, p := range j.Properties {
			if p.Name == name && p.Value != "" {
				return p.Value
			}
		}
		for _, u := range userProperties {
			if name == u {
				return j.User
			}
		}
		value := o.propertyDefaults[name]
		next, ok := strings.CutPrefix(value, "${")
		if !ok {
			return value
		}
		name = strings.TrimSuffix(next, "}")
	}
	return ""
}

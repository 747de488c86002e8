package show

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hamadryad/hamadryad/engine/manager/restapi"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// Settings lists settings; with all, the defaults too.
func (c *Printer) Settings(r *wire.SettingsReply, all bool) error {
	if !all && !c.structured() {
		r.Settings = slices.DeleteFunc(r.Settings, func(s *wire.Setting) bool { return s.From == "default" && s.NextFrom == "" })
	}
	if c.structured() {
		return c.value(restapi.SettingsOf(r))
	}
	if r.Problem != "" && c.Format != Name {
		fmt.Fprintf(c.Out, "%s is not in force as it is now; it was looked at %s ago: %s\n", r.File, span(time.Since(time.Unix(0, r.ProblemAt))), indented(r.Problem))
	}
	t := c.table("KEY", "VALUE", "FROM", "AFTER A RESTART")
	for _, s := range r.Settings {
		next := ""
		if s.NextFrom != "" {
			next = fmt.Sprintf("%s (%s)", oneLine(s.Next), s.NextFrom)
		}
		from := s.From
		if s.Over != "" {
			from += ", over " + s.Over
		}
		t.row(s.Key, orDash(oneLine(s.Value)), from, next)
	}
	return t.end()
}

// Later names the settings with another value after a restart of the manager.
func (c *Printer) Later(all []*wire.Setting) {
	var keys []string
	for _, s := range all {
		if s.NextFrom != "" {
			keys = append(keys, fmt.Sprintf("%s (now %s, then %s)", s.Key, orDash(oneLine(s.Value)), orDash(oneLine(s.Next))))
		}
	}
	if len(keys) > 0 {
		fmt.Fprintln(c.Out, "counts when the manager is started again:", strings.Join(keys, ", "))
	}
}

// Overridden names the file's settings that something else overrides.
func (c *Printer) Overridden(all []*wire.Setting) {
	for _, s := range all {
		if s.Over != "" {
			fmt.Fprintf(c.Out, "%s: %s counts for nothing here: it is %s by %s, which goes before the file\n", s.Over, s.Key, orDash(oneLine(s.Value)), setter(s.From))
		}
	}
}

// setter is the override's source.
func setter(from string) string {
	if from == "flag" {
		return "a flag"
	}
	return from
}

// oneLine makes a value of several lines one cell.
func oneLine(value string) string { return printable(strings.ReplaceAll(value, "\n", " | ")) }

// SettingsDiff prints a text's mistakes, or its changes.
func (c *Printer) SettingsDiff(d *wire.SettingsDiff) error {
	if c.structured() {
		return c.value(restapi.SettingsDiffOf(d))
	}
	for _, p := range d.Problems {
		place := ""
		if p.File != "" {
			place = fmt.Sprintf("%s:%d: ", p.File, p.Line)
		}
		fmt.Fprintln(c.Out, place+p.Text)
	}
	switch {
	case len(d.Problems) > 0 && len(d.Lines) == 0:
		return nil
	case len(d.Problems) > 0: // only the policy's: the changes are known all the same
		fmt.Fprintln(c.Out)
	case len(d.Lines) == 0:
		fmt.Fprintln(c.Out, "the file has this text already")
		return nil
	}
	signs, last := map[string]string{"same": " ", "removed": "-", "added": "+"}, int64(0)
	for _, l := range d.Lines {
		if l.Old != 0 {
			if l.Old > last+1 {
				fmt.Fprintf(c.Out, "@@ line %d\n", l.Old)
			}
			last = l.Old
		}
		fmt.Fprintln(c.Out, signs[l.Kind]+printable(l.Text))
	}
	if d.Truncated {
		fmt.Fprintln(c.Out, "... and more")
	}
	if len(d.Keys) == 0 {
		fmt.Fprintln(c.Out, "\nno value changes")
		c.Overridden(d.Overridden)
		return nil
	}
	fmt.Fprintln(c.Out)
	t := c.table("KEY", "NOW", "THEN", "FROM", "WHEN")
	for _, k := range d.Keys {
		when := "at once"
		if k.Restart {
			when = "after a restart"
		}
		t.row(k.Key, orDash(oneLine(k.Before)), orDash(oneLine(k.After)), orDash(k.From), when)
	}
	if err := t.end(); err != nil {
		return err
	}
	c.Overridden(d.Overridden)
	return nil
}

// versionOf is a version for programs, with its text where that was requested.
func versionOf(v *wire.SettingsVersion) restapi.SettingsVersion {
	x := restapi.SettingsVersionOf(v)
	if v.Text != nil {
		text := string(v.Text)
		x.Text = &text
	}
	return x
}

// SettingsVersions lists versions of the configuration.
func (c *Printer) SettingsVersions(r *wire.VersionsReply) error {
	if c.structured() {
		return c.value(eachOf(r.Versions, versionOf))
	}
	t := c.table("VERSION", "TIME", "WHO", "HOW", "SHA-256", "COMMENT")
	for _, v := range r.Versions {
		who := v.Who
		if v.By != "" {
			who += " (by " + v.By + ")"
		}
		t.row(fmt.Sprint(v.Number), instant(v.At), orDash(printable(who)), v.Origin, v.Tag[:min(len(v.Tag), 12)], orDash(oneLine(v.Comment)))
	}
	return t.end()
}

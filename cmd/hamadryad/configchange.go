package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/show"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/progress"
	"github.com/hamadryad/hamadryad/engine/wire"
)

// errMistakes ends a command whose text has mistakes, which were printed.
var errMistakes = &client.ExitError{Code: client.ExitRefused, Err: errors.New("the configuration has mistakes: nothing changed")}

func (c *cli) configDiffCommand() *cobra.Command {
	return c.outputFlags(&cobra.Command{
		Use: "diff FILE|VERSION", Short: "Show what a text would change of the manager's configuration", Args: cobra.ExactArgs(1),
		Long: `Asks the manager what it would change to apply FILE, or a version that
"hamadryad config versions" lists. It prints the lines of the configuration
file, and the keys whose value changes, with what the environment says.
Nothing changes. Mistakes are named as "hamadryad config apply" would name
them, those that the policy finds in its settings included. The exit code is 0
where nothing differs, 1 where something does, and 5 where there are mistakes.`,
		Example: "  hamadryad config diff new.yaml\n  hamadryad config diff 3",
		RunE: func(cmd *cobra.Command, args []string) error {
			text, version, err := textOrVersion(args[0])
			if err != nil {
				return err
			}
			return c.withClient(func(cl *client.Client) error {
				d, err := cl.DiffSettings(cmd.Context(), text, version)
				if err != nil {
					return err
				}
				for _, p := range d.Problems {
					if p.File != "" && text != nil {
						p.File = args[0] // the manager uses its own file's name
					}
				}
				if err := c.show.SettingsDiff(d); err != nil {
					return err
				}
				switch {
				case len(d.Problems) > 0:
					return errMistakes
				case len(d.Lines) > 0:
					return &client.ExitError{Code: client.ExitFailed} // the differences were shown
				}
				return nil
			})
		},
	}, show.ThingFormats)
}

// textOrVersion is the argument's text or version: a number is a version, unless there is such a
// file.
func textOrVersion(arg string) (text []byte, version uint64, err error) {
	if text, err = os.ReadFile(arg); err == nil {
		return text, 0, nil
	}
	if version, bad := strconv.ParseUint(arg, 10, 64); bad == nil && version > 0 {
		return nil, version, nil
	}
	return nil, 0, err
}

func versionArg(arg string) (uint64, error) {
	version, err := strconv.ParseUint(arg, 10, 64)
	if err != nil || version == 0 {
		return 0, client.Misuse("%q is no version: give a number that \"hamadryad config versions\" lists", arg)
	}
	return version, nil
}

func (c *cli) configApplyCommand() *cobra.Command {
	var comment string
	cmd := &cobra.Command{
		Use: "apply FILE", Short: "Put a text into the manager's configuration file, and in force", Args: cobra.ExactArgs(1),
		Long: `Sends FILE to the manager, which checks it and lets the policy judge its
settings. The manager then puts it in the place of its own configuration file
and takes it over, while jobs run. If anything is wrong, or somebody else
changes the file meanwhile, nothing changes. The text before is kept as a
version. It takes the role administrator.

Some keys, such as manager.listen and auth.kerberos, count when the manager is
started again. They are named until then, as by "hamadryad config
show". So are keys that FILE sets in vain, because the manager's environment
or a flag sets them.`,
		Example: "  hamadryad config diff new.yaml; hamadryad config apply new.yaml --comment \"more for research\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			return c.applyConfig(cmd.Context(), args[0], text, 0, comment)
		},
	}
	commentFlag(cmd, &comment)
	return cmd
}

func commentFlag(cmd *cobra.Command, comment *string) {
	cmd.Flags().StringVarP(comment, "comment", "m", "", "`WHY` it is changed; it is kept with the version")
}

func (c *cli) configRollBackCommand() *cobra.Command {
	var comment string
	cmd := &cobra.Command{
		Use: "rollback VERSION", Short: "Apply an earlier text of the manager's configuration file again", Args: cobra.ExactArgs(1),
		Long: `Has the manager apply the text of a version again, as "hamadryad config apply"
would. It is checked like any other, and becomes a version of its own.
"hamadryad config diff VERSION" shows what that would change.`,
		Example: "  hamadryad config versions\n  hamadryad config rollback 3",
		RunE: func(cmd *cobra.Command, args []string) error {
			version, err := versionArg(args[0])
			if err != nil {
				return err
			}
			return c.applyConfig(cmd.Context(), "version "+args[0], nil, version, comment)
		},
	}
	commentFlag(cmd, &comment)
	return cmd
}

// applyConfig replaces the file's content by a text or a version. Mistakes in the text are reported
// under the given name.
func (c *cli) applyConfig(ctx context.Context, name string, text []byte, version uint64, comment string) error {
	return c.withClient(func(cl *client.Client) error {
		now, err := cl.Settings(ctx)
		if err != nil {
			return err
		}
		v, err := cl.ApplySettings(ctx, text, version, now.Tag, comment)
		if err != nil {
			return inFile(err, now.File, name)
		}
		fmt.Fprintf(c.show.Out, "%s is in force as version %d; %s has it\n", name, v.Number, now.File)
		if now, err = cl.Settings(ctx); err != nil {
			return nil // it was applied: everything else can be queried again
		}
		c.show.Later(now.Settings)
		c.show.Overridden(now.Settings)
		return nil
	})
}

// inFile replaces the manager's file name by the user's, where a refusal names lines.
func inFile(err error, managers, given string) error {
	var refused *client.Error
	if managers == "" || !errors.As(err, &refused) {
		return err
	}
	return &client.Error{Code: refused.Code, Message: strings.ReplaceAll(refused.Message, managers+":", given+":")}
}

func (c *cli) configVersionsCommand() *cobra.Command {
	return c.outputFlags(&cobra.Command{
		Use: "versions [VERSION]", Short: "List the texts of the manager's configuration file that are kept", Args: cobra.MaximumNArgs(1),
		Long: `Lists the texts that were in force, the newest first: when, by whom, why and how they came to
be. So many are kept as manager.versions says. With VERSION it prints that text.`,
		Example: "  hamadryad config versions\n  hamadryad config versions 3 > old.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			version := uint64(0)
			if len(args) > 0 {
				var err error
				if version, err = versionArg(args[0]); err != nil {
					return err
				}
			}
			return c.withClient(func(cl *client.Client) error {
				list, err := cl.SettingsVersions(cmd.Context(), version)
				if err != nil {
					return err
				}
				if version != 0 && len(list) == 1 && !slices.Contains([]string{show.JSON, show.YAML}, c.show.Format) {
					_, err := progress.Raw(c.show.Out).Write(list[0].Text)
					return err
				}
				return c.show.SettingsVersions(&wire.VersionsReply{Versions: list})
			})
		},
	}, show.ListFormats)
}

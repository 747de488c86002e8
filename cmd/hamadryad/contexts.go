package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hamadryad/hamadryad/cmd/hamadryad/show"
	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/internal/atomicfile"
)

// contextHelp is the help of all commands about contexts.
const contextHelp = `A context is a cluster and who you are there. They stand in hamadryad/config.yaml below
$XDG_CONFIG_HOME, or ~/.config. The current one says for every command, and for programs that
submit jobs, where the manager is and what to show it. $HAMADRYAD_MANAGER, --manager with
another address, and --context count before it.`

func (c *cli) configUseCommand() *cobra.Command {
	return &cobra.Command{
		Use: "use CONTEXT", Short: "Make a context the current one", Args: cobra.ExactArgs(1), SuggestFor: []string{"use-context", "switch"},
		Long: contextHelp, Example: "  hamadryad config use production", ValidArgsFunction: contextNames,
		RunE: func(_ *cobra.Command, args []string) error {
			return c.changeContexts(func(all *client.Contexts) error { return all.Use(args[0]) }, "the current context is "+args[0])
		},
	}
}

func (c *cli) configContextsCommand() *cobra.Command {
	return c.outputFlags(&cobra.Command{
		Use: "contexts", Short: "List your contexts; the current one has a star", Args: cobra.NoArgs, SuggestFor: []string{"get-contexts", "get-clusters", "view"},
		Long: contextHelp, Example: "  hamadryad config contexts\n  hamadryad config contexts -o name",
		RunE: func(*cobra.Command, []string) error {
			all, _, err := contexts()
			if err != nil {
				return err
			}
			return c.show.Contexts(all)
		},
	}, show.ListFormats)
}

func (c *cli) configCurrentCommand() *cobra.Command {
	return &cobra.Command{
		Use: "current", Short: "Print the name of the current context", Args: cobra.NoArgs, SuggestFor: []string{"current-context"},
		Long: contextHelp, Example: "  hamadryad config current",
		RunE: func(*cobra.Command, []string) error {
			all, file, err := contexts()
			if err != nil {
				return err
			}
			if all.Current == "" {
				return fmt.Errorf("no context is the current one in %s: choose one with \"hamadryad config use CONTEXT\"", file)
			}
			_, err = fmt.Fprintln(c.show.Out, all.Current)
			return err
		},
	}
}

func (c *cli) configAddCommand() *cobra.Command {
	return &cobra.Command{
		Use: "add CONTEXT --manager HOST:PORT", Short: "Add a context, or change one", Args: cobra.ExactArgs(1), SuggestFor: []string{"set-context", "set-cluster", "set-credentials"},
		Long: `Adds a context of the flags --manager, --certificate, --key, --ca, --bearer and --service. The
first one becomes the current one.

` + contextHelp,
		Example: "  hamadryad config add production --manager 10.0.0.1:7070 --certificate hamadryad-ca/user/ann.pem",
		RunE: func(_ *cobra.Command, args []string) error {
			if !c.given("manager") {
				return client.Misuse("a context needs a manager: hamadryad config add %s --manager HOST:PORT", args[0])
			}
			cluster := client.ContextCluster{Manager: c.manager}
			user := client.ContextUser{Service: c.service}
			for path, to := range map[*string]*string{&c.auth.CA: &cluster.CA, &c.auth.Certificate: &user.Certificate, &c.auth.Key: &user.Key, &c.bearer: &user.Bearer} {
				if *path == "" {
					continue
				}
				full, err := filepath.Abs(*path)
				if err != nil {
					return err
				}
				*to = full
			}
			return c.changeContexts(func(all *client.Contexts) error { return all.Add(args[0], cluster, user) }, "context "+args[0]+" is there")
		},
	}
}

// given reports whether a global flag was given.
func (c *cli) given(flag string) bool { return c.flags.Changed(flag) }

// contexts are the user's, and the path of their file.
func contexts() (*client.Contexts, string, error) {
	file, err := client.ContextsFile()
	if err != nil {
		return nil, "", err
	}
	all, err := client.ReadContexts(file)
	return all, file, err
}

// contextNames completes a context's name.
func contextNames(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	all, _, err := contexts()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return all.Names(), cobra.ShellCompDirectiveNoFileComp
}

// changeContexts changes the user's file atomically, and prints the new state.
func (c *cli) changeContexts(change func(*client.Contexts) error, done string) error {
	all, file, err := contexts()
	if err != nil {
		return err
	}
	if err := change(all); err != nil {
		return client.Misuse("%w", err)
	}
	text, err := all.Text()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := atomicfile.Replace(file, text); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.show.Out, "%s, in %s\n", done, file)
	return err
}

// target fills in the manager's address and the credentials of a context that a flag names. Other
// flags take precedence.
func (c *cli) target(o *client.Options) (address string, err error) {
	if c.context == "" {
		return c.manager, nil
	}
	t, err := client.ContextTarget(c.context)
	if err != nil {
		return "", client.Misuse("--context %s: %w", c.context, err)
	}
	if !c.given("manager") {
		address = t.Manager
	} else {
		address = c.manager
	}
	if !c.given(certificateFlag) && !c.given("bearer") && !c.given("service") {
		o.Auth, o.Bearer, o.Service = t.Auth, t.Bearer, t.Service
	}
	return address, nil
}

// environment is the variables that lead a program to the same manager as this command.
func (c *cli) environment() ([]string, error) {
	o := client.Options{Auth: c.auth, Bearer: c.bearer, Service: c.service}
	address, err := c.target(&o)
	if err != nil {
		return nil, err
	}
	if c.context == "" {
		t, err := client.ContextTarget("")
		if err != nil {
			return nil, err
		}
		t.Fill(address, &o)
	}
	return client.Target{Manager: address, Auth: o.Auth, Bearer: o.Bearer, Service: o.Service}.Environ(), nil
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"

	"github.com/hamadryad/hamadryad/engine/client"
	"github.com/hamadryad/hamadryad/engine/wire"
)

const (
	// reachMax bounds the check whether the pages answer from here.
	reachMax = 3 * time.Second
	// openMax bounds the command that opens a browser.
	openMax = 10 * time.Second
)

func (c *cli) uiCommand() *cobra.Command {
	onlyPrint := false
	cmd := &cobra.Command{
		Use: "ui", Short: "Open the manager's web pages in a browser", Args: cobra.NoArgs,
		Long: `Asks the manager where its web pages are, prints the address and opens it in a
browser. The pages show what runs, what waits and why, pools, launchers, the
policy, settings and the audit. The same roles count there as on the command
line.

Pages that listen on the manager's own machine alone (manager.http: 127.0.0.1:7071, the default) are
reached through a tunnel:
  ssh -N -L 7071:127.0.0.1:7071 MANAGER'S-HOST
Pages with TLS (auth.mode: tls) ask the browser for a certificate. Make one of yours that browsers
take, and import it and the cluster's CA into the browser:
  openssl pkcs12 -export -in ann.pem -inkey ann.key -out ann.p12`,
		Example: "  hamadryad ui\n  hamadryad ui --print\n  hamadryad --manager m1:7070 ui",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withClient(func(cl *client.Client) error {
				told, err := cl.Pages(cmd.Context())
				var refused *client.Error
				switch {
				case errors.As(err, &refused) && refused.Code == codes.Unimplemented:
					return errors.New("this manager is older and does not say where its pages are: see manager.http of its configuration (127.0.0.1:7071 by default)")
				case err != nil:
					return err
				}
				at, advice := pagesAt(cl.Address(), told)
				if at == "" {
					return errors.New(advice)
				}
				fmt.Fprintln(c.show.Out, at)
				if advice == "" && !reachable(cmd.Context(), at) {
					advice = "nothing answers there from here: see that no firewall is between, or go through a tunnel (\"hamadryad ui --help\")"
				}
				if advice != "" {
					fmt.Fprintln(c.show.Errors, "hamadryad:", advice)
				}
				if onlyPrint {
					return nil
				}
				if err := openBrowser(cmd.Context(), at); err != nil {
					fmt.Fprintln(c.show.Errors, "hamadryad: no browser was opened, open the address yourself:", err)
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&onlyPrint, "print", false, "only print the address")
	return cmd
}

// pagesAt is the address of the pages for a client that reaches the manager at an address, with
// advice on further steps. Without an address there are no pages, and the advice is the remedy.
func pagesAt(manager string, told *wire.PagesReply) (at, advice string) {
	host, port, err := net.SplitHostPort(told.GetAddress())
	if err != nil {
		return "", "the manager has no web pages: set manager.http in its configuration, such as 127.0.0.1:7071, and start it again"
	}
	from, _, err := net.SplitHostPort(manager)
	ip, there := net.ParseIP(host), net.ParseIP(from)
	near := err != nil || strings.HasPrefix(manager, "unix:") || from == "localhost" || there != nil && there.IsLoopback() // a socket is of this machine
	switch {
	case host == "" || ip != nil && ip.IsUnspecified():
		host = "127.0.0.1"
		if !near {
			host = from
		}
	case !near && (host == "localhost" || ip != nil && ip.IsLoopback()):
		advice = fmt.Sprintf("the pages listen on the manager's own machine alone: have \"ssh -N -L %s:%s %s\" run meanwhile, or set manager.http there", port, told.GetAddress(), from)
	}
	scheme := "http"
	if told.GetTls() {
		scheme = "https"
		advice = strings.TrimPrefix(advice+"\n", "\n") + "the pages ask the browser for a certificate of the cluster: import yours and the CA's, as \"hamadryad ui --help\" shows"
	}
	return fmt.Sprintf("%s://%s/", scheme, net.JoinHostPort(host, port)), advice
}

// reachable reports whether a page's address accepts connections.
func reachable(ctx context.Context, at string) bool {
	_, rest, _ := strings.Cut(at, "://")
	ctx, cancel := context.WithTimeout(ctx, reachMax)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", strings.TrimSuffix(rest, "/"))
	if err != nil {
		return false
	}
	_ = conn.Close() // nothing was sent
	return true
}

// openBrowser opens an address by the system's command.
func openBrowser(ctx context.Context, at string) error {
	command := []string{"xdg-open", at}
	switch runtime.GOOS {
	case "darwin":
		command = []string{"open", at}
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", at}
	default:
		if cmp.Or(os.Getenv("DISPLAY"), os.Getenv("WAYLAND_DISPLAY"), os.Getenv("BROWSER")) == "" {
			return errors.New("there is no screen ($DISPLAY and $WAYLAND_DISPLAY are not set)")
		}
	}
	ctx, cancel := context.WithTimeout(ctx, openMax)
	defer cancel()
	if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w %s", command[0], err, strings.TrimSpace(string(out)))
	}
	return nil
}

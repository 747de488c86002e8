package manpages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A command's page has all of its help, and a command that is hidden has none.
func TestPages(t *testing.T) {
	root := &cobra.Command{Use: "tool", Short: "A tool"}
	sub := &cobra.Command{
		Use: "run FILE", Short: "Run a file", Long: "Runs a file:\n\n  tool run 'a\\b'\n.begins with a dot", Example: "  tool run x",
		Run: func(*cobra.Command, []string) {},
	}
	sub.Flags().IntP("count", "c", 3, "run it `N` times")
	sub.Flags().Bool("secret", false, "")
	if err := sub.Flags().MarkHidden("secret"); err != nil {
		t.Fatal(err)
	}
	root.PersistentFlags().String("where", "", "`PLACE` to run at")
	hidden := &cobra.Command{Use: "hidden", Hidden: true, Run: func(*cobra.Command, []string) {}}
	root.AddCommand(sub, hidden, Command(func(root *cobra.Command) []*cobra.Command { return []*cobra.Command{root} }))
	folder := filepath.Join(t.TempDir(), "man")
	root.SetArgs([]string{"man", folder})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Error(err)
		}
		return string(data)
	}
	page := read("tool-run.1")
	for _, want := range []string{
		`.TH "TOOL-RUN" "1" "`, "tool\\-run \\- Run a file\n", "\\fBtool run FILE [flags]\\fP\n",
		"Runs a file:\n\n  tool run \\(aqa\\eb\\(aq\n\\&.begins with a dot\n",
		"\\fB\\-c\\fP, \\fB\\-\\-count\\fP \\fIN\\fP\nrun it N times (default 3)\n",
		".SH OPTIONS INHERITED FROM PARENT COMMANDS\n.TP\n\\fB\\-\\-where\\fP \\fIPLACE\\fP\nPLACE to run at\n",
		".SH EXAMPLE\n.nf\n  tool run x\n", ".SH SEE ALSO\n\\fBtool(1)\\fP\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "secret") {
		t.Error("the page has a hidden flag")
	}
	if page := read("tool.1"); !strings.Contains(page, "\\fBtool\\-run(1)\\fP") {
		t.Errorf("the page does not name the command:\n%s", page)
	}
	if files, _ := filepath.Glob(filepath.Join(folder, "*hidden*")); len(files) > 0 {
		t.Errorf("pages of hidden commands: %v", files)
	}
}

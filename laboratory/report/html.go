package report

import (
	"html/template"
	"io"
)

// page is a whole document without scripts or external resources; its policy says so to the
// browser. It is XML, too.
var page = template.Must(template.New("report").Parse(`<!DOCTYPE html>
<html lang="en" xmlns="http://www.w3.org/1999/xhtml">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<title>{{.Title}}</title>
<style>
body { font: 15px/1.45 sans-serif; margin: 2em auto; max-width: 72em; padding: 0 1em; color: #1c1c1c; background: #ffffff; }
h2::first-letter { text-transform: uppercase; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .5em 0; }
th, td { padding: .15em .8em; text-align: right; border-bottom: 1px solid #cccccc; font-variant-numeric: tabular-nums; unicode-bidi: isolate; white-space: nowrap; }
td.text, th { white-space: normal; }
th:first-child, td.text { text-align: left; }
dt { font-weight: bold; }
pre { margin: .3em 0; white-space: pre-wrap; overflow-wrap: anywhere; }
svg { max-width: 100%; height: auto; }
@media (prefers-color-scheme: dark) {
body { color: #e6e6e6; background: #181818; }
th, td { border-color: #444444; }
}
</style>
</head>
<body>
<h1>{{.Title}}</h1>
<p>{{.About}}</p>
{{range .First}}<figure id="{{.Name}}">
{{.SVG}}</figure>
{{end}}{{range .Tables}}<h2>{{.Title}}</h2>
<div class="wide"><table>
<thead><tr>{{range .Head}}<th scope="col">{{.}}</th>{{end}}</tr></thead>
<tbody>
{{range .Rows}}<tr>{{range .}}{{if .Head}}<th scope="row">{{.Text}}</th>{{else}}<td{{if .Words}} class="text"{{end}}>{{.Text}}</td>{{end}}{{end}}</tr>
{{end}}</tbody></table></div>
{{with .Note}}<p>{{.}}</p>
{{end}}{{end}}{{range .Drawings}}<figure id="{{.Name}}">
{{.SVG}}</figure>
{{end}}{{with .Facts}}<h2>How this was made</h2>
<dl>
{{range .}}<dt>{{.Name}}</dt><dd><pre>{{.Text}}</pre></dd>
{{end}}</dl>
{{end}}</body>
</html>
`))

type (
	htmlPage struct {
		Title, About string
		Tables       []htmlTable
		First        []htmlDrawing // stand before the tables
		Drawings     []htmlDrawing
		Facts        []htmlFact
	}
	htmlTable struct {
		Title, Note string
		Head        []string
		Rows        [][]htmlCell
	}
	htmlCell struct {
		Text        string
		Head, Words bool
	}
	htmlDrawing struct {
		Name string
		SVG  template.HTML
	}
)

// HTML writes one page with all tables and drawings, which needs no other files.
func (c *Comparison) HTML(w io.Writer) error {
	p := htmlPage{Title: "Policies side by side", About: printable(c.about()), Facts: c.Origin.facts()}
	for _, t := range c.tables() {
		p.Tables = append(p.Tables, newHTMLTable(&t))
	}
	first := len(c.overall())
	for i, d := range c.Drawings() {
		to := &p.First
		if i >= first {
			to = &p.Drawings
		}
		*to = append(*to, htmlDrawing{d.Name, template.HTML(d.SVG)}) //nolint:gosec // our own writer escaped it
	}
	return page.Execute(w, p)
}

func newHTMLTable(t *table) htmlTable {
	out := htmlTable{Title: printable(t.Title), Note: t.Note}
	words := make([]bool, len(t.Head))
	for i, h := range t.Head {
		out.Head = append(out.Head, printable(h))
		words[i] = !t.numbers(i)
	}
	for _, row := range t.Rows {
		var cells []htmlCell
		for i, cell := range row {
			cells = append(cells, htmlCell{printable(cell), i == 0, words[i]})
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}

package dynamicpriority

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

var drawFile = flag.String("draw", "", "TestADay draws bids, shares and budgets of some queues over the day into this SVG file, and their numbers beside it as .tsv")

// drawnMax is the number of queues with lines in the figure.
const drawnMax = 4

// drawing gathers numbers of the first queues, interval by interval. The zero value, and one
// for no file, are ready.
type drawing struct {
	names  []string
	panels [3][drawnMax][]float64 // bids in credits, shares in %, budgets in credits
}

var panelTitles = [3]string{"bid (credits for a slot and an interval)", "share (%)", "budget (credits)"}

// take takes in how queues are after an interval.
func (d *drawing) take(s *site, o *oracle) {
	d.names = d.names[:0]
	for i, p := range o.payers[:drawnMax] {
		d.names = append(d.names, p.name)
		share := 0.0
		if price := s.p.ledger.Price(); price > 0 {
			share = 100 * float64(p.rate) / float64(price)
		}
		for panel, v := range [3]float64{float64(p.bid) / 1e6, share, float64(p.budget) / 1e6} {
			d.panels[panel][i] = append(d.panels[panel][i], v)
		}
	}
}

// write writes the figure and the table.
func (d *drawing) write(t *testing.T, file string) {
	t.Helper()
	var table bytes.Buffer
	table.WriteString("interval\tqueue\tbid\tshare%\tbudget\n")
	for k := range d.panels[0][0] {
		for i, name := range d.names {
			fmt.Fprintf(&table, "%d\t%s\t%.6f\t%.6f\t%.6f\n", k+1, name, d.panels[0][i][k], d.panels[1][i][k], d.panels[2][i][k])
		}
	}
	for name, content := range map[string][]byte{file: d.svg(), strings.TrimSuffix(file, ".svg") + ".tsv": table.Bytes()} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// panel is a panel of the figure: lines of some queues over the day.
type panel struct {
	title  string
	height int
	lines  []line
}

type line struct {
	color  string
	values []float64
}

// all are one for each queue's bids, one for its shares, which are many lines in one, and one for all budgets.
func (d *drawing) all() []panel {
	colors := [drawnMax]string{"#1b6ca8", "#c8553d", "#3a7d44", "#7d4e99"}
	var all []panel
	for of, height := range [2]int{60, 60} {
		for i, name := range d.names {
			all = append(all, panel{name + ": " + panelTitles[of], height, []line{{colors[i], d.panels[of][i]}}})
		}
	}
	budgets := panel{title: panelTitles[2] + " of all, in the same colours", height: 220}
	for i := range d.names {
		budgets.lines = append(budgets.lines, line{colors[i], d.panels[2][i]})
	}
	return append(all, budgets)
}

const drawnWidth, drawnLeft, drawnTop = 1200, 70, 26

// svg draws a panel below the other, with steps from interval to interval, and hours below.
func (d *drawing) svg() []byte {
	var b bytes.Buffer
	y := 0
	for _, p := range d.all() {
		y += drawnTop
		p.draw(&b, y)
		y += p.height
	}
	intervals := len(d.panels[0][0])
	perHour := int(time.Hour / allocDefault)
	for k := 0; k <= intervals; k += perHour {
		fmt.Fprintf(&b, `<text x="%d" y="%d">%d h</text>`+"\n", drawnLeft+drawnWidth*k/intervals, y+16, k/perHour)
	}
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", drawnWidth+drawnLeft+20, y+24)
	return slices.Concat([]byte(head+`<rect width="100%" height="100%" fill="white"/>`+"\n"), b.Bytes(), []byte("</svg>\n"))
}

func (p *panel) draw(b *bytes.Buffer, y int) {
	most := 0.0
	for _, l := range p.lines {
		most = max(most, slices.Max(l.values))
	}
	fmt.Fprintf(b, `<text x="%d" y="%d">%s</text><text x="4" y="%d">%.4g</text><text x="4" y="%d">0</text>`+"\n", drawnLeft, y-6, p.title, y+10, most, y+p.height)
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#999"/>`+"\n", drawnLeft, y, drawnWidth, p.height)
	for _, l := range p.lines {
		fmt.Fprintf(b, `<path fill="none" stroke="%s" d="`, l.color)
		for k, v := range l.values {
			x, at := float64(drawnLeft)+float64(drawnWidth)*float64(k)/float64(len(l.values)), float64(y+p.height)-float64(p.height)*v/max(most, 1e-9)
			if k == 0 {
				fmt.Fprintf(b, "M%.1f %.1f ", x, at)
			} else {
				fmt.Fprintf(b, "H%.1f V%.1f ", x, at)
			}
		}
		fmt.Fprintln(b, `"/>`)
	}
}

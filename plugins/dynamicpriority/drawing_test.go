package dynamicpriority

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var drawFile = flag.String("draw", "", "TestADay draws bids, shares and budgets of some queues over the day into this SVG file, and their numbers beside it as .tsv")

// drawnMax is of how many queues lines are drawn.
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

// svg draws a panel below the other, with steps from interval to interval.
func (d *drawing) svg() []byte {
	const width, height, left, top = 1200, 220, 70, 30
	colors := [drawnMax]string{"#1b6ca8", "#c8553d", "#3a7d44", "#7d4e99"}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", width+left+20, 3*(height+top)+30)
	fmt.Fprintln(&b, `<rect width="100%" height="100%" fill="white"/>`)
	for panel, lines := range d.panels {
		y := panel*(height+top) + top
		most := 0.0
		for _, values := range lines {
			for _, v := range values {
				most = max(most, v)
			}
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text><text x="4" y="%d">%.4g</text><text x="4" y="%d">0</text>`+"\n", left, y-8, panelTitles[panel], y+10, most, y+height)
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#999"/>`+"\n", left, y, width, height)
		for i, values := range lines {
			fmt.Fprintf(&b, `<path fill="none" stroke="%s" d="`, colors[i])
			for k, v := range values {
				x := float64(left) + float64(width)*float64(k)/float64(len(values))
				command := "H%.1f V%.1f "
				if k == 0 {
					command = "M%.1f %.1f "
				}
				fmt.Fprintf(&b, command, x, float64(y+height)-float64(height)*v/max(most, 1e-9))
			}
			fmt.Fprintln(&b, `"/>`)
		}
	}
	for i, name := range d.names {
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">%s</text>`+"\n", left+i*160, 3*(height+top)+22, colors[i], name)
	}
	fmt.Fprintln(&b, "</svg>")
	return b.Bytes()
}

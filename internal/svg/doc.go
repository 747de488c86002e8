// Package svg is shared by drawings: axes with round ticks, and escaped text.
package svg

// Package svg is what drawings share: axes with round ticks, and text that is nothing but text.
package svg

// Package streaming has two jobs whose mapper and reducer are commands, as shell
// scripts to copy: wordcount.sh with awk, hottest.sh with python3. docs/STREAMING.md
// has all options.
package streaming

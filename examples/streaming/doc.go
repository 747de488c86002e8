// Package streaming has two example jobs whose mapper and reducer are commands, as shell scripts to
// copy: wordcount.sh with awk, hottest.sh with python3. docs/STREAMING.md lists all options.
package streaming

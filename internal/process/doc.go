// Package process runs external commands for nodes, each in a process group of its own. Pipes carry
// their input and output. A command is ended gracefully, then killed, and none of its processes are
// left behind. It is for engines; a program calls job.Node.Run.
package process
